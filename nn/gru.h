#pragma once

#include <vector>

#include "autograd/functions.h"
#include "nn/dropout.h"
#include "nn/module.h"
#include "ops/ids.h"
#include "ops/rng.h"

namespace regrad {

// Gated recurrent unit (Cho et al. 2014) in PyTorch's convention: blocks r, z, n in every weight,
// the reset gate applied after the product:
//   r = σ(W_ir x + b_ir + W_hr h + b_hr)        z = σ(W_iz x + b_iz + W_hz h + b_hz)
//   n = tanh(W_in x + b_in + r (W_hn h + b_hn))  h' = (1 - z) n + z h
struct GRUCell : Module {
  // Throws Error for a size below 1.
  GRUCell(Index inputs, Index hidden, Rng& rng, DType dtype = DType::f32);

  // x [B, I], h [B, H] -> [B, H].
  Var operator()(const Var& x, const Var& h) const;
  // The same with the input already projected, from_input = x W_ihᵀ + b_ih [B, 3H], for callers
  // that split the input matrix or project many steps at once.
  Var step(const Var& from_input, const Var& h) const;
  void visit(Visitor& visitor) const override;

  Parameter weight_ih, weight_hh;  // [3H, I], [3H, H]
  Parameter bias_ih, bias_hh;      // [3H]
};

struct GRUOptions {
  Index layers = 1;
  bool bidirectional = false;
  double dropout = 0;  // between layers; with one layer it has no effect and is an Error
};

struct GRUOutput {
  Var outputs;  // [T, B, D H] of the last layer; forward first when D = 2
  Var final;    // [layers D, B, H], after the last valid step of each direction; as PyTorch's h_n
};

// A GRU over whole sequences with lengths: a padded step carries the state through, so what stands
// in the padding changes nothing. At padded positions the outputs hold the carried state.
struct GRU : Module {
  // Throws Error for a size below 1.
  GRU(Index inputs, Index hidden, Rng& rng, DType dtype = DType::f32,
      const GRUOptions& options = {});

  // x [T, B, I], T ≥ 1; the initial state is zero. Without a generator there is no dropout.
  GRUOutput operator()(const Var& x, const Lengths& lengths, Rng* rng = nullptr) const;
  // initial [layers D, B, H].
  GRUOutput operator()(const Var& x, const Var& initial, const Lengths& lengths,
                       Rng* rng = nullptr) const;
  // Named as in PyTorch: weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, weight_ih_l0_reverse,
  // …
  void visit(Visitor& visitor) const override;

  Index directions() const { return bidirectional ? 2 : 1; }

  Index hidden;
  bool bidirectional;
  Dropout dropout;
  std::vector<GRUCell> cells;  // layer by layer, forward before reverse

 private:
  GRUOutput run(const Var& x, const Var* initial, const Lengths& lengths, Rng* rng) const;
  void check(const Var& x, const Var* initial, const Lengths& lengths) const;
};

}  // namespace regrad
