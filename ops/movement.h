#pragma once

#include <span>

#include "ops/ids.h"
#include "ops/tensor.h"

namespace regrad::ops {

// Axis i of the result is axis axes[i] of x. Throws Error unless axes is a permutation.
Tensor permute(const Tensor& x, const Shape& axes);
// Along an axis that may be the only one to differ.
Tensor concat(std::span<const Tensor> parts, int axis);
// Entries [begin, end) of one axis; rows of axis 0 are a view.
Tensor slice(const Tensor& x, int axis, Index begin, Index end);
// y[begin, …) += g along one axis: the adjoint of slice.
void add_slice(Tensor& y, const Tensor& g, int axis, Index begin);

// table [V, E], ids [...]: rows [..., E]. With lengths, ids are [T, B] and a padded position gives
// zeros. Throws Error for an id outside of the table.
Tensor gather_rows(const Tensor& table, const Ids& ids, const Lengths* lengths);
// table[ids] += g [..., E], padded positions left out: the adjoint of gather_rows.
void add_rows(Tensor& table, const Tensor& g, const Ids& ids, const Lengths* lengths);

// x [T, B, ...] with `value` at padded positions, whatever stood there.
Tensor masked_fill(const Tensor& x, const Lengths& lengths, double value);

}  // namespace regrad::ops
