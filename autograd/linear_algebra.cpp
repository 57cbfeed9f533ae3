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

}  // namespace

Var matmul(const Var& a, const Var& b, Transpose a_transpose, Transpose b_transpose) {
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

Var linear(const Var& x, const Var& weight) {
  return record("linear", ops::linear(x.value(), weight.value(), nullptr),
                Edge{x, [weight, shape = x.shape()](
                            const Var& g) { return reshape(matmul(as_matrix(g), weight), shape); }},
                WeightEdge{weight, x});
}

Var linear(const Var& x, const Var& weight, const Var& bias) {
  return record("linear", ops::linear(x.value(), weight.value(), &bias.value()),
                Edge{x, [weight, shape = x.shape()](
                            const Var& g) { return reshape(matmul(as_matrix(g), weight), shape); }},
                WeightEdge{weight, x}, Edge{bias, [](const Var& g) { return g; }});
}

Var Recorder::Outer::operator()(const Var& g) const {
  return matmul(as_matrix(g), as_matrix(x), Trans, NoTrans);
}

}  // namespace regrad
