#include "ops/reduce.h"

#include <algorithm>
#include <cmath>

#include "ops/simd/kernels.h"

namespace regrad::ops {

Tensor sum(const Tensor& x) {
  return visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Tensor y({}, x.dtype());
    *y.mutable_data<T>() = simd::kernels<T>().sum(x.data<T>(), x.size());
    return y;
  });
}

Tensor sum(const Tensor& x, int axis) {
  axis = x.shape().normalise(axis);
  Index outer = x.shape().product(0, axis), n = x.shape()[axis];
  Index inner = x.shape().product(axis + 1, x.rank());
  Tensor y(x.shape().with(axis, 1), x.dtype());
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    auto& kernels = simd::kernels<T>();
    const T* in = x.data<T>();
    T* out = y.mutable_data<T>();
    if (inner == 1) {
      for (Index i = 0; i < outer; ++i) out[i] = kernels.sum(in + i * n, n);
      return;
    }
    std::fill_n(out, y.size(), T(0));
    for (Index i = 0; i < outer; ++i, out += inner) {
      for (Index k = 0; k < n; ++k, in += inner) kernels.accumulate(out, in, T(1), inner);
    }
  });
  return y;
}

double sum_squares(const Tensor& x) {
  return visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    return simd::kernels<T>().sum_squares(x.data<T>(), x.size());
  });
}

std::vector<Index> argmax(const Tensor& x) {
  Index n = x.rank() ? x.shape()[-1] : 1;
  if (n == 0) fail("argmax: the last axis of shape {} is empty", x.shape());
  std::vector<Index> best(static_cast<std::size_t>(x.size() / n));
  visit(x.dtype(), [&](auto zero) {
    const auto* row = x.data<decltype(zero)>();
    for (auto& position : best) {
      position = std::max_element(row, row + n) - row;
      row += n;
    }
  });
  return best;
}

Range range(const Tensor& x) {
  Range range;
  bool first = true;
  visit(x.dtype(), [&](auto zero) {
    const auto* values = x.data<decltype(zero)>();
    for (Index i = 0; i < x.size(); ++i) {
      double value = values[i];
      if (!std::isfinite(value) && range.not_finite < 0) range.not_finite = i;
      if (std::isnan(value)) continue;
      range.low = first ? value : std::min(range.low, value);
      range.high = first ? value : std::max(range.high, value);
      first = false;
    }
  });
  return range;
}

}  // namespace regrad::ops
