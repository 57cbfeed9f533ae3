#pragma once

#include <memory>
#include <string_view>

#include "nn/alignment.h"
#include "nn/score.h"

namespace regrad {

struct AttentionOutput {
  Var context;           // [B, D]
  Var weights;           // [B, S]; all zero for a sentence of length 0
  AttentionState state;  // for the next step
  // Of the alignment, where it gives them:
  Var log_weights = {};      // [B, S]
  Var log_probability = {};  // [B]
  Var entropy = {};          // [B]
};

// weights = alignment(score(query, keys)), context = Σ weights value: any score with any alignment.
// Its parameters' names are those of its score and its alignment. Copying it ties the weights.
class Attention : public Module {
 public:
  // Throws Error as make_score and make_alignment do.
  Attention(std::string_view score, std::string_view alignment, const AttentionOptions& options,
            Rng& rng, DType dtype = DType::f32);

  // annotations [S, B, D], whatever their padding holds.
  AttentionMemory prepare(const Var& annotations, const Lengths& lengths) const;
  // Before the first step.
  AttentionState start(const AttentionMemory& memory) const;
  // query [B, Q]; with an Rng in training, without one in evaluation. Throws Error for a query or a
  // state of other shapes.
  AttentionOutput operator()(const Var& query, const AttentionMemory& memory,
                             const AttentionState& state, Rng* rng = nullptr) const;
  // [B, S], 0 where padded.
  Var score(const Var& query, const AttentionMemory& memory, const AttentionState& state) const;

  void visit(Visitor& visitor) const override;

 private:
  std::shared_ptr<const Score> score_;
  std::shared_ptr<const Alignment> alignment_;
};

}  // namespace regrad
