#pragma once

#include <functional>

#include "autograd/tape.h"

// Derivatives of a function of one tensor, at a point. The function is called on a tape of its own
// and must be made of operations that can be differentiated as often as asked.
namespace regrad {

using TensorFunction = std::function<Var(const Var&)>;

// ∂y_i/∂x_j: the shape of y, then that of x. One backward pass for each element of y.
Tensor jacobian(const TensorFunction& f, const Tensor& x);
// ∂²y/∂x_i∂x_j of a one-element y: the shape of x twice. Throws Error for other y.
Tensor hessian(const TensorFunction& f, const Tensor& x);
// The Hessian times v, of x's shape, without the Hessian (Pearlmutter 1994).
Tensor hvp(const TensorFunction& f, const Tensor& x, const Tensor& v);
// The Jacobian times v, of x's shape: the derivative of f in the direction of v. Forward mode from
// two reverse passes, as the gradient is linear in what it is seeded with.
Tensor jvp(const TensorFunction& f, const Tensor& x, const Tensor& v);

}  // namespace regrad
