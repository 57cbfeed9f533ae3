#include "autograd/derivatives.h"

#include <algorithm>

#include "autograd/functions.h"
#include "ops/axis.h"

namespace regrad {
namespace {

Shape joined(const char* operation, const Shape& a, const Shape& b) {
  return require_shape(operation, [&] {
    Shape shape = a;
    for (Index dim : b) shape = shape.appended(dim);
    return shape;
  });
}

// Row i: the gradient of element i of y by x.
Tensor gradient_rows(const char* operation, const Var& y, const Var& x) {
  Shape shape = joined(operation, y.shape(), x.shape());
  Var flat = reshape(y, {y.size()});
  std::vector<Tensor> rows;
  for (Index i = 0; i < y.size(); ++i) {
    rows.push_back(y.watched() ? gradients(select(flat, 0, i), {x})[0].value()
                               : zeros(x.shape(), x.dtype()));
  }
  Tensor result(shape, x.dtype());
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* out = result.mutable_data<T>();
    for (const Tensor& row : rows) out = std::copy_n(row.data<T>(), row.size(), out);
  });
  return result;
}

void require_direction(const char* operation, const Tensor& x, const Tensor& v) {
  require_same_dtype(x, v, operation);
  if (!(x.shape() == v.shape())) {
    fail("{}: the vector has shape {}, the point {}", operation, v.shape(), x.shape());
  }
}

Var gradient_of_scalar(const char* operation, const TensorFunction& f, const Var& x) {
  Var y = f(x);
  if (y.size() != 1) fail("{}: the function gives shape {}, not one element", operation, y.shape());
  return y.watched() ? gradients(y, {x})[0] : Var(zeros(x.shape(), x.dtype()));
}

Tensor gradient_value(const Var& y, const Var& x) {
  return y.watched() ? gradients(y, {x})[0].value() : zeros(x.shape(), x.dtype());
}

}  // namespace

Tensor jacobian(const TensorFunction& f, const Tensor& x) {
  Tape tape;
  Var point = tape.variable(x);
  return gradient_rows("jacobian", f(point), point);
}

Tensor hessian(const TensorFunction& f, const Tensor& x) {
  Tape tape;
  Var point = tape.variable(x);
  return gradient_rows("hessian", gradient_of_scalar("hessian", f, point), point);
}

Tensor hvp(const TensorFunction& f, const Tensor& x, const Tensor& v) {
  require_direction("hvp", x, v);
  Tape tape;
  Var point = tape.variable(x);
  return gradient_value(sum(gradient_of_scalar("hvp", f, point) * Var(v)), point);
}

Tensor jvp(const TensorFunction& f, const Tensor& x, const Tensor& v) {
  require_direction("jvp", x, v);
  Tape tape;
  Var point = tape.variable(x);
  Var y = f(point);
  Var seed = tape.variable(zeros(y.shape(), y.dtype()));
  if (!y.watched()) return zeros(y.shape(), y.dtype());
  Var gradient = gradients(sum(y * seed), {point})[0];
  return gradient_value(sum(gradient * Var(v)), seed);
}

}  // namespace regrad
