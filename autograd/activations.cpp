#include <numbers>

#include "autograd/functions.h"
#include "autograd/record.h"
#include "ops/elementwise.h"

namespace regrad {

using ops::Binary;
using ops::Unary;

Var tanh(const Var& x) {
  return record(
      "tanh", ops::map(Unary::tanh, x.value()),
      Edge{x, [](const Var& g, const Var& y) { return mul(g, affine(square(y), -1, 1)); }});
}

Var sigmoid(const Var& x) {
  return record(
      "sigmoid", ops::map(Unary::sigmoid, x.value()),
      Edge{x, [](const Var& g, const Var& y) { return mul(g, mul(y, affine(y, -1, 1))); }});
}

Var log_sigmoid(const Var& x) {
  return record("log_sigmoid", ops::map(Unary::log_sigmoid, x.value()),
                Edge{x, [x](const Var& g) { return mul(g, sigmoid(neg(x))); }});
}

Var softplus(const Var& x) {
  return record("softplus", ops::map(Unary::softplus, x.value()),
                Edge{x, [x](const Var& g) { return mul(g, sigmoid(x)); }});
}

Var relu(const Var& x) {
  return record(
      "relu", ops::map(Unary::relu, x.value()),
      Edge{x, [x](const Var& g) { return mul(g, Var(ops::map(Unary::positive, x.value()))); }});
}

Var leaky_relu(const Var& x, double slope) {
  return record(
      "leaky_relu", ops::zip(Binary::leaky_relu, x.value(), slope),
      Edge{x, [x, slope](const Var& g) { return where(greater(x, 0), g, affine(g, slope, 0)); }});
}

Var elu(const Var& x, double alpha) {
  return record("elu", ops::zip(Binary::elu, x.value(), alpha),
                Edge{x, [x, alpha](const Var& g) {
                       Tensor above = greater(x, 0);
                       Var below = affine(exp(where(above, 0, x)), alpha, 0);
                       return mul(g, where(above, 1, below));
                     }});
}

Var gelu(const Var& x) {
  return record("gelu", ops::map(Unary::gelu, x.value()),
                Edge{x, [x](const Var& g) {
                       constexpr double root_half = std::numbers::sqrt2 / 2;
                       Var distribution = affine(erf(affine(x, root_half, 0)), 0.5, 0.5);
                       Var density = affine(exp(affine(square(x), -0.5, 0)),
                                            root_half * std::numbers::inv_sqrtpi, 0);
                       return mul(g, add(distribution, mul(x, density)));
                     }});
}

Var silu(const Var& x) { return mul(x, sigmoid(x)); }

}  // namespace regrad
