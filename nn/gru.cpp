#include "nn/gru.h"

namespace regrad {

GRUCell::GRUCell(Index inputs, Index hidden, Rng& rng, DType dtype)
    : RecurrentCell(kind, inputs, hidden, rng, dtype) {}

Var GRUCell::operator()(const Var& x, const Var& h) const { return step(project(x), h); }

Var GRUCell::step(const Var& from_input, const Var& h) const {
  return gru_gates(from_input, linear(h, weight_hh, bias_hh), h);
}

RecurrentState GRUCell::advance(const Var& from_input, const Var& from_hidden,
                                const RecurrentState& state) const {
  return {gru_gates(from_input, from_hidden, state[0])};
}

RecurrentOutput GRUCell::sequence(const Var& from_input, const Var& weight,
                                  const RecurrentState& initial, const Lengths& lengths,
                                  Direction direction) const {
  const Var states = gru(from_input, initial[0], weight, bias_hh, lengths, direction);
  return {states, {select(states, 0, direction == Direction::forward ? -1 : 0)}};
}

}  // namespace regrad
