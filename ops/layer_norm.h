#pragma once

#include "ops/tensor.h"

namespace regrad::ops {

struct RowMoments {
  Tensor mean, scale;  // of each row, f64: (x - mean) scale is the normalised row
};
struct LayerNorm {
  Tensor y;
  RowMoments moments;
};
// (x - mean) / sqrt(variance + epsilon) over the last axis of x [..., N], times weight [N] plus
// bias [N], either of which may be nullptr. Throws Error for an empty axis, other shapes, mixed
// types and an epsilon that is not above 0 as an element of the type.
LayerNorm layer_norm(const Tensor& x, const Tensor* weight, const Tensor* bias, double epsilon);

// Its gradients, each added in place unless nullptr.
struct LayerNormGradients {
  Tensor *x, *weight, *bias;
};
void layer_norm_backward(const Tensor& g, const Tensor& x, const Tensor* weight,
                         const RowMoments& moments, const LayerNormGradients& gradients);

}  // namespace regrad::ops
