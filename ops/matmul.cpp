#include "ops/matmul.h"

#include <algorithm>

#include "ops/strides.h"

namespace regrad::ops {
namespace {

struct Operand {
  const Tensor& tensor;
  Transpose transpose;
  Index rows() const { return tensor.shape()[transpose == Trans ? -1 : -2]; }
  Index columns() const { return tensor.shape()[transpose == Trans ? -2 : -1]; }
  Index stride() const { return std::max<Index>(tensor.shape()[-1], 1); }
  std::string describe() const {
    return to_string(tensor.shape()) + (transpose == Trans ? "ᵀ" : "");
  }
};

Shape leading(const Shape& shape) {
  return Shape(std::span(shape.begin(), static_cast<std::size_t>(shape.rank() - 2)));
}

void require_product(const Operand& a, const Operand& b) {
  require_same_dtype(a.tensor, b.tensor, "matmul");
  if (a.tensor.rank() < 2 || b.tensor.rank() < 2) {
    fail("matmul: {} @ {}: both need two dimensions or more; reshape a vector to a row or a column",
         a.tensor.shape(), b.tensor.shape());
  }
  if (a.columns() != b.rows()) {
    fail("matmul: inner dimensions differ: {} @ {}", a.describe(), b.describe());
  }
}

template <class T>
void multiply_batches(const Operand& a, const Operand& b, Tensor& c) {
  Index m = a.rows(), n = b.columns(), k = a.columns();
  T* out = c.mutable_data<T>();
  const T *u = a.tensor.data<T>(), *v = b.tensor.data<T>();
  if (b.tensor.rank() == 2 && a.transpose == NoTrans) {  // one product over all rows
    Index rows = n ? c.size() / n : 0;
    return gemm(NoTrans, b.transpose, rows, n, k, u, a.stride(), v, b.stride(), T(0), out,
                std::max<Index>(n, 1));
  }
  Shape batch = leading(c.shape());
  for_each_run(batch, broadcast_strides(leading(a.tensor.shape()), batch),
               broadcast_strides(leading(b.tensor.shape()), batch),
               [&](Index i, Index j, Index a_step, Index b_step, Index count) {
                 for (Index r = 0; r < count; ++r, out += m * n) {
                   gemm(a.transpose, b.transpose, m, n, k, u + (i + r * a_step) * m * k, a.stride(),
                        v + (j + r * b_step) * k * n, b.stride(), T(0), out, std::max<Index>(n, 1));
                 }
               });
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b, Transpose a_transpose, Transpose b_transpose) {
  Operand left{a, a_transpose}, right{b, b_transpose};
  require_product(left, right);
  Shape batch = broadcast(leading(a.shape()), leading(b.shape()), "matmul");
  Tensor c(batch.appended(left.rows()).appended(right.columns()), a.dtype());
  visit(a.dtype(), [&](auto zero) { multiply_batches<decltype(zero)>(left, right, c); });
  return c;
}

namespace {

template <class T>
void multiply_rows(const Tensor& x, const Tensor& weight, Transpose transpose, const Packed* packed,
                   const Tensor* bias, Tensor& y) {
  const Index k = x.shape()[-1], n = y.shape()[-1];
  multiply(x.data<T>(), std::max<Index>(k, 1), rows_of(x), weight.data<T>(),
           std::max<Index>(weight.shape()[1], 1), transpose, packed, n, k,
           Addend<T>{.bias = bias ? bias->data<T>() : nullptr}, y.mutable_data<T>(),
           std::max<Index>(n, 1));
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor* bias, const Packed* packed) {
  require_same_dtype(x, weight, "linear");
  if (weight.rank() != 2 || x.rank() < 1 || x.shape()[-1] != weight.shape()[1]) {
    fail("linear: input {} does not fit weight {} (outputs, inputs)", x.shape(), weight.shape());
  }
  if (bias && !(bias->shape() == Shape{weight.shape()[0]})) {
    fail("linear: bias {} does not fit weight {}", bias->shape(), weight.shape());
  }
  if (bias) require_same_dtype(x, *bias, "linear");
  const Index outputs = weight.shape()[0];
  Tensor y(x.shape().with(-1, outputs), x.dtype());
  visit(x.dtype(),
        [&](auto zero) { multiply_rows<decltype(zero)>(x, weight, Trans, packed, bias, y); });
  return y;
}

Tensor linear_backward(const Tensor& g, const Tensor& weight, const Packed* packed) {
  Tensor g_x(g.shape().with(-1, weight.shape()[1]), g.dtype());
  visit(g.dtype(), [&](auto zero) {
    multiply_rows<decltype(zero)>(g, weight, NoTrans, packed, nullptr, g_x);
  });
  return g_x;
}

namespace {

Tensor as_matrix(const Tensor& x) {
  Index columns = x.shape()[-1];
  return x.reshape({x.shape().product(0, x.rank() - 1), columns});
}

Shape shape_of_sum(std::span<const OuterProduct> terms, const char* operation) {
  if (terms.empty()) fail("{}: there is nothing to sum", operation);
  const Shape sum{terms[0].g.shape()[-1], terms[0].x.shape()[-1]};
  for (auto& [g, x] : terms) {
    require_same_dtype(terms[0].g, g, operation);
    require_same_dtype(terms[0].g, x, operation);
    if (!(Shape{g.shape()[-1], x.shape()[-1]} == sum) ||
        !(g.shape().without(-1) == x.shape().without(-1))) {
      fail("{}: {} and {} do not fit a sum of shape {}", operation, g.shape(), x.shape(), sum);
    }
  }
  return sum;
}

template <class T>
Tensor stack_rows(std::span<const OuterProduct> terms, Tensor OuterProduct::*member) {
  Index rows = 0, columns = (terms[0].*member).shape()[-1];
  for (auto& term : terms) rows += as_matrix(term.*member).shape()[0];
  Tensor result({rows, columns}, dtype_of<T>());
  T* out = result.mutable_data<T>();
  for (auto& term : terms) {
    out = std::copy_n((term.*member).template data<T>(), (term.*member).size(), out);
  }
  return result;
}

template <class T>
void multiply_terms(std::span<const OuterProduct> terms, bool add, Tensor& sum) {
  const bool one = terms.size() == 1;
  const Tensor g = one ? as_matrix(terms[0].g) : stack_rows<T>(terms, &OuterProduct::g);
  const Tensor x = one ? as_matrix(terms[0].x) : stack_rows<T>(terms, &OuterProduct::x);
  const Index rows = g.shape()[0], outputs = g.shape()[1], inputs = x.shape()[1];
  gemm(Trans, NoTrans, outputs, inputs, rows, g.data<T>(), std::max<Index>(outputs, 1), x.data<T>(),
       std::max<Index>(inputs, 1), T(add), sum.mutable_data<T>(), std::max<Index>(inputs, 1));
}

void multiply_terms(std::span<const OuterProduct> terms, bool add, Tensor& sum) {
  visit(sum.dtype(), [&](auto zero) { multiply_terms<decltype(zero)>(terms, add, sum); });
}

}  // namespace

Tensor sum_outer_products(std::span<const OuterProduct> terms) {
  const Shape shape = shape_of_sum(terms, "sum_outer_products");
  Tensor sum(shape, terms[0].g.dtype());
  multiply_terms(terms, false, sum);
  return sum;
}

void add_outer_products(std::span<const OuterProduct> terms, Tensor& sum) {
  const Shape shape = shape_of_sum(terms, "add_outer_products");
  require_same_dtype(terms[0].g, sum, "add_outer_products");
  if (!(shape == sum.shape())) {
    fail("add_outer_products: terms of shape {} do not fit a sum of shape {}", shape, sum.shape());
  }
  multiply_terms(terms, true, sum);
}

}  // namespace regrad::ops
