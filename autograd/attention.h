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

// The point of the simplex nearest to a row x of [..., S], many of whose entries are 0: max(x - τ,
// 0) with sum 1 (Martins and Astudillo 2016). Exact, by sorting. With lengths, of [..., B, S], as
// softmax: entries that take no part are not read and give 0, a row of none is all zeros, so is one
// of nothing but -∞. Derivatives of any order, where no entry is exactly at the threshold τ.
Var sparsemax(const Var& x);
Var sparsemax(const Var& x, const Lengths& lengths);
// The same between softmax and sparsemax, 1.5-entmax: max(x/2 - τ, 0)² with sum 1 (Peters, Niculae
// and Martins 2019).
Var entmax(const Var& x);
Var entmax(const Var& x, const Lengths& lengths);
// Expected weights of monotonic attention (Raffel et al. 2017): logits and the weights of the step
// before, [B, S]; a reader at key s stops there with p_s = σ(logit_s), else goes on to s + 1. So
// q_s = (1 - p_{s-1}) q_{s-1} + previous_s reach s, and the weights are p_s q_s; their sum is at
// most that of `previous`. A logit of ±∞ is a decision. Fused: first derivatives only.
Var monotonic_alignment(const Var& logits, const Var& previous, const Lengths& lengths);
// The value `hard` with the gradient of `soft` (Bengio, Léonard and Courville 2013). Throws Error
// where their shapes differ.
Var straight_through(const Tensor& hard, const Var& soft);

}  // namespace regrad
