#include "ops/order.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "ops/axis.h"

namespace regrad::ops {
namespace {

template <class T>
bool before(T a, T b) {
  return a > b || (std::isnan(a) && !std::isnan(b));
}

// f(x, stride, y, n) of each line along the axis, x and y at its first elements; a line of y has k.
template <class F>
Ids for_each_line(const Tensor& x, int axis, Index k, const Shape& shape, const F& f) {
  Index n = x.shape()[axis], inner = x.shape().product(axis + 1, x.rank());
  Ids result(shape);
  std::int32_t* out = result.mutable_data();
  visit(x.dtype(), [&](auto zero) {
    const auto* in = x.data<decltype(zero)>();
    for (Index outer = 0; outer < x.shape().product(0, axis); ++outer) {
      for (Index i = 0; i < inner; ++i) {
        f(in + outer * n * inner + i, inner, out + outer * k * inner + i, n);
      }
    }
  });
  return result;
}

}  // namespace

Ids argmax(const Tensor& x, int axis) {
  axis = require_axis(x.shape(), axis, "argmax");
  if (x.shape()[axis] == 0) fail("argmax: axis {} of shape {} is empty", axis, x.shape());
  Shape shape = x.shape().without(axis);
  return for_each_line(x, axis, 1, shape, [](auto* in, Index stride, std::int32_t* out, Index n) {
    Index at = 0;
    for (Index i = 1; i < n; ++i) {
      if (before(in[i * stride], in[at * stride])) at = i;
    }
    *out = static_cast<std::int32_t>(at);
  });
}

Ids topk(const Tensor& x, Index k, int axis) {
  axis = require_axis(x.shape(), axis, "topk");
  Index size = x.shape()[axis];
  if (k < 0 || k > size) {
    fail("topk: {} entries of axis {} of shape {}, which has {}", k, axis, x.shape(), size);
  }
  std::vector<std::int32_t> order(static_cast<std::size_t>(size));
  Shape shape = x.shape().with(axis, k);
  return for_each_line(x, axis, k, shape, [&](auto* in, Index stride, std::int32_t* out, Index) {
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + k, order.end(),
                      [&](std::int32_t a, std::int32_t b) {
                        auto u = in[a * stride], v = in[b * stride];
                        return before(u, v) || (!before(v, u) && a < b);
                      });
    for (Index i = 0; i < k; ++i) out[i * stride] = order[static_cast<std::size_t>(i)];
  });
}

}  // namespace regrad::ops
