#pragma once

#include "ops/simd/kernels.h"
#include "ops/tensor.h"

namespace regrad::ops {

// One value per element, by a SIMD kernel.
Tensor map(Unary op, const Tensor& x);
// With broadcasting. Throws Error, naming the operation, for shapes that do not fit and mixed
// types.
Tensor zip(Binary op, const Tensor& a, const Tensor& b);
Tensor zip(Binary op, const Tensor& a, double b);
// a where the condition is not 0 (a NaN is not), else b; with broadcasting. Throws Error as zip.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor clamp(const Tensor& x, double low, double high);      // min(max(x, low), high), keeps NaN
Tensor affine(const Tensor& x, double scale, double shift);  // scale x + shift
// a = op(a, b), in a's storage where nobody else sees it.
void zip_into(Binary op, Tensor& a, const Tensor& b);
// y += factor x, of one shape.
void accumulate(Tensor& y, const Tensor& x, double factor = 1);
void scale(Tensor& y, double factor);  // in place

// x with its size-1 dimensions repeated, as broadcasting does.
Tensor expand(const Tensor& x, const Shape& shape);
// Its adjoint: sums over the dimensions that `shape` lacks or has as 1.
Tensor sum_to(const Tensor& x, const Shape& shape);

}  // namespace regrad::ops
