#pragma once

#include <span>

#include "ops/packed.h"
#include "ops/tensor.h"

namespace regrad {

namespace ops {

// a [..., M, K] @ b [..., K, N] after the transposes of the last two axes; leading dimensions
// broadcast. Throws Error naming both shapes.
Tensor matmul(const Tensor& a, const Tensor& b, Transpose a_transpose = NoTrans,
              Transpose b_transpose = NoTrans);

// x [..., I], weight [O, I], bias [O] or nullptr: x Wᵀ + b. `packed`, of few rows of x only: Wᵀ.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor* bias,
              const Packed* packed = nullptr);
// g [..., O] -> g W [..., I], the gradient of x. `packed`: W.
Tensor linear_backward(const Tensor& g, const Tensor& weight, const Packed* packed = nullptr);
// Rows of x [..., I] as a matrix.
inline Index rows_of(const Tensor& x) { return x.shape().product(0, x.rank() - 1); }

// One term gᵀ x of a weight's gradient: g [..., O], x [..., I].
struct OuterProduct {
  Tensor g, x;
};
// Σ gᵀ x over all terms, [O, I], as one product over their rows laid end to end. Throws Error for
// no terms, and for terms of different types or sizes.
Tensor sum_outer_products(std::span<const OuterProduct> terms);
// Adds that to a sum. Throws Error for one of another size or type, too.
void add_outer_products(std::span<const OuterProduct> terms, Tensor& sum);

}  // namespace ops
}  // namespace regrad
