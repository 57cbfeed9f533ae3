#pragma once

#include "autograd/var.h"
#include "ops/ids.h"

// The attention functions of the catalogue (functions.h), over keys or values [S, B, ·] and, where
// there is one, a query [B, ·]; padded keys and values are never read.
namespace regrad {

// vᵀ tanh(q + k_s) (Bahdanau, Cho and Bengio 2014): query [B, A], keys [S, B, A], v [A] -> [B, S].
// Fused: first derivatives only. Scores of padded keys are 0.
Var additive_score(const Var& query, const Var& keys, const Var& v, const Lengths& lengths);
// qᵀ k_s (Luong, Pham and Manning 2015): query [B, D], keys [S, B, D] -> [B, S].
Var dot_score(const Var& query, const Var& keys, const Lengths& lengths);
// weights[b, s] x[b]: weights [B, S], x [B, D] -> [S, B, D], 0 where padded.
Var spread(const Var& weights, const Var& x, const Lengths& lengths);
// Σ_s weights[b, s] values[s, b]: weights [B, S], values [S, B, D] -> [B, D].
Var weighted_sum(const Var& weights, const Var& values, const Lengths& lengths);

}  // namespace regrad
