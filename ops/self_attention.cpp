#include "ops/self_attention.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/axis.h"
#include "ops/blas.h"
#include "ops/reduce.h"
#include "ops/simd/kernels.h"

namespace regrad::ops {
namespace {

struct Sizes {
  Index queries, keys, batch, heads, width;  // T, S, B, H, D
  KeyOrder order;

  bool batch_first() const { return order == KeyOrder::batch_first; }
  Shape of_weights() const { return {batch, heads, queries, keys}; }
  Shape of_keys() const {
    return {batch_first() ? batch : keys, batch_first() ? keys : batch, heads * width};
  }
  // From one time step to the next, of queries and of keys.
  Index query_step() const { return batch * heads * width; }
  Index key_step() const { return batch_first() ? heads * width : query_step(); }
};

// Where the numbers of one head of one sentence begin, and how many keys are valid.
struct Head {
  Index query, key, weight, valid;
};

void require_heads(std::string_view operation, const Tensor& x, Index heads) {
  if (x.rank() != 3) fail("{}: {} is not [time, batch, size]", operation, x.shape());
  if (heads < 1 || x.shape()[2] < 1 || x.shape()[2] % heads != 0) {
    fail("{}: size {} does not fall into {} equal heads", operation, x.shape()[2], heads);
  }
}

Sizes sizes_of_scores(std::string_view operation, const Tensor& q, const Tensor& keys, Index heads,
                      const Lengths& lengths, KeyOrder order) {
  require_same_dtype(q, keys, operation);
  require_heads(operation, q, heads);
  const Sizes sizes{q.shape()[0], lengths.time(), q.shape()[1], heads, q.shape()[2] / heads, order};
  if (!(keys.shape() == sizes.of_keys()) || lengths.batch() != sizes.batch) {
    fail("{}: keys {} do not fit queries {} and lengths of [{}, {}] (time, batch)", operation,
         keys.shape(), q.shape(), lengths.time(), lengths.batch());
  }
  return sizes;
}

// size is H D.
Sizes sizes_of_weights(std::string_view operation, const Tensor& weights, Index size,
                       const Lengths& lengths, KeyOrder order) {
  const Shape& shape = weights.shape();
  if (shape.rank() != 4) {
    fail("{}: weights {} are not [batch, heads, queries, keys]", operation, shape);
  }
  if (shape[1] < 1 || size < 1 || size % shape[1] != 0) {
    fail("{}: size {} does not fall into {} equal heads", operation, size, shape[1]);
  }
  require_lengths(lengths, shape[3], shape[0], operation);
  return {shape[2], shape[3], shape[0], shape[1], size / shape[1], order};
}

// f(Head) for every head of every sentence.
template <class F>
void for_each_head(const Sizes& sizes, const Lengths& lengths, const F& f) {
  for (Index i = 0; i < sizes.batch * sizes.heads; ++i) {
    const Index b = i / sizes.heads, h = i % sizes.heads;
    const Index key =
        sizes.batch_first() ? (b * sizes.keys * sizes.heads + h) * sizes.width : i * sizes.width;
    // Nothing is at an offset of a tensor without elements.
    f(Head{sizes.queries > 0 ? i * sizes.width : 0, sizes.keys > 0 ? key : 0,
           i * sizes.queries * sizes.keys, lengths[b]});
  }
}

Tensor scores_of(const Sizes& sizes, const Tensor& q, const Tensor& keys, const Lengths& lengths) {
  const Shape shape = sizes.of_weights();
  Tensor scores = lengths.has_padding() ? zeros(shape, q.dtype()) : Tensor(shape, q.dtype());
  visit(q.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* out = scores.mutable_data<T>();
    for_each_head(sizes, lengths, [&](const Head& head) {
      gemm(NoTrans, Trans, sizes.queries, head.valid, sizes.width, q.data<T>() + head.query,
           sizes.query_step(), keys.data<T>() + head.key, sizes.key_step(), T(0), out + head.weight,
           std::max<Index>(sizes.keys, 1));
    });
  });
  return scores;
}

// f(offset of the row, number of keys that its query sees) for every row of weights.
template <class F>
void for_each_query(const Shape& weights, const Lengths& lengths, bool causal, const F& f) {
  const Index queries = weights[2], keys = weights[3];
  for (Index row = 0; row < weights.product(0, 3); ++row) {
    Index seen = lengths[row / (weights[1] * queries)];
    if (causal) seen = std::clamp<Index>(row % queries + 1 + keys - queries, 0, seen);
    f(row * keys, seen);
  }
}

template <class T>
T scale_of(Index width) {
  return static_cast<T>(1 / std::sqrt(static_cast<double>(width)));
}

// y = Σ_s weights values.
template <class T>
void sum_heads(T* y, const Sizes& sizes, const T* weights, const T* values,
               const Lengths& lengths) {
  for_each_head(sizes, lengths, [&](const Head& head) {
    gemm(NoTrans, NoTrans, sizes.queries, sizes.width, head.valid, weights + head.weight,
         std::max<Index>(sizes.keys, 1), values + head.key, sizes.key_step(), T(0), y + head.query,
         sizes.query_step());
  });
}

// Adds what weights other than 0 make of values that are not finite.
template <class T>
void add_not_finite(T* y, const Sizes& sizes, const T* weights, const T* values,
                    const Lengths& lengths) {
  for_each_head(sizes, lengths, [&](const Head& head) {
    for (Index s = 0; s < head.valid; ++s) {
      const T* value = values + head.key + s * sizes.key_step();
      for (Index d = 0; d < sizes.width; ++d) {
        if (std::isfinite(value[d])) continue;
        for (Index t = 0; t < sizes.queries; ++t) {
          const T weight = weights[head.weight + t * sizes.keys + s];
          if (weight != 0) y[head.query + t * sizes.query_step() + d] += weight * value[d];
        }
      }
    }
  });
}

}  // namespace

