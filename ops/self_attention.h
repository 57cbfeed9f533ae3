#pragma once

#include "ops/ids.h"
#include "ops/tensor.h"

// Several heads at once, side by side in the last axis: head h of q [T, B, H D] is its columns
// [h D, (h + 1) D). Products read and write each where it lies. Padded keys are never read.
namespace regrad {

// Keys and values are [S, B, H D], or [B, S, H D] where sentences come and go, as in decoding.
enum class KeyOrder { time_first, batch_first };

namespace ops {

// qᵀk of each head: q [T, B, H D], keys [S, B, H D] -> [B, H, T, S], 0 where padded.
Tensor head_scores(const Tensor& q, const Tensor& keys, Index heads, const Lengths& lengths,
                   KeyOrder order);
// Σ_s weights[b, h, t, s] values[s, b, h]: weights [B, H, T, S], values [S, B, H D] -> [T, B, H D].
// A weight of 0 takes nothing, also of NaN: what a causal query may not see cannot reach it.
Tensor head_sums(const Tensor& weights, const Tensor& values, const Lengths& lengths,
                 KeyOrder order);
// y[s, b, h] += Σ_t weights[b, h, t, s] x[t, b, h]: x [T, B, H D], y [S, B, H D]; nothing where
// padded.
void add_head_spread(Tensor& y, const Tensor& weights, const Tensor& x, const Lengths& lengths,
                     KeyOrder order);

// Softmax of qᵀk / √D over the keys that a query sees: those within its sentence's length and, if
// causal, with s ≤ t + (S - T). The others are 0; so is all of a query that sees none.
Tensor head_weights(const Tensor& q, const Tensor& keys, Index heads, const Lengths& lengths,
                    bool causal, KeyOrder order);
// From the gradient of the weights that of qᵀk, [B, H, T, S]: size is D.
Tensor head_weights_backward(const Tensor& g, const Tensor& weights, const Lengths& lengths,
                             bool causal, Index size);

}  // namespace ops
}  // namespace regrad
