#include "ops/elementwise.h"

#include <limits>
#include <numbers>

#include "autograd/functions.h"
#include "autograd/record.h"

namespace regrad {

using ops::Binary;
using ops::Unary;

Var add(const Var& a, const Var& b) {
  return record("add", ops::zip(Binary::add, a.value(), b.value()), PassEdge{a}, PassEdge{b});
}

Var sub(const Var& a, const Var& b) {
  return record("sub", ops::zip(Binary::sub, a.value(), b.value()), PassEdge{a},
                Edge{b, [](const Var& g) { return neg(g); }});
}

namespace {

// g b, in g's storage where nothing records.
Var times(Var&& g, const Var& b) {
  if (Tape::active()) return mul(g, b);
  return zip_into(Binary::mul, std::move(g), b.value());
}

}  // namespace

Var mul(const Var& a, const Var& b) {
  Tensor value = ops::zip(Binary::mul, a.value(), b.value());
  if (!Tape::active()) return value;  // in most pullbacks: spares the captures
  return record("mul", std::move(value), Edge{a, [b](Var&& g) { return times(std::move(g), b); }},
                Edge{b, [a](Var&& g) { return times(std::move(g), a); }});
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
                Edge{x, [](Var&& g, const Var& y) { return times(std::move(g), y); }});
}

Var exp2(const Var& x) {
  constexpr double ln2 = std::numbers::ln2;
  return record("exp2", ops::zip(Binary::pow, scalar(2, x.dtype()), x.value()),
                Edge{x, [](const Var& g, const Var& y) { return affine(mul(g, y), ln2, 0); }});
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

Var abs(const Var& x) {
  return record(
      "abs", ops::map(Unary::abs, x.value()),
      Edge{x, [x](const Var& g) { return mul(g, Var(ops::map(Unary::sign, x.value()))); }});
}

Var rsqrt(const Var& x) {
  return record("rsqrt", ops::map(Unary::rsqrt, x.value()),
                Edge{x, [](const Var& g, const Var& y) {
                       return affine(mul(mul(g, y), square(y)), -0.5, 0);
                     }});
}

Var reciprocal(const Var& x) {
  return record("reciprocal", ops::map(Unary::reciprocal, x.value()),
                Edge{x, [](const Var& g, const Var& y) { return neg(mul(g, square(y))); }});
}

Var expm1(const Var& x) {
  return record("expm1", ops::map(Unary::expm1, x.value()),
                Edge{x, [x](const Var& g) { return mul(g, exp(x)); }});
}

Var log1p(const Var& x) {
  return record("log1p", ops::map(Unary::log1p, x.value()),
                Edge{x, [x](const Var& g) { return div(g, affine(x, 1, 1)); }});
}

Var sin(const Var& x) {
  return record("sin", ops::map(Unary::sin, x.value()),
                Edge{x, [x](const Var& g) { return mul(g, cos(x)); }});
}

Var cos(const Var& x) {
  return record("cos", ops::map(Unary::cos, x.value()),
                Edge{x, [x](const Var& g) { return neg(mul(g, sin(x))); }});
}

Var erf(const Var& x) {
  return record("erf", ops::map(Unary::erf, x.value()),
                Edge{x, [x](const Var& g) {
                       return mul(g, affine(exp(neg(square(x))), 2 * std::numbers::inv_sqrtpi, 0));
                     }});
}

Var pow(const Var& x, double exponent) {
  if (exponent == 2) return square(x);
  return record("pow", ops::zip(Binary::pow, x.value(), exponent),
                Edge{x, [x, exponent](const Var& g) {
                       if (exponent == 0) return Var(zeros(g.shape(), g.dtype()));
                       return affine(mul(g, pow(x, exponent - 1)), exponent, 0);
                     }});
}

namespace {

// Where b a^(b - 1) is 0 by its limit, though a^(b - 1) is no number.
Tensor vanishes(const Tensor& a, const Tensor& b) {
  double largest = visit(
      a.dtype(), [](auto zero) { return double{std::numeric_limits<decltype(zero)>::max()}; });
  Tensor inverse = ops::map(Unary::abs, ops::map(Unary::reciprocal, a));
  return ops::zip(Binary::greater, ops::zip(Binary::equal, b, 0),
                  ops::zip(Binary::less_equal, inverse, largest));
}

// Where aᵇ log a is 0 by its limit, though log a is none.
Tensor vanishes_by_exponent(const Tensor& a, const Tensor& b) {
  return ops::zip(Binary::mul, ops::zip(Binary::equal, a, 0),
                  ops::zip(Binary::greater_equal, b, 0));
}

}  // namespace

Var pow(const Var& a, const Var& b) {
  return record("pow", ops::zip(Binary::pow, a.value(), b.value()),
                Edge{a,
                     [a, b](const Var& g) {
                       Var exponent = where(vanishes(a.value(), b.value()), 0, affine(b, 1, -1));
                       return mul(g, mul(b, pow(a, exponent)));
                     }},
                Edge{b, [a, b](const Var& g, const Var& y) {
                       Var base = where(vanishes_by_exponent(a.value(), b.value()), 1, a);
                       return mul(g, mul(y, log(base)));
                     }});
}

}  // namespace regrad