Tensor head_scores(const Tensor& q, const Tensor& keys, Index heads, const Lengths& lengths,
                   KeyOrder order) {
  return scores_of(sizes_of_scores("head_scores", q, keys, heads, lengths, order), q, keys,
                   lengths);
}

Tensor head_sums(const Tensor& weights, const Tensor& values, const Lengths& lengths,
                 KeyOrder order) {
  require_same_dtype(weights, values, "head_sums");
  const Index size = values.shape()[require_axis(values.shape(), -1, "head_sums")];
  const Sizes sizes = sizes_of_weights("head_sums", weights, size, lengths, order);
  if (!(values.shape() == sizes.of_keys())) {
    fail("head_sums: values {} do not fit weights {}", values.shape(), weights.shape());
  }
  Tensor y({sizes.queries, sizes.batch, values.shape()[2]}, values.dtype());
  visit(values.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* out = y.mutable_data<T>();
    const T *w = weights.data<T>(), *from = values.data<T>();
    sum_heads(out, sizes, w, from, lengths);
    if (std::isfinite(sum_squares(y))) return;
    // 0 · NaN is NaN: what a query may not see must not reach it.
    std::vector<T> finite(from, from + values.size());
    for (T& value : finite) value = std::isfinite(value) ? value : T(0);
    sum_heads(out, sizes, w, finite.data(), lengths);
    add_not_finite(out, sizes, w, from, lengths);
  });
  return y;
}

void add_head_spread(Tensor& y, const Tensor& weights, const Tensor& x, const Lengths& lengths,
                     KeyOrder order) {
  require_same_dtype(weights, x, "head_spread");
  require_same_dtype(y, x, "head_spread");
  const Index size = x.shape()[require_axis(x.shape(), -1, "head_spread")];
  const Sizes sizes = sizes_of_weights("head_spread", weights, size, lengths, order);
  if (!(x.shape() == Shape{sizes.queries, sizes.batch, size}) || !(y.shape() == sizes.of_keys())) {
    fail("head_spread: {} does not fit weights {} and a sum of shape {}", x.shape(),
         weights.shape(), y.shape());
  }
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* out = y.mutable_data<T>();
    for_each_head(sizes, lengths, [&](const Head& head) {
      gemm(Trans, NoTrans, head.valid, sizes.width, sizes.queries, weights.data<T>() + head.weight,
           std::max<Index>(sizes.keys, 1), x.data<T>() + head.query, sizes.query_step(), T(1),
           out + head.key, sizes.key_step());
    });
  });
}

Tensor head_weights(const Tensor& q, const Tensor& keys, Index heads, const Lengths& lengths,
                    bool causal, KeyOrder order) {
  const Sizes sizes = sizes_of_scores("head_weights", q, keys, heads, lengths, order);
  Tensor y = scores_of(sizes, q, keys, lengths);
  visit(y.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto& kernels = simd::kernels<T>();
    T* out = y.mutable_data<T>();
    for_each_query(y.shape(), lengths, causal, [&](Index row, Index seen) {
      kernels.affine(out + row, scale_of<T>(sizes.width), T(0), out + row, seen);
      kernels.softmax(out + row, out + row, seen);
      std::fill(out + row + seen, out + row + sizes.keys, T(0));
    });
  });
  return y;
}

Tensor head_weights_backward(const Tensor& g, const Tensor& weights, const Lengths& lengths,
                             bool causal, Index size) {
  Tensor result(weights.shape(), weights.dtype());
  const Index keys = weights.shape()[3];
  visit(weights.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto& kernels = simd::kernels<T>();
    const T scale = scale_of<T>(size);
    const T *w = weights.data<T>(), *from = g.data<T>();
    T* out = result.mutable_data<T>();
    for_each_query(weights.shape(), lengths, causal, [&](Index row, Index seen) {
      // Scaled last: so the gradient is exactly 0 where a query sees one key only.
      kernels.affine(from + row, T(1), -kernels.dot(w + row, from + row, seen), out + row, seen);
      kernels.zip(Binary::mul, w + row, 1, out + row, 1, out + row, seen);
      kernels.affine(out + row, scale, T(0), out + row, seen);
      std::fill(out + row + seen, out + row + keys, T(0));
    });
  });
  return result;
}

}  // namespace regrad::ops
