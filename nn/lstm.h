#pragma once

#include "nn/recurrent.h"

namespace regrad {

// Long short-term memory (Hochreiter and Schmidhuber 1997) with the forget gate of Gers,
// Schmidhuber and Cummins (2000) and PyTorch's blocks i, f, g, o in every weight:
//   i = σ(W_ii x + b_ii + W_hi h + b_hi)     f = σ(W_if x + b_if + W_hf h + b_hf)
//   g = tanh(W_ig x + b_ig + W_hg h + b_hg)  o = σ(W_io x + b_io + W_ho h + b_ho)
//   c' = f c + i g                           h' = o tanh(c')
// Its state is {h, c}.
struct LSTMCell : RecurrentCell {
  static constexpr RecurrentKind kind{"lstm", 4, 2};
  // Throws Error for a size below 1.
  LSTMCell(Index inputs, Index hidden, Rng& rng, DType dtype = DType::f32);

  RecurrentOutput sequence(const Var& from_input, const Var& weight, const RecurrentState& initial,
                           const Lengths& lengths, Direction direction) const override;

 private:
  RecurrentState advance(const Var& from_input, const Var& from_hidden,
                         const RecurrentState& state) const override;
};

// Layers of LSTM cells over whole sequences; `final` is {h_n, c_n}.
struct LSTM : RecurrentOf<LSTMCell> {
  // Throws Error for a size below 1 and dropout with one layer.
  LSTM(Index inputs, Index hidden, Rng& rng, DType dtype = DType::f32,
       const RecurrentOptions& options = {})
      : RecurrentOf(inputs, hidden, rng, dtype, options) {}
};

}  // namespace regrad
