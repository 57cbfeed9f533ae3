#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "nn/score.h"

namespace regrad {

// Weights from scores [B, S]. A sentence of length 0 has only zeros, so has one of nothing but -∞.
struct Aligned {
  Var weights;  // [B, S]
  // Only where the alignment says so:
  Var log_weights = {};      // [B, S]; 0 where padded
  Var log_probability = {};  // [B]: of the position that was drawn
  Var entropy = {};          // [B]: of the distribution that it was drawn from
};

// How scores become weights; with an Rng in training, without one in evaluation and decoding.
class Alignment : public Module {
 public:
  virtual Aligned operator()(const Var& scores, const Var& query, const AttentionMemory& memory,
                             const AttentionState& state, Rng* rng) const = 0;
  void visit(Visitor&) const override {}
};

// softmax (Bahdanau, Cho and Bengio 2014)
class SoftAlignment : public Alignment {
 public:
  Aligned operator()(const Var& scores, const Var& query, const AttentionMemory& memory,
                     const AttentionState& state, Rng* rng) const override;
};

// Projection onto the simplex: exact zeros (Martins and Astudillo 2016).
class SparsemaxAlignment : public Alignment {
 public:
  Aligned operator()(const Var& scores, const Var& query, const AttentionMemory& memory,
                     const AttentionState& state, Rng* rng) const override;
};

// 1.5-entmax, between the two (Peters, Niculae and Martins 2019).
class EntmaxAlignment : public Alignment {
 public:
  Aligned operator()(const Var& scores, const Var& query, const AttentionMemory& memory,
                     const AttentionState& state, Rng* rng) const override;
};

// softmax over the positions within D of p (Luong, Pham and Manning 2015); positions count from 0.
// local-m: p is the number of the step, or the last position where the sentence is shorter.
class LocalMonotonicAlignment : public Alignment {
 public:
  explicit LocalMonotonicAlignment(const AttentionOptions& options);
  Aligned operator()(const Var& scores, const Var& query, const AttentionMemory& memory,
                     const AttentionState& state, Rng* rng) const override;

 private:
  double window_;
};

// local-p: p = S σ(vᵀ tanh(W q)) for a sentence of length S, and the weights, after the softmax,
// times exp(-(s - p)² / 2σ²) with σ = D/2, so that they sum to less than 1.
class LocalPredictiveAlignment : public Alignment {
 public:
  LocalPredictiveAlignment(const AttentionOptions& options, Rng& rng, DType dtype = DType::f32);
  Aligned operator()(const Var& scores, const Var& query, const AttentionMemory& memory,
                     const AttentionState& state, Rng* rng) const override;
  void visit(Visitor& visitor) const override;

  Parameter position_weight;  // W [A, Q]
  Parameter position_v;       // v [A]

 private:
  double window_;
};

// A reader goes from where it stopped last to the right and stops at s with probability
// σ(score + r); reading past the end leaves all weights 0 (Raffel et al. 2017). In training the
// expected weights (monotonic_alignment), with normal noise added to the scores; in evaluation it
// stops where the probability is above ½.
class MonotonicAlignment : public Alignment {
 public:
  explicit MonotonicAlignment(const AttentionOptions& options, DType dtype = DType::f32);
  Aligned operator()(const Var& scores, const Var& query, const AttentionMemory& memory,
                     const AttentionState& state, Rng* rng) const override;
  void visit(Visitor& visitor) const override;

  Parameter offset;  // []: r

 private:
  double noise_;
};

// One position with weight 1: in training drawn from the softmax, in evaluation the likeliest, the
// first of equals (Xu et al. 2015). Nothing but log_probability and entropy, which training gives,
// has a gradient to the scores: see Reinforce.
class HardReinforceAlignment : public Alignment {
 public:
  Aligned operator()(const Var& scores, const Var& query, const AttentionMemory& memory,
                     const AttentionState& state, Rng* rng) const override;
};

// One position with weight 1; in training the likeliest by scores with Gumbel noise, that is one
// drawn from the softmax, with the gradient of softmax((scores + noise) / temperature) (Jang, Gu
// and Poole 2017).
class HardGumbelAlignment : public Alignment {
 public:
  explicit HardGumbelAlignment(const AttentionOptions& options, DType dtype = DType::f32);
  Aligned operator()(const Var& scores, const Var& query, const AttentionMemory& memory,
                     const AttentionState& state, Rng* rng) const override;

 private:
  double temperature_;
};

// Softmax weights and their log_weights, for marginal_log_likelihood.
class HardMarginalAlignment : public Alignment {
 public:
  Aligned operator()(const Var& scores, const Var& query, const AttentionMemory& memory,
                     const AttentionState& state, Rng* rng) const override;
};

// soft, sparsemax, entmax, local-m, local-p, monotonic, hard-reinforce, hard-gumbel, hard-marginal
std::span<const std::string_view> alignment_names();

// By name. Throws Error for an unknown one, listing the known ones, and for a size or window below
// 1, a temperature that is not above 0 and finite, a noise that is negative or infinite and an
// offset that is not finite where it needs them.
std::shared_ptr<const Alignment> make_alignment(std::string_view name,
                                                const AttentionOptions& options, Rng& rng,
                                                DType dtype = DType::f32);

// log Σ_s weights[b, s] p[s, b] over a sentence's valid positions, the likelihood of a target with
// the position that made it summed out (Wu, Shapiro and Cotterell 2018): log_weights [..., B, S],
// log_p [..., S, B] -> [..., B]. Padding is not read; a sentence of length 0 gives 0.
Var marginal_log_likelihood(const Var& log_weights, const Var& log_p, const Lengths& lengths);

}  // namespace regrad
