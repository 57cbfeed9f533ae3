#pragma once

#include <span>
#include <string_view>

#include "ops/ids.h"
#include "ops/tensor.h"

namespace regrad {

// New entries before and after those of one axis.
struct Padding {
  int axis;
  Index before = 0, after = 0;
};

// How a window of `kernel` steps moves over time: `padding` zero steps on both sides, then by
// `stride`.
struct Conv1dOptions {
  Index stride = 1;
  Index padding = 0;
};

namespace ops {

// Backwards along the given axes. Throws Error for an axis given twice.
Tensor flip(const Tensor& x, std::span<const int> axes);
// x [T, B, ...] with each sequence backwards within its length; padding is not read and gives 0.
Tensor reverse(const Tensor& x, const Lengths& lengths);
// x within a larger tensor of `value`. Throws Error for a negative size or an axis given twice.
Tensor pad(const Tensor& x, std::span<const Padding> padding, double value);

// [T', B, kernel, C], the shape of the windows of x [T, B, C]. Throws Error, naming the operation,
// for another x and for a kernel, stride or padding that does not fit it.
Shape windows_shape(std::string_view operation, const Shape& x, Index kernel,
                    const Conv1dOptions& options);
// x [T, B, C]: the windows [T', B, kernel, C] with y[t, b, k] = x[t stride + k - padding, b], zero
// outside of x; T' = ⌊(T + 2 padding - kernel) / stride⌋ + 1.
Tensor unfold(const Tensor& x, Index kernel, const Conv1dOptions& options);
// x [T, B, C] += every window's steps where they came from: the adjoint of unfold.
void add_folded(Tensor& x, const Tensor& windows, const Conv1dOptions& options);

}  // namespace ops
}  // namespace regrad
