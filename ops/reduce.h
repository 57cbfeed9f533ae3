#pragma once

#include "ops/simd/kernels.h"
#include "ops/tensor.h"

namespace regrad::ops {

// Over every axis that is 1 in `kept`, a shape of x's rank that has x's size elsewhere: add,
// minimum or maximum; these two keep NaN and need at least one element to choose from.
Tensor reduce(Binary op, const Tensor& x, const Shape& kept);
// Σ x² in double, whatever the type: survives 1e20 in f32.
double sum_squares(const Tensor& x);

// Over the last axis, which goes; x has rank 1 or more.
Tensor log_sum_exp(const Tensor& x);  // -∞ over nothing
Tensor norm(const Tensor& x);         // (Σ x²)^½, whatever the scale of x
// Σ (x - mean)² / (n - correction); the caller sees to n > correction.
Tensor variance(const Tensor& x, double correction);
Tensor standard_deviation(const Tensor& x, double correction);  // whatever the scale of x

// y[i] = Σ_{k ≤ i} x[k] along an axis, or Σ_{k ≥ i}.
Tensor cumsum(const Tensor& x, int axis, bool from_end);

struct Range {
  double low = 0, high = 0;  // of the elements that are numbers; NaN where none is
  Index not_finite = -1;     // position of the first NaN or infinity, -1 for none
};
Range range(const Tensor& x);

}  // namespace regrad::ops
