#include "ops/elementwise.h"

#include "autograd/functions.h"
#include "autograd/record.h"

namespace regrad {

using ops::Binary;
using ops::Unary;

Var add(const Var& a, const Var& b) {
  auto pass = [](const Var& g) { return g; };
  return record("add", ops::zip(Binary::add, a.value(), b.value()), Edge{a, pass}, Edge{b, pass});
}

Var sub(const Var& a, const Var& b) {
  return record("sub", ops::zip(Binary::sub, a.value(), b.value()),
                Edge{a, [](const Var& g) { return g; }},
                Edge{b, [](const Var& g) { return neg(g); }});
}

Var mul(const Var& a, const Var& b) {
  return record("mul", ops::zip(Binary::mul, a.value(), b.value()),
                Edge{a, [b](const Var& g) { return mul(g, b); }},
                Edge{b, [a](const Var& g) { return mul(g, a); }});
}

Var div(const Var& a, const Var& b) {
  return record("div", ops::zip(Binary::div, a.value(), b.value()),
                Edge{a, [b](const Var& g) { return div(g, b); }},
                Edge{b, [b](const Var& g, const Var& y) { return neg(mul(g, div(y, b))); }});
}

Var neg(const Var& x) {
  return record("neg", ops::map(Unary::neg, x.value()),
                Edge{x, [](const Var& g) { return neg(g); }});
}

Var affine(const Var& x, double scale, double shift) {
  return record("affine", ops::affine(x.value(), scale, shift),
                Edge{x, [scale](const Var& g) { return affine(g, scale, 0); }});
}

Var exp(const Var& x) {
  return record("exp", ops::map(Unary::exp, x.value()),
                Edge{x, [](const Var& g, const Var& y) { return mul(g, y); }});
}

Var log(const Var& x) {
  return record("log", ops::map(Unary::log, x.value()),
                Edge{x, [x](const Var& g) { return div(g, x); }});
}

Var square(const Var& x) {
  return record("square", ops::map(Unary::square, x.value()),
                Edge{x, [x](const Var& g) { return affine(mul(g, x), 2, 0); }});
}

Var sqrt(const Var& x) {
  return record("sqrt", ops::map(Unary::sqrt, x.value()),
                Edge{x, [](const Var& g, const Var& y) { return affine(div(g, y), 0.5, 0); }});
}

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

Var relu(const Var& x) {
  return record(
      "relu", ops::map(Unary::relu, x.value()),
      Edge{x, [x](const Var& g) { return mul(g, Var(ops::map(Unary::positive, x.value()))); }});
}

}  // namespace regrad
