#include "function_rows.h"

namespace regrad::testing {

namespace {

// The steps of one sequence, then c after the last.
Var joined(const std::vector<Var>& h_and_c) {
  return concat({h_and_c[0], reshape(h_and_c[1], h_and_c[0].shape().with(0, 1))}, 0);
}

}  // namespace

std::vector<Row> recurrent_rows() {
  const auto rnn_of = [](Direction direction, Nonlinearity f) {
    return [=](auto x) { return rnn(x[0], x[1], x[2], x[3], uneven, direction, f); };
  };
  const auto lstm_of = [](Direction direction) {
    return [=](auto x) { return joined(lstm(x[0], x[1], x[2], x[3], x[4], uneven, direction)); };
  };
  const auto gru_of = [](Direction direction) {
    return [=](auto x) { return gru(x[0], x[1], x[2], x[3], uneven, direction); };
  };
  const Inputs gru_inputs{random({4, 3, 6}), random({3, 2}), random({6, 2}), random({6})};
  const Inputs rnn_inputs{random({4, 3, 2}), random({3, 2}), random({2, 2}), random({2})};
  const Inputs lstm_inputs{random({4, 3, 8}), random({3, 2}), random({3, 2}), random({8, 2}),
                           random({8})};
  return {
      {"rnn_gates",
       {random({3, 2}), random({3, 2})},
       [](auto x) { return rnn_gates(x[0], x[1]); },
       false},
      {"rnn_gates relu",
       {random({3, 2}), random({3, 2})},
       [](auto x) { return rnn_gates(x[0], x[1], Nonlinearity::relu); },
       false},
      {"lstm_gates",
       {random({3, 8}), random({3, 8}), random({3, 2})},
       [](auto x) { return stack(lstm_gates(x[0], x[1], x[2])); },
       false},
      {"gru_gates",
       {random({3, 6}), random({3, 6}), random({3, 2})},
       [](auto x) { return gru_gates(x[0], x[1], x[2]); },
       false},
      {"rnn forward", rnn_inputs, rnn_of(Direction::forward, Nonlinearity::tanh), false},
      {"rnn backward", rnn_inputs, rnn_of(Direction::backward, Nonlinearity::tanh), false},
      {"rnn relu", rnn_inputs, rnn_of(Direction::forward, Nonlinearity::relu), false},
      {"lstm forward", lstm_inputs, lstm_of(Direction::forward), false},
      {"lstm backward", lstm_inputs, lstm_of(Direction::backward), false},
      {"gru forward", gru_inputs, gru_of(Direction::forward), false},
      {"gru backward", gru_inputs, gru_of(Direction::backward), false},
  };
}

}  // namespace regrad::testing
