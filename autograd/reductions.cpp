#include "autograd/functions.h"
#include "autograd/record.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"

namespace regrad {

Var sum(const Var& x) {
  return record("sum", ops::sum(x.value()),
                Edge{x, [shape = x.shape()](const Var& g) { return expand(g, shape); }});
}

Var sum(const Var& x, std::initializer_list<int> axes, bool keep_dims) {
  Shape kept = x.shape();
  for (int axis : axes) kept = kept.with(axis, 1);
  Shape result = kept;
  if (!keep_dims) {
    unsigned summed = 0;
    for (int axis : axes) summed |= 1u << x.shape().normalise(axis);
    for (int axis = x.rank() - 1; axis >= 0; --axis) {
      if (summed >> axis & 1u) result = result.without(axis);
    }
  }
  return record(
      "sum", ops::sum_to(x.value(), kept).reshape(result),
      Edge{x, [kept, shape = x.shape()](const Var& g) { return expand(reshape(g, kept), shape); }});
}

Var mean(const Var& x) {
  if (x.size() == 0) fail("mean: shape {} has no elements", x.shape());
  return affine(sum(x), 1 / static_cast<double>(x.size()), 0);
}

Var mean(const Var& x, std::initializer_list<int> axes, bool keep_dims) {
  Var total = sum(x, axes, keep_dims);
  if (x.size() == 0) fail("mean: shape {} has no elements", x.shape());
  return affine(total, static_cast<double>(total.size()) / static_cast<double>(x.size()), 0);
}

Var expand(const Var& x, const Shape& shape) {
  return record("expand", ops::expand(x.value(), shape),
                Edge{x, [from = x.shape()](const Var& g) { return sum_to(g, from); }});
}

Var sum_to(const Var& x, const Shape& shape) {
  return record("sum_to", ops::sum_to(x.value(), shape),
                Edge{x, [from = x.shape()](const Var& g) { return expand(g, from); }});
}

}  // namespace regrad
