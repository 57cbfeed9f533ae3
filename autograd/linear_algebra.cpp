#include "autograd/functions.h"
#include "autograd/record.h"
#include "ops/matmul.h"

namespace regrad {
namespace {

Transpose flip(Transpose transpose) { return transpose == Trans ? NoTrans : Trans; }

// [..., N] as [rows, N].
Var as_matrix(const Var& x) {
  return x.rank() == 2 ? x : reshape(x, {x.shape().product(0, x.rank() - 1), x.shape()[-1]});
}

Var vector_product(const Var& a, const Var& b, Transpose a_transpose, Transpose b_transpose) {
  Index columns = a.shape()[-1], rows = b.shape()[b.rank() == 1 ? 0 : -2];
  if ((a.rank() == 1 && a_transpose == Trans) || (b.rank() == 1 && b_transpose == Trans)) {
    fail("matmul: {} @ {}: a vector has no transpose", a.shape(), b.shape());
  }
  if (a_transpose == Trans) columns = a.shape()[-2];
  if (b_transpose == Trans) rows = b.shape()[-1];
  if (columns != rows) {
    fail("matmul: inner dimensions differ: {} @ {}", a.shape(), b.shape());
  }
  Var y = matmul(a.rank() == 1 ? unsqueeze(a, 0) : a, b.rank() == 1 ? unsqueeze(b, 1) : b,
                 a_transpose, b_transpose);
  if (b.rank() == 1) y = squeeze(y, -1);
  return a.rank() == 1 ? squeeze(y, b.rank() == 1 ? -1 : -2) : y;
}

}  // namespace

Var matmul(const Var& a, const Var& b, Transpose a_transpose, Transpose b_transpose) {
  if (a.rank() > 0 && b.rank() > 0 && (a.rank() == 1 || b.rank() == 1)) {
    return vector_product(a, b, a_transpose, b_transpose);
  }
  if (a.rank() > 2 && b.rank() == 2 && a_transpose == NoTrans) {  // one product over all rows
    Var y = matmul(as_matrix(a), b, NoTrans, b_transpose);
    return reshape(y, a.shape().with(-1, y.shape()[1]));
  }
  return record("matmul", ops::matmul(a.value(), b.value(), a_transpose, b_transpose),
                Edge{a,
                     [b, a_transpose, b_transpose](const Var& g) {
                       return a_transpose == Trans ? matmul(b, g, b_transpose, Trans)
                                                   : matmul(g, b, NoTrans, flip(b_transpose));
                     }},
                Edge{b, [a, a_transpose, b_transpose](const Var& g) {
                       return b_transpose == Trans ? matmul(g, a, Trans, a_transpose)
                                                   : matmul(a, g, flip(a_transpose), NoTrans);
                     }});
}

Var dot(const Var& a, const Var& b) {
  if (a.rank() != 1 || !(a.shape() == b.shape())) {
    fail("dot: {} and {} are no vectors of one size", a.shape(), b.shape());
  }
  require_same_dtype(a.value(), b.value(), "dot");
  return matmul(a, b);
}

Var outer(const Var& a, const Var& b) {
  if (a.rank() != 1 || b.rank() != 1) fail("outer: {} and {} are no vectors", a.shape(), b.shape());
  require_same_dtype(a.value(), b.value(), "outer");
  return matmul(unsqueeze(a, 1), unsqueeze(b, 0));
}

namespace {

const ops::Packed* packed(const Var& x, const Var& weight) {
  return detail::packed(weight.value(), Trans, ops::rows_of(x.value()));
}

}  // namespace

Var linear(const Var& x, const Var& weight) {
  return record("linear", ops::linear(x.value(), weight.value(), nullptr, packed(x, weight)),
                ProductEdge{x, weight}, WeightEdge{weight, x});
}

Var linear(const Var& x, const Var& weight, const Var& bias) {
  return record("linear", ops::linear(x.value(), weight.value(), &bias.value(), packed(x, weight)),
                ProductEdge{x, weight}, WeightEdge{weight, x}, PassEdge{bias});
}

Var Recorder::Outer::operator()(Var&& g) const {
  return matmul(as_matrix(g), as_matrix(x), Trans, NoTrans);
}

Var Recorder::Product::operator()(Var&& g) const {
  return reshape(matmul(as_matrix(g), w), g.shape().with(-1, w.shape()[1]));
}

}  // namespace regrad
