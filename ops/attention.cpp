#include "ops/attention.h"

#include <algorithm>

#include "ops/simd/kernels.h"

namespace regrad::ops {
namespace {

void require_keys(std::string_view operation, const Tensor& query, const Tensor& keys,
                  const Lengths& lengths) {
  require_same_dtype(query, keys, operation);
  if (query.rank() != 2 || keys.rank() != 3 || query.shape()[0] != keys.shape()[1] ||
      query.shape()[1] != keys.shape()[2]) {
    fail("{}: query {} [batch, size] does not fit keys {} [time, batch, size]", operation,
         query.shape(), keys.shape());
  }
  require_lengths(lengths, keys.shape()[0], keys.shape()[1], operation);
}

void require_weights(std::string_view operation, const Tensor& weights, const Lengths& lengths) {
  if (!(weights.shape() == Shape{lengths.batch(), lengths.time()})) {
    fail("{}: weights {} are not [batch, time] = [{}, {}]", operation, weights.shape(),
         lengths.batch(), lengths.time());
  }
}

// f(b, s, row of the key) for every valid pair.
template <class F>
void for_each_key(const Lengths& lengths, const F& f) {
  for (Index b = 0; b < lengths.batch(); ++b) {
    for (Index s = 0; s < lengths[b]; ++s) f(b, s, s * lengths.batch() + b);
  }
}

Tensor score_tensor(const Lengths& lengths, DType dtype) {
  Shape shape{lengths.batch(), lengths.time()};
  return lengths.has_padding() ? zeros(shape, dtype) : Tensor(shape, dtype);
}

}  // namespace

Tensor additive_score(const Tensor& query, const Tensor& keys, const Tensor& v,
                      const Lengths& lengths) {
  require_keys("additive_score", query, keys, lengths);
  require_same_dtype(query, v, "additive_score");
  if (!(v.shape() == Shape{query.shape()[1]})) {
    fail("additive_score: v {} does not fit query {}", v.shape(), query.shape());
  }
  Tensor scores = score_tensor(lengths, query.dtype());
  visit(query.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Index size = v.size();
    T* out = scores.mutable_data<T>();
    for_each_key(lengths, [&](Index b, Index s, Index row) {
      out[b * lengths.time() + s] = simd::kernels<T>().additive_score(
          query.data<T>() + b * size, keys.data<T>() + row * size, v.data<T>(), size);
    });
  });
  return scores;
}

void additive_score_backward(const Tensor& g, const Tensor& query, const Tensor& keys,
                             const Tensor& v, const Lengths& lengths, Tensor& g_query,
                             Tensor& g_keys, Tensor& g_v) {
  visit(query.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Index size = v.size();
    T *to_query = g_query.mutable_data<T>(), *to_keys = g_keys.mutable_data<T>();
    T* to_v = g_v.mutable_data<T>();
    for_each_key(lengths, [&](Index b, Index s, Index row) {
      simd::kernels<T>().additive_score_backward(
          g.data<T>()[b * lengths.time() + s], query.data<T>() + b * size,
          keys.data<T>() + row * size, v.data<T>(), to_query + b * size, to_keys + row * size, to_v,
          size);
    });
  });
}

Tensor dot_score(const Tensor& query, const Tensor& keys, const Lengths& lengths) {
  require_keys("dot_score", query, keys, lengths);
  Tensor scores = score_tensor(lengths, query.dtype());
  visit(query.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Index size = query.shape()[1];
    T* out = scores.mutable_data<T>();
    for_each_key(lengths, [&](Index b, Index s, Index row) {
      out[b * lengths.time() + s] =
          simd::kernels<T>().dot(query.data<T>() + b * size, keys.data<T>() + row * size, size);
    });
  });
  return scores;
}

Tensor weighted_sum(const Tensor& weights, const Tensor& values, const Lengths& lengths) {
  require_same_dtype(weights, values, "weighted_sum");
  require_weights("weighted_sum", weights, lengths);
  if (values.rank() != 3)
    fail("weighted_sum: values {} are not [time, batch, size]", values.shape());
  require_lengths(lengths, values.shape()[0], values.shape()[1], "weighted_sum");
  Index size = values.shape()[2];
  Tensor result = zeros({lengths.batch(), size}, values.dtype());
  visit(values.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* out = result.mutable_data<T>();
    for_each_key(lengths, [&](Index b, Index s, Index row) {
      simd::kernels<T>().accumulate(out + b * size, values.data<T>() + row * size,
                                    weights.data<T>()[b * lengths.time() + s], size);
    });
  });
  return result;
}

void add_spread(Tensor& y, const Tensor& weights, const Tensor& x, const Lengths& lengths) {
  require_same_dtype(weights, x, "spread");
  require_same_dtype(y, x, "spread");
  require_weights("spread", weights, lengths);
  if (x.rank() != 2 || !(y.shape() == Shape{lengths.time(), lengths.batch(), x.shape()[1]})) {
    fail("spread: {} [batch, size] does not fit [time, batch, size] = {}", x.shape(), y.shape());
  }
  Index size = x.shape()[1];
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* out = y.mutable_data<T>();
    for_each_key(lengths, [&](Index b, Index s, Index row) {
      simd::kernels<T>().accumulate(out + row * size, x.data<T>() + b * size,
                                    weights.data<T>()[b * lengths.time() + s], size);
    });
  });
}

}  // namespace regrad::ops
