#include "ops/attention.h"

#include "autograd/functions.h"
#include "autograd/record.h"
#include "ops/axis.h"
#include "ops/sparsemax.h"

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
      SpreadEdge{keys, nullptr, &query, lengths});
}

Var weighted_sum(const Var& weights, const Var& values, const Lengths& lengths) {
  return record(
      "weighted_sum", ops::weighted_sum(weights.value(), values.value(), lengths),
      Edge{weights, [values, lengths](const Var& g) { return dot_score(g, values, lengths); }},
      SpreadEdge{values, &weights, nullptr, lengths});
}

Var spread(const Var& weights, const Var& x, const Lengths& lengths) {
  const Index size = x.shape()[require_axis(x.shape(), -1, "spread")];
  Tensor y = zeros({lengths.time(), lengths.batch(), size}, x.dtype());
  ops::add_spread(y, weights.value(), x.value(), lengths);
  return record(
      "spread", std::move(y),
      Edge{weights, [x, lengths](const Var& g) { return dot_score(x, g, lengths); }},
      Edge{x, [weights, lengths](const Var& g) { return weighted_sum(weights, g, lengths); }});
}

Var Recorder::Spread::operator()(Var&& g) const {
  return gives_rows ? spread(weights, g, lengths) : spread(g, rows, lengths);
}

namespace {

// Outside of the support y is 0, or NaN where a NaN came in: so is the gradient.

// J g of sparsemax: g - mean of g over the support S there, 0 elsewhere.
Var sparsemax_pullback(const Var& g, const Var& y) {
  const Tensor support = greater(y, 0);
  const Var inside = where(support, g, 0);
  const Var size = maximum(sum(Var(support), {-1}, true), 1);
  return where(support, sub(inside, div(sum(inside, {-1}, true), size)), y.detach());
}

// J g of 1.5-entmax: r (g - Σ r g / Σ r) with r = √y (Peters, Niculae and Martins 2019).
Var entmax_pullback(const Var& g, const Var& y) {
  const Tensor support = greater(y, 0);
  // √ has no derivative at 0, so that it must not see the zeros.
  const Var root = where(support, sqrt(where(support, y, 1)), 0);
  const Var inside = where(support, g, 0);
  const Var total = sum(root, {-1}, true);
  const Var size = where(greater(total, 0), total, 1);
  const Var mean = div(sum(mul(root, inside), {-1}, true), size);
  return where(support, mul(root, sub(inside, mean)), y.detach());
}

}  // namespace

Var sparsemax(const Var& x) {
  return record("sparsemax", ops::sparsemax(x.value()), Edge{x, sparsemax_pullback});
}

Var sparsemax(const Var& x, const Lengths& lengths) {
  return record("sparsemax", ops::sparsemax(x.value(), &lengths), Edge{x, sparsemax_pullback});
}

Var entmax(const Var& x) {
  return record("entmax", ops::entmax(x.value()), Edge{x, entmax_pullback});
}

Var entmax(const Var& x, const Lengths& lengths) {
  return record("entmax", ops::entmax(x.value(), &lengths), Edge{x, entmax_pullback});
}

Var monotonic_alignment(const Var& logits, const Var& previous, const Lengths& lengths) {
  auto pullback = [e = logits.value(), a = previous.value(), lengths](const Tensor& g,
                                                                      GradientSink& sink) {
    auto wanted = [&](int input) { return sink.wants(input) ? &sink.accumulator(input) : nullptr; };
    ops::monotonic_alignment_backward(g, e, a, lengths, wanted(0), wanted(1));
  };
  return record_fused("monotonic_alignment",
                      ops::monotonic_alignment(logits.value(), previous.value(), lengths),
                      {&logits, &previous}, std::move(pullback));
}

Var straight_through(const Tensor& hard, const Var& soft) {
  require_same_dtype(hard, soft.value(), "straight_through");
  if (!(hard.shape() == soft.shape())) {
    fail("straight_through: shapes {} and {} differ", hard.shape(), soft.shape());
  }
  return record("straight_through", hard, Edge{soft, [](const Var& g) { return g; }});
}

}  // namespace regrad
