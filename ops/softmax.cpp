#include "ops/softmax.h"

#include <algorithm>
#include <limits>

#include "ops/simd/kernels.h"

namespace regrad::ops {
namespace {

void require_rows(const Shape& shape, const RowMask& mask, const char* operation) {
  bool masked = mask.lengths || mask.causal;
  if (shape.rank() < (masked ? 2 : 1)) {
    fail("{}: shape {} has no rows{}", operation, shape,
         mask.causal    ? " [..., queries, keys]"
         : mask.lengths ? " [..., batch, time]"
                        : "");
  }
  if (mask.lengths) require_lengths(*mask.lengths, shape[-1], shape[-2], operation);
}

Index valid_entries(const Shape& shape, const RowMask& mask, Index row) {
  Index n = shape[-1];
  if (mask.causal) return std::clamp<Index>(row % shape[-2] + 1 + n - shape[-2], 0, n);
  return mask.lengths ? (*mask.lengths)[row % shape[-2]] : n;
}

// f(row of x, row of y, number of entries that take part); the others become 0.
template <class F>
Tensor by_rows(const Tensor& x, const RowMask& mask, const char* operation, const F& f) {
  require_rows(x.shape(), mask, operation);
  Tensor y(x.shape(), x.dtype());
  Index n = x.shape()[-1], rows = x.shape().product(0, x.rank() - 1);
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* in = x.data<T>();
    T* out = y.mutable_data<T>();
    for (Index row = 0; row < rows; ++row, in += n, out += n) {
      Index valid = valid_entries(x.shape(), mask, row);
      f(in, out, valid);
      std::fill(out + valid, out + n, T(0));
    }
  });
  return y;
}

template <class T>
void log_softmax_row(const T* x, T* y, Index n) {
  auto& kernels = simd::kernels<T>();
  simd::Shift<T> normaliser = kernels.log_sum_exp(x, n);
  // Nothing but -∞, the logarithms of 0, stays that.
  if (normaliser.high == -std::numeric_limits<T>::infinity()) normaliser = {};
  kernels.affine(x, T(1), -normaliser.high, y, n);
  kernels.affine(y, T(1), -normaliser.low, y, n);
}

}  // namespace

Tensor softmax(const Tensor& x, const RowMask& mask) {
  return by_rows(x, mask, "softmax", []<class T>(const T* in, T* out, Index n) {
    simd::kernels<T>().softmax(in, out, n);
  });
}

Tensor log_softmax(const Tensor& x, const RowMask& mask) {
  return by_rows(x, mask, "log_softmax",
                 [](const auto* in, auto* out, Index n) { log_softmax_row(in, out, n); });
}

Tensor keep_valid(const Tensor& x, const RowMask& mask) {
  return by_rows(x, mask, "keep_valid",
                 [](const auto* in, auto* out, Index n) { std::copy_n(in, n, out); });
}

}  // namespace regrad::ops
