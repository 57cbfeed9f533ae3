#pragma once

#include "ops/tensor.h"

namespace regrad::ops {

Tensor sum(const Tensor& x);            // of everything: rank 0
Tensor sum(const Tensor& x, int axis);  // keeps the axis, with size 1
// Σ x² in double, whatever the type: survives 1e20 in f32.
double sum_squares(const Tensor& x);
// Position of the largest entry of each row along the last axis; the first of equals. Throws Error
// for an empty axis.
std::vector<Index> argmax(const Tensor& x);

struct Range {
  double low = 0, high = 0;  // of the elements that are numbers
  Index not_finite = -1;     // position of the first NaN or infinity, -1 for none
};
Range range(const Tensor& x);

}  // namespace regrad::ops
