#include "nn/lstm.h"

namespace regrad {

LSTMCell::LSTMCell(Index inputs, Index hidden, Rng& rng, DType dtype)
    : RecurrentCell(kind, inputs, hidden, rng, dtype) {}

RecurrentState LSTMCell::advance(const Var& from_input, const Var& from_hidden,
                                 const RecurrentState& state) const {
  return lstm_gates(from_input, from_hidden, state[1]);
}

RecurrentOutput LSTMCell::sequence(const Var& from_input, const Var& weight,
                                   const RecurrentState& initial, const Lengths& lengths,
                                   Direction direction) const {
  const std::vector<Var> y =
      lstm(from_input, initial[0], initial[1], weight, bias_hh, lengths, direction);
  return {y[0], {select(y[0], 0, direction == Direction::forward ? -1 : 0), y[1]}};
}

}  // namespace regrad
