#pragma once

#include "ops/ids.h"
#include "ops/tensor.h"

// Sparse relatives of softmax over the last axis of x, or, with lengths, over the first lengths[b]
// entries of row (…, b) in [..., B, S]; the others are not read and give 0. A row of nothing, or of
// nothing but -∞, is all zeros; one with a NaN or +∞ is NaN. Both are exact: they sort what can be
// in the support.
namespace regrad::ops {

// max(x - τ, 0) with sum 1 (Martins and Astudillo 2016).
Tensor sparsemax(const Tensor& x, const Lengths* lengths = nullptr);
// 1.5-entmax: max(x/2 - τ, 0)² with sum 1 (Peters, Niculae and Martins 2019).
Tensor entmax(const Tensor& x, const Lengths* lengths = nullptr);

}  // namespace regrad::ops
