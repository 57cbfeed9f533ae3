#include "ops/self_attention.h"

#include "autograd/functions.h"
#include "autograd/record.h"
#include "ops/axis.h"

namespace regrad {

// head_scores, head_sums and head_spread are each other's derivatives.

Var head_scores(const Var& q, const Var& keys, Index heads, const Lengths& lengths,
                KeyOrder order) {
  return record(
      "head_scores", ops::head_scores(q.value(), keys.value(), heads, lengths, order),
      Edge{q, [keys, lengths, order](const Var& g) { return head_sums(g, keys, lengths, order); }},
      AddingEdge{keys,
                 [q, lengths, order](const Var& g) { return head_spread(g, q, lengths, order); },
                 [q, lengths, order](const Tensor& g, Tensor& sum) {
                   ops::add_head_spread(sum, g, q.value(), lengths, order);
                 }});
}

Var head_sums(const Var& weights, const Var& values, const Lengths& lengths, KeyOrder order) {
  Tensor y = ops::head_sums(weights.value(), values.value(), lengths, order);
  return record(
      "head_sums", std::move(y),
      Edge{weights, [values, heads = weights.shape()[1], lengths, order](
                        const Var& g) { return head_scores(g, values, heads, lengths, order); }},
      AddingEdge{values,
                 [weights, lengths, order](const Var& g) {
                   return head_spread(weights, g, lengths, order);
                 },
                 [weights, lengths, order](const Tensor& g, Tensor& sum) {
                   ops::add_head_spread(sum, weights.value(), g, lengths, order);
                 }});
}

Var head_spread(const Var& weights, const Var& x, const Lengths& lengths, KeyOrder order) {
  const Index first = order == KeyOrder::time_first ? lengths.time() : lengths.batch();
  const Index second = order == KeyOrder::time_first ? lengths.batch() : lengths.time();
  const Index size = x.shape()[require_axis(x.shape(), -1, "head_spread")];
  Tensor y = zeros({first, second, size}, x.dtype());
  ops::add_head_spread(y, weights.value(), x.value(), lengths, order);
  return record(
      "head_spread", std::move(y),
      Edge{weights, [x, heads = weights.shape()[1], lengths,
                     order](const Var& g) { return head_scores(x, g, heads, lengths, order); }},
      Edge{x, [weights, lengths, order](const Var& g) {
             return head_sums(weights, g, lengths, order);
           }});
}

Var head_weights(const Var& q, const Var& keys, Index heads, const Lengths& lengths, bool causal,
                 KeyOrder order) {
  Tensor weights = ops::head_weights(q.value(), keys.value(), heads, lengths, causal, order);
  auto pullback = [query = q.value(), key = keys.value(), y = weights, heads, lengths, causal,
                   order](const Tensor& g, GradientSink& sink) {
    const Tensor scores =
        ops::head_weights_backward(g, y, lengths, causal, query.shape()[2] / heads);
    if (sink.wants(0)) sink.add(0, ops::head_sums(scores, key, lengths, order));
    if (sink.wants(1)) ops::add_head_spread(sink.accumulator(1), scores, query, lengths, order);
  };
  return record_fused("head_weights", std::move(weights), {&q, &keys}, std::move(pullback));
}

HeadsOutput scaled_dot_product_attention(const Var& q, const Var& keys, const Var& values,
                                         Index heads, const Lengths& lengths,
                                         const HeadsOptions& options) {
  const Var weights = head_weights(q, keys, heads, lengths, options.causal, options.order);
  const bool drops = options.rng != nullptr && options.dropout > 0;
  const Var kept = drops ? dropout(weights, options.dropout, *options.rng) : weights;
  return {head_sums(kept, values, lengths, options.order), weights};
}

}  // namespace regrad
