#include "nn/attention.h"

#include <vector>

#include "autograd/functions.h"

namespace regrad {

Attention::Attention(std::string_view score, std::string_view alignment,
                     const AttentionOptions& options, Rng& rng, DType dtype)
    : score_(make_score(score, options, rng, dtype)),
      alignment_(make_alignment(alignment, options, rng, dtype)) {}

AttentionMemory Attention::prepare(const Var& annotations, const Lengths& lengths) const {
  // 0 · NaN is NaN: padding must be gone before a weight or gradient of zero meets it.
  const Var values = lengths.has_padding() ? masked_fill(annotations, lengths, 0) : annotations;
  return {score_->project(values), values, lengths};
}

AttentionState Attention::start(const AttentionMemory& memory) const {
  const Lengths& lengths = memory.lengths;
  std::vector<double> weights(static_cast<std::size_t>(lengths.batch() * lengths.time()));
  for (Index b = 0; b < lengths.batch(); ++b) {
    if (lengths[b] > 0) weights[static_cast<std::size_t>(b * lengths.time())] = 1;
  }
  const DType dtype = memory.values.dtype();
  return {tensor(weights, {lengths.batch(), lengths.time()}, dtype),
          zeros({lengths.batch()}, dtype)};
}

Var Attention::score(const Var& query, const AttentionMemory& memory,
                     const AttentionState& state) const {
  const Index batch = memory.lengths.batch(), time = memory.lengths.time();
  if (!(state.weights.shape() == Shape{batch, time}) || !(state.step.shape() == Shape{batch})) {
    fail("attention: a state of weights {} and steps {} does not fit [batch, time] = [{}, {}]",
         state.weights.shape(), state.step.shape(), batch, time);
  }
  return (*score_)(query, memory, state);
}

AttentionOutput Attention::operator()(const Var& query, const AttentionMemory& memory,
                                      const AttentionState& state, Rng* rng) const {
  const Aligned aligned = (*alignment_)(score(query, memory, state), query, memory, state, rng);
  return {.context = weighted_sum(aligned.weights, memory.values, memory.lengths),
          .weights = aligned.weights,
          .state = {aligned.weights, state.step + 1},
          .log_weights = aligned.log_weights,
          .log_probability = aligned.log_probability,
          .entropy = aligned.entropy};
}

void Attention::visit(Visitor& visitor) const {
  score_->visit(visitor);
  alignment_->visit(visitor);
}

}  // namespace regrad
