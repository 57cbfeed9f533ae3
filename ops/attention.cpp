#include "ops/attention.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/blas.h"
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

// f(b, s, row of the key) for every valid pair. A sentence's rows of `keys` lie far apart: each is
// asked for before it is needed.
template <class T, class F>
void for_each_key(const Lengths& lengths, const T* keys, Index size, const F& f) {
  const Index batch = lengths.batch();
  for (Index b = 0; b < batch; ++b) {
    for (Index s = 0; s < lengths[b]; ++s) {
      if (s + 1 < lengths[b]) simd::prefetch(keys + ((s + 1) * batch + b) * size, size);
      f(b, s, s * batch + b);
    }
  }
}

Tensor score_tensor(const Lengths& lengths, DType dtype) {
  Shape shape{lengths.batch(), lengths.time()};
  return lengths.has_padding() ? zeros(shape, dtype) : Tensor(shape, dtype);
}

// One row of the monotonic recursion, in double: stop and go on are p and 1 - p, each exact to its
// last bits though the other be nearly 1; reach is q.
struct MonotonicRow {
  std::vector<double> stop, go_on, reach;

  template <class T>
  void read(const T* logits, const T* previous, Index n) {
    stop.resize(static_cast<std::size_t>(n));
    go_on = reach = stop;
    double arriving = 0;
    for (std::size_t s = 0; s < stop.size(); ++s) {
      stop[s] = 1 / (1 + std::exp(-static_cast<double>(logits[s])));
      go_on[s] = 1 / (1 + std::exp(static_cast<double>(logits[s])));
      reach[s] = arriving + previous[s];
      arriving = go_on[s] * reach[s];
    }
  }
};

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
    for (Index b = 0; b < lengths.batch(); ++b) {
      if (lengths[b] == 0) continue;
      simd::kernels<T>().additive_score(query.data<T>() + b * size, keys.data<T>() + b * size,
                                        lengths.batch() * size, lengths[b], v.data<T>(),
                                        out + b * lengths.time(), size);
    }
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
    for (Index b = 0; b < lengths.batch(); ++b) {
      if (lengths[b] == 0) continue;
      simd::kernels<T>().additive_score_backward(
          g.data<T>() + b * lengths.time(), query.data<T>() + b * size, keys.data<T>() + b * size,
          lengths.batch() * size, lengths[b], v.data<T>(), to_query + b * size, to_keys + b * size,
          to_v, size);
    }
  });
}

Tensor dot_score(const Tensor& query, const Tensor& keys, const Lengths& lengths) {
  require_keys("dot_score", query, keys, lengths);
  Tensor scores = score_tensor(lengths, query.dtype());
  visit(query.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Index size = query.shape()[1];
    T* out = scores.mutable_data<T>();
    for_each_key(lengths, keys.data<T>(), size, [&](Index b, Index s, Index row) {
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
    for_each_key(lengths, values.data<T>(), size, [&](Index b, Index s, Index row) {
      simd::kernels<T>().accumulate(out + b * size, values.data<T>() + row * size,
                                    weights.data<T>()[b * lengths.time() + s], size);
    });
  });
  return result;
}

namespace {

void require_spread(const Tensor& y, const Tensor& weights, const Tensor& x,
                    const Lengths& lengths) {
  require_same_dtype(weights, x, "spread");
  require_same_dtype(y, x, "spread");
  require_weights("spread", weights, lengths);
  if (x.rank() != 2 || x.shape()[0] != lengths.batch() ||
      !(y.shape() == Shape{lengths.time(), lengths.batch(), x.shape()[1]})) {
    fail("spread: {} [batch, size] does not fit [time, batch, size] = {}", x.shape(), y.shape());
  }
}

// The rows of sentence b of all terms, one behind the other, and the weights of what is valid.
template <class T>
void gather_sentence(std::span<const SpreadTerm> terms, Index b, Index size, T* weights, T* rows) {
  for (const SpreadTerm& term : terms) {
    const T* from = term.weights.data<T>() + b * term.lengths.time();
    weights = std::copy_n(from, term.lengths[b], weights);
    rows = std::copy_n(term.x.data<T>() + b * size, size, rows);
  }
}

}  // namespace

void add_spread(Tensor& y, const Tensor& weights, const Tensor& x, const Lengths& lengths) {
  require_spread(y, weights, x, lengths);
  Index size = x.shape()[1];
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* out = y.mutable_data<T>();
    for_each_key(lengths, out, size, [&](Index b, Index s, Index row) {
      simd::kernels<T>().accumulate(out + row * size, x.data<T>() + b * size,
                                    weights.data<T>()[b * lengths.time() + s], size);
    });
  });
}

