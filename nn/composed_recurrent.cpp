#include "nn/composed_recurrent.h"

#include <vector>

namespace regrad {
namespace {

// [B, 1]: 1 where step t of a sequence is valid, else 0.
Tensor valid_at(const Lengths& lengths, Index t, DType dtype) {
  std::vector<double> valid;
  for (Index b = 0; b < lengths.batch(); ++b) valid.push_back(lengths.valid(t, b) ? 1 : 0);
  return tensor(valid, {lengths.batch(), 1}, dtype);
}

Var block(const Var& x, Index i, Index size) { return slice(x, -1, i * size, (i + 1) * size); }

struct Sequence {
  Var outputs;             // [T, B, H]
  std::vector<Var> final;  // h, or h and c, after the last step
};

// next(from_input, from_hidden, state) -> state, step by step; a padded one carries the state.
template <class Next>
Sequence run(const Var& from_input, std::vector<Var> state, const Var& weight_hh,
             const Var& bias_hh, const Lengths& lengths, Direction direction, const Next& next) {
  // Replaced before it is multiplied: 0 · NaN would be NaN.
  const Var x = masked_fill(from_input, lengths, 0);
  const Index steps = lengths.time();
  std::vector<Var> outputs(static_cast<std::size_t>(steps));
  for (Index i = 0; i < steps; ++i) {
    const Index t = direction == Direction::forward ? i : steps - 1 - i;
    const Var valid = valid_at(lengths, t, x.dtype());
    const std::vector<Var> after =
        next(select(x, 0, t), linear(state[0], weight_hh, bias_hh), state);
    for (std::size_t k = 0; k < state.size(); ++k) {
      state[k] = valid * after[k] + (1 - valid) * state[k];
    }
    outputs[static_cast<std::size_t>(t)] = state[0];
  }
  return {stack(outputs), state};
}

}  // namespace

Var rnn_gates_composed(const Var& from_input, const Var& from_hidden, Nonlinearity f) {
  const Var sum = from_input + from_hidden;
  return f == Nonlinearity::tanh ? tanh(sum) : relu(sum);
}

std::vector<Var> lstm_gates_composed(const Var& from_input, const Var& from_hidden, const Var& c) {
  const Index size = c.shape()[-1];
  const Var gates = from_input + from_hidden;
  const Var i = sigmoid(block(gates, 0, size)), f = sigmoid(block(gates, 1, size));
  const Var g = tanh(block(gates, 2, size)), o = sigmoid(block(gates, 3, size));
  const Var next = f * c + i * g;
  return {o * tanh(next), next};
}

Var gru_gates_composed(const Var& from_input, const Var& from_hidden, const Var& h) {
  const Index size = h.shape()[-1];
  const Var r = sigmoid(block(from_input, 0, size) + block(from_hidden, 0, size));
  const Var z = sigmoid(block(from_input, 1, size) + block(from_hidden, 1, size));
  const Var n = tanh(block(from_input, 2, size) + r * block(from_hidden, 2, size));
  return (1 - z) * n + z * h;
}

Var rnn_composed(const Var& from_input, const Var& h0, const Var& weight_hh, const Var& bias_hh,
                 const Lengths& lengths, Direction direction, Nonlinearity f) {
  return run(from_input, {h0}, weight_hh, bias_hh, lengths, direction,
             [f](const Var& x, const Var& hidden, const std::vector<Var>&) {
               return std::vector<Var>{rnn_gates_composed(x, hidden, f)};
             })
      .outputs;
}

std::vector<Var> lstm_composed(const Var& from_input, const Var& h0, const Var& c0,
                               const Var& weight_hh, const Var& bias_hh, const Lengths& lengths,
                               Direction direction) {
  const Sequence y = run(from_input, {h0, c0}, weight_hh, bias_hh, lengths, direction,
                         [](const Var& x, const Var& hidden, const std::vector<Var>& state) {
                           return lstm_gates_composed(x, hidden, state[1]);
                         });
  return {y.outputs, y.final[1]};
}

Var gru_composed(const Var& from_input, const Var& h0, const Var& weight_hh, const Var& bias_hh,
                 const Lengths& lengths, Direction direction) {
  return run(from_input, {h0}, weight_hh, bias_hh, lengths, direction,
             [](const Var& x, const Var& hidden, const std::vector<Var>& state) {
               return std::vector<Var>{gru_gates_composed(x, hidden, state[0])};
             })
      .outputs;
}

}  // namespace regrad
