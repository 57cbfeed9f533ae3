#include "ops/attention.h"

#include "autograd/functions.h"
#include "autograd/record.h"

namespace regrad {

Var additive_score(const Var& query, const Var& keys, const Var& v, const Lengths& lengths) {
  auto pullback = [q = query.value(), k = keys.value(), w = v.value(), lengths](
                      const Tensor& g, GradientSink& sink) {
    Tensor unwanted_q, unwanted_k, unwanted_v;
    auto target = [&](int input, const Tensor& like, Tensor& unwanted) -> Tensor& {
      if (sink.wants(input)) return sink.accumulator(input);
      unwanted = zeros(like.shape(), like.dtype());
      return unwanted;
    };
    ops::additive_score_backward(g, q, k, w, lengths, target(0, q, unwanted_q),
                                 target(1, k, unwanted_k), target(2, w, unwanted_v));
  };
  return record_fused("additive_score",
                      ops::additive_score(query.value(), keys.value(), v.value(), lengths),
                      {&query, &keys, &v}, std::move(pullback));
}

// dot_score, weighted_sum and spread are each other's derivatives.

Var dot_score(const Var& query, const Var& keys, const Lengths& lengths) {
  return record(
      "dot_score", ops::dot_score(query.value(), keys.value(), lengths),
      Edge{query, [keys, lengths](const Var& g) { return weighted_sum(g, keys, lengths); }},
      AddingEdge{keys, [query, lengths](const Var& g) { return spread(g, query, lengths); },
                 [query, lengths](const Tensor& g, Tensor& sum) {
                   ops::add_spread(sum, g, query.value(), lengths);
                 }});
}

Var weighted_sum(const Var& weights, const Var& values, const Lengths& lengths) {
  return record(
      "weighted_sum", ops::weighted_sum(weights.value(), values.value(), lengths),
      Edge{weights, [values, lengths](const Var& g) { return dot_score(g, values, lengths); }},
      AddingEdge{values, [weights, lengths](const Var& g) { return spread(weights, g, lengths); },
                 [weights, lengths](const Tensor& g, Tensor& sum) {
                   ops::add_spread(sum, weights.value(), g, lengths);
                 }});
}

Var spread(const Var& weights, const Var& x, const Lengths& lengths) {
  Tensor y = zeros({lengths.time(), lengths.batch(), x.shape()[-1]}, x.dtype());
  ops::add_spread(y, weights.value(), x.value(), lengths);
  return record(
      "spread", std::move(y),
      Edge{weights, [x, lengths](const Var& g) { return dot_score(x, g, lengths); }},
      Edge{x, [weights, lengths](const Var& g) { return weighted_sum(weights, g, lengths); }});
}

}  // namespace regrad
