#pragma once

#include "nn/recurrent.h"

namespace regrad {

// Plain recurrent unit (Elman 1990): h' = f(W_ih x + b_ih + W_hh h + b_hh), f = tanh or relu.
struct RNNCell : RecurrentCell {
  static constexpr RecurrentKind kind{"rnn", 1, 1};
  // Throws Error for a size below 1.
  RNNCell(Index inputs, Index hidden, Rng& rng, DType dtype = DType::f32,
          Nonlinearity f = Nonlinearity::tanh);

  using RecurrentCell::operator();
  using RecurrentCell::step;
  // With the state itself: h [B, H] -> h'.
  Var operator()(const Var& x, const Var& h) const;
  Var step(const Var& from_input, const Var& h) const;
  RecurrentOutput sequence(const Var& from_input, const Var& weight, const RecurrentState& initial,
                           const Lengths& lengths, Direction direction) const override;

  Nonlinearity nonlinearity;

 private:
  RecurrentState advance(const Var& from_input, const Var& from_hidden,
                         const RecurrentState& state) const override;
};

// Layers of plain cells over whole sequences; `final` is {h_n}.
struct RNN : RecurrentOf<RNNCell> {
  // Throws Error for a size below 1 and dropout with one layer.
  RNN(Index inputs, Index hidden, Rng& rng, DType dtype = DType::f32,
      const RecurrentOptions& options = {}, Nonlinearity f = Nonlinearity::tanh)
      : RecurrentOf(inputs, hidden, rng, dtype, options, f) {}
};

}  // namespace regrad
