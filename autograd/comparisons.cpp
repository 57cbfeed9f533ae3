#include "autograd/functions.h"
#include "autograd/record.h"
#include "ops/elementwise.h"
#include "ops/order.h"

namespace regrad {

using ops::Binary;

Tensor greater(const Var& a, const Var& b) {
  return ops::zip(Binary::greater, a.value(), b.value());
}
Tensor greater(const Var& a, double b) { return ops::zip(Binary::greater, a.value(), b); }
Tensor greater_equal(const Var& a, const Var& b) {
  return ops::zip(Binary::greater_equal, a.value(), b.value());
}
Tensor greater_equal(const Var& a, double b) {
  return ops::zip(Binary::greater_equal, a.value(), b);
}
Tensor less(const Var& a, const Var& b) { return ops::zip(Binary::less, a.value(), b.value()); }
Tensor less(const Var& a, double b) { return ops::zip(Binary::less, a.value(), b); }
Tensor less_equal(const Var& a, const Var& b) {
  return ops::zip(Binary::less_equal, a.value(), b.value());
}
Tensor less_equal(const Var& a, double b) { return ops::zip(Binary::less_equal, a.value(), b); }
Tensor equal(const Var& a, const Var& b) { return ops::zip(Binary::equal, a.value(), b.value()); }
Tensor equal(const Var& a, double b) { return ops::zip(Binary::equal, a.value(), b); }
Tensor not_equal(const Var& a, const Var& b) {
  return ops::zip(Binary::not_equal, a.value(), b.value());
}
Tensor not_equal(const Var& a, double b) { return ops::zip(Binary::not_equal, a.value(), b); }

Var minimum(const Var& a, const Var& b) {
  return record("minimum", ops::zip(Binary::minimum, a.value(), b.value()),
                Edge{a,
                     [a, b](const Var& g) {
                       return mul(g, Var(ops::zip(Binary::share, a.value(), b.value())));
                     }},
                Edge{b, [a, b](const Var& g) {
                       return mul(g, Var(ops::zip(Binary::share, b.value(), a.value())));
                     }});
}

Var maximum(const Var& a, const Var& b) {
  return record("maximum", ops::zip(Binary::maximum, a.value(), b.value()),
                Edge{a,
                     [a, b](const Var& g) {
                       return mul(g, Var(ops::zip(Binary::share, b.value(), a.value())));
                     }},
                Edge{b, [a, b](const Var& g) {
                       return mul(g, Var(ops::zip(Binary::share, a.value(), b.value())));
                     }});
}

Var minimum(const Var& x, double c) { return minimum(x, scalar(c, x.dtype())); }
Var maximum(const Var& x, double c) { return maximum(x, scalar(c, x.dtype())); }

Var clamp(const Var& x, double low, double high) {
  if (!(low <= high)) fail("clamp: {} to {} is no range", low, high);
  return record("clamp", ops::clamp(x.value(), low, high),
                Edge{x, [x, low, high](const Var& g) {
                       Tensor inside =
                           ops::zip(Binary::mul, greater_equal(x, low), less_equal(x, high));
                       return where(inside, g, 0);
                     }});
}

Var where(const Tensor& condition, const Var& a, const Var& b) {
  return record("where", ops::where(condition, a.value(), b.value()),
                Edge{a, [condition](const Var& g) { return where(condition, g, 0); }},
                Edge{b, [condition](const Var& g) { return where(condition, 0, g); }});
}

Var where(const Tensor& condition, const Var& a, double b) {
  return where(condition, a, scalar(b, a.dtype()));
}

Var where(const Tensor& condition, double a, const Var& b) {
  return where(condition, scalar(a, b.dtype()), b);
}

Ids argmax(const Var& x, int axis) { return ops::argmax(x.value(), axis); }

TopK topk(const Var& x, Index k, int axis) {
  Ids indices = ops::topk(x.value(), k, axis);
  return {gather(x, axis, indices), indices};
}

}  // namespace regrad
