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

namespace {

// out += Σ over n rows of x. Halves are summed apart, so that long sums stay accurate in f32.
template <class T>
void add_rows(const T* x, Index n, Index inner, T* out) {
  auto accumulate = simd::kernels<T>().accumulate;
  if (n <= 256) {
    for (Index k = 0; k < n; ++k) accumulate(out, x + k * inner, T(1), inner);
    return;
  }
  Tensor half = zeros({inner}, dtype_of<T>());
  add_rows(x, n / 2, inner, out);
  add_rows(x + n / 2 * inner, n - n / 2, inner, half.mutable_data<T>());
  accumulate(out, half.data<T>(), T(1), inner);
}

}  // namespace

Tensor sum(const Tensor& x, int axis) {
  axis = x.shape().normalise(axis);
  Index outer = x.shape().product(0, axis), n = x.shape()[axis];
  Index inner = x.shape().product(axis + 1, x.rank());
  Tensor y(x.shape().with(axis, 1), x.dtype());
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* in = x.data<T>();
    T* out = y.mutable_data<T>();
    if (inner == 1) {
      for (Index i = 0; i < outer; ++i) out[i] = simd::kernels<T>().sum(in + i * n, n);
      return;
    }
    std::fill_n(out, y.size(), T(0));
    for (Index i = 0; i < outer; ++i) add_rows(in + i * n * inner, n, inner, out + i * inner);
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
    using T = decltype(zero);
    const T* row = x.data<T>();
    auto less = [](T a, T b) { return a < b || (std::isnan(b) && !std::isnan(a)); };
    for (auto& position : best) {
      position = std::max_element(row, row + n, less) - row;
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
