#pragma once

#include "autograd/var.h"
#include "ops/ids.h"
#include "ops/rng.h"
#include "ops/self_attention.h"

// The self-attention functions of the catalogue (functions.h): T queries [T, B, H D] against the S
// keys or values [S, B, H D] of their sentence, H heads side by side in the last axis; in
// KeyOrder::batch_first keys and values are [B, S, H D]. Padded ones are never read. All throw
// Error for shapes that do not fit, naming them.
namespace regrad {

// qᵀk of each head -> [B, H, T, S], 0 where padded.
Var head_scores(const Var& q, const Var& keys, Index heads, const Lengths& lengths,
                KeyOrder order = KeyOrder::time_first);
// Σ_s weights[b, h, t, s] values[s, b, h]: weights [B, H, T, S] -> [T, B, H D].
Var head_sums(const Var& weights, const Var& values, const Lengths& lengths,
              KeyOrder order = KeyOrder::time_first);
// Σ_t weights[b, h, t, s] x[t, b, h]: x [T, B, H D] -> [S, B, H D], 0 where padded.
Var head_spread(const Var& weights, const Var& x, const Lengths& lengths,
                KeyOrder order = KeyOrder::time_first);
// Softmax of qᵀk / √D over the keys that a query sees -> [B, H, T, S]: those within the length and,
// if causal, with s ≤ t + (S - T), so that the last query sees all. The others are 0; a query that
// sees none has zeros only. Fused: first derivatives only; the twin is in composed_heads.h of nn/.
Var head_weights(const Var& q, const Var& keys, Index heads, const Lengths& lengths,
                 bool causal = false, KeyOrder order = KeyOrder::time_first);

struct HeadsOptions {
  bool causal = false;
  KeyOrder order = KeyOrder::time_first;
  double dropout = 0;  // of weights, when there is a generator
  Rng* rng = nullptr;
};
struct HeadsOutput {
  Var context;  // [T, B, H D]
  Var weights;  // [B, H, T, S], without dropout
};
// softmax(qᵀk / √D) v of each head (Vaswani et al. 2017); values may have another size than q and
// keys. head_sums of head_weights.
HeadsOutput scaled_dot_product_attention(const Var& q, const Var& keys, const Var& values,
                                         Index heads, const Lengths& lengths,
                                         const HeadsOptions& options = {});

}  // namespace regrad
