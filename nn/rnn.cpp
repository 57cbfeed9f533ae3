#include "nn/rnn.h"

namespace regrad {

RNNCell::RNNCell(Index inputs, Index hidden, Rng& rng, DType dtype, Nonlinearity f)
    : RecurrentCell(kind, inputs, hidden, rng, dtype), nonlinearity(f) {}

Var RNNCell::operator()(const Var& x, const Var& h) const { return step(project(x), h); }

Var RNNCell::step(const Var& from_input, const Var& h) const {
  return rnn_gates(from_input, linear(h, weight_hh, bias_hh), nonlinearity);
}

RecurrentState RNNCell::advance(const Var& from_input, const Var& from_hidden,
                                const RecurrentState&) const {
  return {rnn_gates(from_input, from_hidden, nonlinearity)};
}

RecurrentOutput RNNCell::sequence(const Var& from_input, const Var& weight,
                                  const RecurrentState& initial, const Lengths& lengths,
                                  Direction direction) const {
  const Var states = rnn(from_input, initial[0], weight, bias_hh, lengths, direction, nonlinearity);
  return {states, {select(states, 0, direction == Direction::forward ? -1 : 0)}};
}

}  // namespace regrad
