#pragma once

#include "nn/recurrent.h"

namespace regrad {

// Gated recurrent unit (Cho et al. 2014) in PyTorch's convention: blocks r, z, n in every weight,
// the reset gate applied after the product:
//   r = σ(W_ir x + b_ir + W_hr h + b_hr)        z = σ(W_iz x + b_iz + W_hz h + b_hz)
//   n = tanh(W_in x + b_in + r (W_hn h + b_hn))  h' = (1 - z) n + z h
struct GRUCell : RecurrentCell {
  static constexpr RecurrentKind kind{"gru", 3, 1};
  // Throws Error for a size below 1.
  GRUCell(Index inputs, Index hidden, Rng& rng, DType dtype = DType::f32);

  using RecurrentCell::operator();
  using RecurrentCell::step;
  // With the state itself: h [B, H] -> h'.
  Var operator()(const Var& x, const Var& h) const;
  Var step(const Var& from_input, const Var& h) const;
  RecurrentOutput sequence(const Var& from_input, const Var& weight, const RecurrentState& initial,
                           const Lengths& lengths, Direction direction) const override;

 private:
  RecurrentState advance(const Var& from_input, const Var& from_hidden,
                         const RecurrentState& state) const override;
};

// Layers of GRU cells over whole sequences; `final` is {h_n}.
struct GRU : RecurrentOf<GRUCell> {
  // Throws Error for a size below 1 and dropout with one layer.
  GRU(Index inputs, Index hidden, Rng& rng, DType dtype = DType::f32,
      const RecurrentOptions& options = {})
      : RecurrentOf(inputs, hidden, rng, dtype, options) {}
};

}  // namespace regrad
