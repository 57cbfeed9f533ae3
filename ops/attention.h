#pragma once

#include <span>

#include "ops/ids.h"
#include "ops/tensor.h"

// A query [B, ·] against the keys or values [S, B, ·] of its sentence; padded ones are never read.
namespace regrad::ops {

// vᵀ tanh(query + key): query [B, A], keys [S, B, A], v [A] -> [B, S], 0 where padded.
Tensor additive_score(const Tensor& query, const Tensor& keys, const Tensor& v,
                      const Lengths& lengths);
// Adds the gradients for g [B, S] to those that are given.
void additive_score_backward(const Tensor& g, const Tensor& query, const Tensor& keys,
                             const Tensor& v, const Lengths& lengths, Tensor& g_query,
                             Tensor& g_keys, Tensor& g_v);

// queryᵀ key: query [B, D], keys [S, B, D] -> [B, S], 0 where padded.
Tensor dot_score(const Tensor& query, const Tensor& keys, const Lengths& lengths);
// Σ_s weights[b, s] values[s, b]: weights [B, S], values [S, B, D] -> [B, D].
Tensor weighted_sum(const Tensor& weights, const Tensor& values, const Lengths& lengths);
// y[s, b] += weights[b, s] x[b]: weights [B, S], x [B, D], y [S, B, D].
void add_spread(Tensor& y, const Tensor& weights, const Tensor& x, const Lengths& lengths);
struct SpreadTerm {
  Tensor weights, x;  // [B, S], [B, D]
  Lengths lengths;
};
// Σ of what add_spread adds, over all terms, as one product per sentence: [S, B, D], 0 where
// padded. Throws Error for no terms, and as add_spread does.
Tensor sum_spreads(std::span<const SpreadTerm> terms);

// p_s q_s with p = σ(logits) and q_s = (1 - p_{s-1}) q_{s-1} + previous_s, 0 where padded: [B, S].
Tensor monotonic_alignment(const Tensor& logits, const Tensor& previous, const Lengths& lengths);
// Adds the gradients for g [B, S] to those that are given.
void monotonic_alignment_backward(const Tensor& g, const Tensor& logits, const Tensor& previous,
                                  const Lengths& lengths, Tensor* g_logits, Tensor* g_previous);

}  // namespace regrad::ops
