#include "ops/reduce.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/axis.h"
#include "ops/simd/kernels.h"

namespace regrad::ops {

namespace {

template <class T>
T reduce_row(Binary op, const T* x, Index n) {
  auto& kernels = simd::kernels<T>();
  if (op == Binary::add) return kernels.sum(x, n);
  return op == Binary::maximum ? kernels.largest(x, n) : kernels.smallest(x, n);
}

// n > 0 rows of x to one. Halves are summed apart, so that long sums stay accurate in f32.
template <class T>
void reduce_rows(Binary op, const T* x, Index n, Index inner, T* out) {
  auto zip = simd::kernels<T>().zip;
  if (n <= 256) {
    std::copy_n(x, inner, out);
    for (Index k = 1; k < n; ++k) zip(op, out, 1, x + k * inner, 1, out, inner);
    return;
  }
  Tensor half({inner}, dtype_of<T>());
  reduce_rows(op, x, n / 2, inner, out);
  reduce_rows(op, x + n / 2 * inner, n - n / 2, inner, half.mutable_data<T>());
  zip(op, out, 1, half.data<T>(), 1, out, inner);
}

// The axes [begin, end) at once.
template <class T>
Tensor reduce_axes(Binary op, const Tensor& x, int begin, int end) {
  Index outer = x.shape().product(0, begin), n = x.shape().product(begin, end);
  Index inner = x.shape().product(end, x.rank());
  Shape shape = x.shape();
  for (int axis = begin; axis < end; ++axis) shape = shape.with(axis, 1);
  Tensor y(shape, x.dtype());
  const T* in = x.data<T>();
  T* out = y.mutable_data<T>();
  if (n == 0) std::fill_n(out, y.size(), T(0));
  for (Index i = 0; n > 0 && i < outer; ++i) {
    if (inner == 1) {
      out[i] = reduce_row(op, in + i * n, n);
    } else {
      reduce_rows(op, in + i * n * inner, n, inner, out + i * inner);
    }
  }
  return y;
}

}  // namespace

Tensor reduce(Binary op, const Tensor& x, const Shape& kept) {
  Tensor y = x;
  for (int end = x.rank(); end > 0;) {
    int begin = end - 1;
    while (begin > 0 && kept[begin] == 1 && kept[begin - 1] == 1) --begin;
    if (x.shape().product(begin, end) != kept.product(begin, end)) {
      y = visit(x.dtype(),
                [&](auto zero) { return reduce_axes<decltype(zero)>(op, y, begin, end); });
    }
    end = begin;
  }
  return y;
}

double sum_squares(const Tensor& x) {
  return visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    return simd::kernels<T>().sum_squares(x.data<T>(), x.size());
  });
}

namespace {

constexpr double lowest_squares = 1e-290;  // a sum of squares below may have lost digits

// f(row, n) of every row along the last axis.
template <class F>
Tensor map_rows(const Tensor& x, const F& f) {
  Tensor y(x.shape().without(-1), x.dtype());
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Index n = x.shape()[-1];
    const T* row = x.data<T>();
    T* out = y.mutable_data<T>();
    for (Index i = 0; i < y.size(); ++i, row += n) out[i] = static_cast<T>(f(row, n));
  });
  return y;
}

}  // namespace

Tensor log_sum_exp(const Tensor& x) {
  return map_rows(x, []<class T>(const T* row, Index n) {
    return simd::kernels<T>().log_sum_exp(row, n).high;
  });
}

Tensor norm(const Tensor& x) {
  return map_rows(x, []<class T>(const T* row, Index n) {
    auto& kernels = simd::kernels<T>();
    double squares = kernels.sum_squares(row, n);
    if (n == 0 || (squares >= lowest_squares && std::isfinite(squares))) return std::sqrt(squares);
    Tensor scaled({n}, dtype_of<T>());
    T* scratch = scaled.mutable_data<T>();
    kernels.map(Unary::abs, row, scratch, n);
    T largest = kernels.largest(scratch, n);
    if (largest == T(0) || !std::isfinite(largest)) return static_cast<double>(largest);
    for (Index i = 0; i < n; ++i) scratch[i] /= largest;
    return static_cast<double>(largest) * std::sqrt(kernels.sum_squares(scratch, n));
  });
}

namespace {

// Σ (x - mean)². The rounding of the mean is made good for: Σ (x - m)² - (Σ (x - m))² / n is right
// for any m near.
template <class T>
double sum_squared_deviations(const T* row, T* scratch, Index n) {
  auto& kernels = simd::kernels<T>();
  auto size = static_cast<double>(n);
  kernels.affine(row, T(1), -static_cast<T>(kernels.sum(row, n) / size), scratch, n);
  double off = kernels.sum(scratch, n);
  double squares = kernels.sum_squares(scratch, n) - off * off / size;
  return squares < 0 ? 0 : squares;  // by rounding; a NaN stays
}

}  // namespace

Tensor variance(const Tensor& x, double correction) {
  Tensor centred({x.shape()[-1]}, x.dtype());
  return map_rows(x, [&]<class T>(const T* row, Index n) {
    T* scratch = centred.mutable_data<T>();
    return sum_squared_deviations(row, scratch, n) / (static_cast<double>(n) - correction);
  });
}

Tensor standard_deviation(const Tensor& x, double correction) {
  Tensor centred({x.shape()[-1]}, x.dtype());
  return map_rows(x, [&]<class T>(const T* row, Index n) {
    T* scratch = centred.mutable_data<T>();
    double count = static_cast<double>(n) - correction;
    double squares = sum_squared_deviations(row, scratch, n);
    if (n == 0 || (squares >= lowest_squares && std::isfinite(squares))) {
      return std::sqrt(squares / count);
    }
    simd::kernels<T>().map(Unary::abs, row, scratch, n);
    T largest = simd::kernels<T>().largest(scratch, n);
    if (largest == T(0) || !std::isfinite(largest)) return static_cast<double>(largest - largest);
    // A power of two, which costs no digits of numbers that differ little.
    int exponent = std::ilogb(largest) + 1;
    for (Index i = 0; i < n; ++i) scratch[i] = std::ldexp(row[i], -exponent);
    squares = sum_squared_deviations(scratch, scratch, n);
    return std::ldexp(std::sqrt(squares / count), exponent);
  });
}

Tensor cumsum(const Tensor& x, int axis, bool from_end) {
  axis = require_axis(x.shape(), axis, "cumsum");
  Tensor y(x.shape(), x.dtype());
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Index n = x.shape()[axis], inner = x.shape().product(axis + 1, x.rank());
    const T* in = x.data<T>();
    T* out = y.mutable_data<T>();
    for (Index outer = 0; outer < x.size(); outer += n * inner) {
      for (Index step = 0; step < n; ++step) {
        Index at = outer + (from_end ? n - 1 - step : step) * inner;
        Index before = from_end ? at + inner : at - inner;
        for (Index i = 0; i < inner; ++i) {
          out[at + i] = step == 0 ? in[at + i] : out[before + i] + in[at + i];
        }
      }
    }
  });
  return y;
}

Range range(const Tensor& x) {
  Range range;
  range.low = range.high = std::numeric_limits<double>::quiet_NaN();
  visit(x.dtype(), [&](auto zero) {
    const auto* values = x.data<decltype(zero)>();
    for (Index i = 0; i < x.size(); ++i) {
      double value = values[i];
      if (!std::isfinite(value) && range.not_finite < 0) range.not_finite = i;
      if (std::isnan(value)) continue;
      if (!(value >= range.low)) range.low = value;
      if (!(value <= range.high)) range.high = value;
    }
  });
  return range;
}

}  // namespace regrad::ops
