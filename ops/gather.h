#pragma once

#include "ops/ids.h"
#include "ops/tensor.h"

namespace regrad::ops {

// PyTorch's: y has index's shape, and along axis 1, say, y[i, j, k] = x[i, index[i, j, k], k].
// index has x's rank and, but for the axis, no larger dimension. Throws Error for that and for an
// index outside of the axis.
Tensor gather(const Tensor& x, int axis, const Ids& index);
// x[i, index[i, j, k], k] += g[i, j, k]: the adjoint of gather.
void add_gathered(Tensor& x, const Tensor& g, int axis, const Ids& index);

// [..., classes]: 1 at the id, else 0. With lengths, ids are [T, B] and a padded position gives
// zeros. Throws Error for an id outside of [0, classes).
Tensor one_hot(const Ids& ids, const Lengths* lengths, Index classes, DType dtype);

}  // namespace regrad::ops
