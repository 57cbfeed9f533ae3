#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "autograd/var.h"
#include "nn/module.h"
#include "ops/ids.h"
#include "ops/rng.h"

namespace regrad {

// Of scores and alignments (alignment.h); each reads what it needs.
struct AttentionOptions {
  Index query_size = 0;           // Q
  Index key_size = 0;             // D
  Index attention_size = 0;       // A: hidden units of additive, location and local-p
  bool fixed_sharpening = false;  // content: β = 1, the bare cosine
  Index location_filters = 10;    // location: C and K, which is odd
  Index location_width = 31;
  Index window = 10;             // local-m, local-p: D, so many positions to each side
  double temperature = 1;        // hard-gumbel
  double monotonic_offset = -1;  // monotonic: what r, which is learned, starts from
  double monotonic_noise = 1;    // its standard deviation in training
};

// What is attended to, prepared once per batch of source sentences.
struct AttentionMemory {
  Var keys;    // [S, B, ·]: annotations, projected where the score does so
  Var values;  // [S, B, D]: annotations, zero at padded positions
  Lengths lengths;
};

// What attention carries from one step of the decoder to the next. The first axis of both is the
// batch, so that beam search can reorder rows.
struct AttentionState {
  Var weights;  // [B, S]: those of the step before; before the first, 1 at the first position
  Var step;     // [B]: how many steps there were
};

// How well a query fits each key: [B, Q] against keys [S, B, ·] gives [B, S], 0 where padded.
class Score : public Module {
 public:
  // What of the annotations [S, B, D], zero where padded, needs no query.
  virtual Var project(const Var& annotations) const { return annotations; }
  virtual Var operator()(const Var& query, const AttentionMemory& memory,
                         const AttentionState& state) const = 0;
  void visit(Visitor&) const override {}
};

// β cos(q, k) (Graves, Wayne and Danihelka 2014). β > 0 is the exponential of its parameter, which
// starts at 0, or is 1. A query or key of 0 scores 0. The sizes must be equal.
class ContentScore : public Score {
 public:
  explicit ContentScore(const AttentionOptions& options, DType dtype = DType::f32);
  Var project(const Var& annotations) const override;
  Var operator()(const Var& query, const AttentionMemory& memory,
                 const AttentionState& state) const override;
  void visit(Visitor& visitor) const override;

  Parameter log_sharpening;  // []: log β; none where it is fixed
};

// vᵀ tanh(W_q q + W_k k) (Bahdanau, Cho and Bengio 2014).
class AdditiveScore : public Score {
 public:
  AdditiveScore(const AttentionOptions& options, Rng& rng, DType dtype = DType::f32);
  Var project(const Var& annotations) const override;
  Var operator()(const Var& query, const AttentionMemory& memory,
                 const AttentionState& state) const override;
  void visit(Visitor& visitor) const override;

  Parameter query_weight;  // [A, Q]
  Parameter key_weight;    // [A, D]
  Parameter v;             // [A]
};

// qᵀ W k (Luong, Pham and Manning 2015).
class GeneralScore : public Score {
 public:
  GeneralScore(const AttentionOptions& options, Rng& rng, DType dtype = DType::f32);
  Var project(const Var& annotations) const override;
  Var operator()(const Var& query, const AttentionMemory& memory,
                 const AttentionState& state) const override;
  void visit(Visitor& visitor) const override;

  Parameter weight;  // [Q, D]
};

// qᵀ k (Luong, Pham and Manning 2015), or scaled, qᵀ k / √n for keys of size n (Vaswani et al.
// 2017). The sizes must be equal.
class DotScore : public Score {
 public:
  explicit DotScore(const AttentionOptions& options, bool scaled = false);
  Var operator()(const Var& query, const AttentionMemory& memory,
                 const AttentionState& state) const override;

 private:
  double scale_;
};

// vᵀ tanh(W_q q + W_k k + U f + b) with f = F * weights of the step before, C filters of K
// positions (Chorowski et al. 2015).
class LocationScore : public Score {
 public:
  LocationScore(const AttentionOptions& options, Rng& rng, DType dtype = DType::f32);
  Var project(const Var& annotations) const override;
  Var operator()(const Var& query, const AttentionMemory& memory,
                 const AttentionState& state) const override;
  void visit(Visitor& visitor) const override;

  Parameter query_weight;     // W_q [A, Q]
  Parameter key_weight;       // W_k [A, D]
  Parameter location_weight;  // U [A, C]
  Parameter filters;          // F [C, 1, K]
  Parameter bias;             // [A]
  Parameter v;                // [A]
};

// content, additive, general, dot, scaled-dot, location
std::span<const std::string_view> score_names();

// By name. Throws Error for an unknown one, listing the known ones, for a size below 1 that it
// needs, for an even location width, and where it needs equal sizes of query and keys and they are
// not.
std::shared_ptr<const Score> make_score(std::string_view name, const AttentionOptions& options,
                                        Rng& rng, DType dtype = DType::f32);

}  // namespace regrad
