#include <numbers>

#include "autograd/functions.h"
#include "autograd/record.h"
#include "ops/elementwise.h"

namespace regrad {

using ops::Binary;
using ops::Unary;

namespace {

// The gradients in one pass each, as functions that can be differentiated again. They mostly run
// while nothing records: what the edges capture, though cheap, would then cost more than the rest.
Var tanh_backward(Var&& g, const Var& y) {  // g (1 - y²)
  if (!Tape::active()) return zip_into(Binary::tanh_backward, std::move(g), y.value());
  return record("tanh_backward", ops::zip(Binary::tanh_backward, g.value(), y.value()),
                Edge{g, [y](const Var& gg) { return tanh_backward(Var(gg), y); }},
                Edge{y, [g, y](const Var& gg) { return mul(mul(gg, g), affine(y, -2, 0)); }});
}

Var sigmoid_backward(Var&& g, const Var& y) {  // g y (1 - y)
  if (!Tape::active()) return zip_into(Binary::sigmoid_backward, std::move(g), y.value());
  return record("sigmoid_backward", ops::zip(Binary::sigmoid_backward, g.value(), y.value()),
                Edge{g, [y](const Var& gg) { return sigmoid_backward(Var(gg), y); }},
                Edge{y, [g, y](const Var& gg) { return mul(mul(gg, g), affine(y, -2, 1)); }});
}

Var relu_backward(Var&& g, const Tensor& x) {  // x > 0 ? g : 0
  if (!Tape::active()) return zip_into(Binary::relu_backward, std::move(g), x);
  return record("relu_backward", ops::zip(Binary::relu_backward, g.value(), x),
                Edge{g, [x](const Var& gg) { return relu_backward(Var(gg), x); }});
}

}  // namespace

Var tanh(const Var& x) {
  return record("tanh", ops::map(Unary::tanh, x.value()),
                Edge{x, [](Var&& g, const Var& y) { return tanh_backward(std::move(g), y); }});
}

Var sigmoid(const Var& x) {
  return record("sigmoid", ops::map(Unary::sigmoid, x.value()),
                Edge{x, [](Var&& g, const Var& y) { return sigmoid_backward(std::move(g), y); }});
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
  return record("relu", ops::map(Unary::relu, x.value()),
                Edge{x, [x](Var&& g) { return relu_backward(std::move(g), x.value()); }});
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
