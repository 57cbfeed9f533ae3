#include "ops/layer_norm.h"

#include <cmath>

#include "ops/simd/kernels.h"

namespace regrad::ops {
namespace {

void require_affine(const Tensor& x, const Tensor* part, const char* name) {
  if (!part) return;
  require_same_dtype(x, *part, "layer_norm");
  if (!(part->shape() == Shape{x.shape()[-1]})) {
    fail("layer_norm: {} {} does not fit the last axis of input {}", name, part->shape(),
         x.shape());
  }
}

// sqrt(Σ x² / n); f64 beyond 1e154 has no square.
template <class T>
double root_mean_square(const T* x, Index n) {
  double squares = simd::kernels<T>().sum_squares(x, n) / static_cast<double>(n);
  if (std::isfinite(squares)) return std::sqrt(squares);
  double top = 0;
  for (Index i = 0; i < n; ++i) top = std::fmax(top, std::fabs(static_cast<double>(x[i])));
  squares = 0;
  for (Index i = 0; i < n; ++i) squares += (x[i] / top) * (x[i] / top) / static_cast<double>(n);
  return top * std::sqrt(squares);
}

// y = x - mean. The mean has digits that a T has not.
template <class T>
void subtract(const T* x, double mean, T* y, Index n) {
  T high = static_cast<T>(mean), low = static_cast<T>(mean - high);
  simd::kernels<T>().affine(x, T(1), -high, y, n);
  simd::kernels<T>().affine(y, T(1), -low, y, n);
}

// The mean and the deviation of one row, which also leaves x - mean in y.
template <class T>
std::pair<double, double> centre(const T* x, T* y, Index n) {
  auto& kernels = simd::kernels<T>();
  double count = static_cast<double>(n), mean = kernels.sum(x, n) / count;
  subtract(x, mean, y, n);
  mean += kernels.sum(y, n) / count;  // what rounding left in the sum
  subtract(x, mean, y, n);
  return {mean, root_mean_square(y, n)};
}

}  // namespace

LayerNorm layer_norm(const Tensor& x, const Tensor* weight, const Tensor* bias, double epsilon) {
  if (x.rank() < 1 || x.shape()[-1] == 0) {
    fail("layer_norm: shape {} has nothing along its last axis", x.shape());
  }
  require_positive("layer_norm", "epsilon", epsilon, x.dtype());
  require_affine(x, weight, "weight");
  require_affine(x, bias, "bias");
  Index n = x.shape()[-1], rows = x.size() / n;
  LayerNorm result{Tensor(x.shape(), x.dtype()),
                   {Tensor({rows}, DType::f64), Tensor({rows}, DType::f64)}};
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    auto& kernels = simd::kernels<T>();
    const T* in = x.data<T>();
    T* out = result.y.mutable_data<T>();
    double* means = result.moments.mean.mutable_data<double>();
    double* scales = result.moments.scale.mutable_data<double>();
    for (Index row = 0; row < rows; ++row, in += n, out += n) {
      auto [mean, deviation] = centre(in, out, n);
      means[row] = mean;
      scales[row] = 1 / std::hypot(deviation, std::sqrt(epsilon));
      kernels.affine(out, static_cast<T>(scales[row]), T(0), out, n);
      if (weight) kernels.zip(Binary::mul, out, 1, weight->data<T>(), 1, out, n);
      if (bias) kernels.zip(Binary::add, out, 1, bias->data<T>(), 1, out, n);
    }
  });
  return result;
}

// With z the normalised row and h = g w: scale (h - mean(h) - z mean(h z)).
void layer_norm_backward(const Tensor& g, const Tensor& x, const Tensor* weight,
                         const RowMoments& moments, const LayerNormGradients& gradients) {
  Index n = x.shape()[-1], rows = x.size() / n;
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    auto& kernels = simd::kernels<T>();
    Tensor row_of_z({n}, x.dtype()), row_of_h({n}, x.dtype());
    T *z = row_of_z.mutable_data<T>(), *h = row_of_h.mutable_data<T>();
    T* g_x = gradients.x ? gradients.x->mutable_data<T>() : nullptr;
    T* g_weight = gradients.weight ? gradients.weight->mutable_data<T>() : nullptr;
    T* g_bias = gradients.bias ? gradients.bias->mutable_data<T>() : nullptr;
    for (Index row = 0; row < rows; ++row) {
      const T* g_row = g.data<T>() + row * n;
      T scale = static_cast<T>(moments.scale.data<double>()[row]);
      subtract(x.data<T>() + row * n, moments.mean.data<double>()[row], z, n);
      kernels.affine(z, scale, T(0), z, n);
      if (g_bias) kernels.accumulate(g_bias, g_row, T(1), n);
      if (g_weight) {
        kernels.zip(Binary::mul, g_row, 1, z, 1, h, n);
        kernels.accumulate(g_weight, h, T(1), n);
      }
      if (!g_x) continue;
      const T one = 1;
      kernels.zip(Binary::mul, g_row, 1, weight ? weight->data<T>() : &one, weight ? 1 : 0, h, n);
      T along = kernels.dot(h, z, n) / static_cast<T>(n);
      kernels.affine(h, T(1), -kernels.sum(h, n) / static_cast<T>(n), h, n);
      kernels.accumulate(h, z, -along, n);
      kernels.accumulate(g_x + row * n, h, scale, n);
    }
  });
}

}  // namespace regrad::ops