Tensor sum_spreads(std::span<const SpreadTerm> terms) {
  if (terms.empty()) fail("spread: there is nothing to sum");
  const Index batch = terms[0].lengths.batch(), size = terms[0].x.shape()[-1];
  const Index time = terms[0].lengths.time(), count = static_cast<Index>(terms.size());
  Tensor y({time, batch, size}, terms[0].x.dtype());
  for (const SpreadTerm& term : terms) {
    require_spread(y, term.weights, term.x, term.lengths);
  }
  if (y.size() == 0) return y;
  // 0 · NaN is NaN: a product over terms of other lengths would carry a row beyond its own.
  if (!std::ranges::all_of(terms, [&](const SpreadTerm& term) {
        return std::equal(term.lengths.data(), term.lengths.data() + batch,
                          terms[0].lengths.data());
      })) {
    y = zeros(y.shape(), y.dtype());
    for (const SpreadTerm& term : terms) add_spread(y, term.weights, term.x, term.lengths);
    return y;
  }
  visit(y.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Tensor gathered({count * (time + size)}, y.dtype());
    T *weights = gathered.mutable_data<T>(), *rows = weights + count * time;
    T* out = y.mutable_data<T>();
    for (Index b = 0; b < batch; ++b) {
      const Index valid = terms[0].lengths[b];
      gather_sentence(terms, b, size, weights, rows);
      gemm(Trans, NoTrans, valid, size, count, weights, std::max<Index>(valid, 1), rows,
           std::max<Index>(size, 1), T(0), out + b * size, std::max<Index>(batch * size, 1));
      for (Index s = valid; s < time; ++s) std::fill_n(out + (s * batch + b) * size, size, T(0));
    }
  });
  return y;
}

Tensor monotonic_alignment(const Tensor& logits, const Tensor& previous, const Lengths& lengths) {
  require_same_dtype(logits, previous, "monotonic_alignment");
  require_weights("monotonic_alignment", logits, lengths);
  require_weights("monotonic_alignment", previous, lengths);
  Tensor weights = score_tensor(lengths, logits.dtype());
  visit(logits.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* out = weights.mutable_data<T>();
    MonotonicRow row;
    for (Index b = 0; b < lengths.batch(); ++b) {
      const Index first = b * lengths.time();
      row.read(logits.data<T>() + first, previous.data<T>() + first, lengths[b]);
      for (std::size_t s = 0; s < row.stop.size(); ++s) {
        out[first + static_cast<Index>(s)] = static_cast<T>(row.stop[s] * row.reach[s]);
      }
    }
  });
  return weights;
}

void monotonic_alignment_backward(const Tensor& g, const Tensor& logits, const Tensor& previous,
                                  const Lengths& lengths, Tensor* g_logits, Tensor* g_previous) {
  visit(g.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* to_logits = g_logits ? g_logits->mutable_data<T>() : nullptr;
    T* to_previous = g_previous ? g_previous->mutable_data<T>() : nullptr;
    MonotonicRow row;
    for (Index b = 0; b < lengths.batch(); ++b) {
      const Index first = b * lengths.time();
      row.read(logits.data<T>() + first, previous.data<T>() + first, lengths[b]);
      double g_reach = 0;  // of q_{s+1}, then of q_s
      for (Index s = lengths[b] - 1; s >= 0; --s) {
        const auto i = static_cast<std::size_t>(s);
        const double g_weight = g.data<T>()[first + s];
        const double g_stop = (g_weight - g_reach) * row.reach[i];
        if (to_logits) to_logits[first + s] += static_cast<T>(g_stop * row.stop[i] * row.go_on[i]);
        g_reach = g_weight * row.stop[i] + g_reach * row.go_on[i];
        if (to_previous) to_previous[first + s] += static_cast<T>(g_reach);
      }
    }
  });
}

}  // namespace regrad::ops
