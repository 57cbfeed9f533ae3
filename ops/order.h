#pragma once

#include "ops/ids.h"
#include "ops/tensor.h"

namespace regrad::ops {

// A NaN counts as larger than any number; of equals the first comes first.

// Position of the largest entry along an axis, which goes. Throws Error for an empty axis.
Ids argmax(const Tensor& x, int axis);
// Positions of the k largest along an axis, largest first; the axis has k entries then. Throws
// Error unless 0 ≤ k ≤ its size.
Ids topk(const Tensor& x, Index k, int axis);

}  // namespace regrad::ops
