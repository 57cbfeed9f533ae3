#include "nn/composed_heads.h"

#include <cmath>
#include <vector>

namespace regrad {
namespace {

// [T, B, H D] -> [B, H, T, D]
Var by_head(const Var& x, Index heads) {
  const Shape& shape = x.shape();
  return permute(reshape(x, Shape{shape[0], shape[1], heads, shape[2] / heads}), {1, 2, 0, 3});
}

// [B, 1, T, S]: 1 where query t sees key s, else 0.
Tensor seen_keys(Index queries, const Lengths& lengths, bool causal, DType dtype) {
  std::vector<double> seen;
  for (Index b = 0; b < lengths.batch(); ++b) {
    for (Index t = 0; t < queries; ++t) {
      for (Index s = 0; s < lengths.time(); ++s) {
        const bool past = s <= t + lengths.time() - queries;
        seen.push_back(lengths.valid(s, b) && (past || !causal) ? 1 : 0);
      }
    }
  }
  return tensor(seen, {lengths.batch(), 1, queries, lengths.time()}, dtype);
}

}  // namespace

Var head_weights_composed(const Var& q, const Var& keys, Index heads, const Lengths& lengths,
                          bool causal) {
  const Var queries = by_head(q, heads), valid = by_head(masked_fill(keys, lengths, 0), heads);
  const double width = static_cast<double>(queries.shape()[3]);
  const Var scores = matmul(queries, valid, NoTrans, Trans) / std::sqrt(width);
  if (scores.size() == 0) return scores;
  const Tensor seen = seen_keys(q.shape()[0], lengths, causal, q.dtype());
  const Var largest = max(where(seen, scores.detach(), -1e30), {-1}, true);
  const Var e = where(seen, exp(where(seen, scores - largest, 0.0)), 0.0);
  const Var total = sum(e, {-1}, true);
  // Without any key the total is 0, and so must be the weights.
  return e / (total + Var(equal(total.detach(), 0.0)));
}

HeadsOutput scaled_dot_product_attention_composed(const Var& q, const Var& keys, const Var& values,
                                                  Index heads, const Lengths& lengths,
                                                  bool causal) {
  const Var weights = head_weights_composed(q, keys, heads, lengths, causal);
  const Var mixed = matmul(weights, by_head(masked_fill(values, lengths, 0), heads));
  const Shape shape{q.shape()[0], q.shape()[1], values.shape()[2]};
  return {reshape(permute(mixed, {2, 0, 1, 3}), shape), weights};
}

}  // namespace regrad
