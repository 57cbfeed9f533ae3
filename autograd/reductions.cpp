#include <algorithm>
#include <utility>

#include "autograd/functions.h"
#include "autograd/record.h"
#include "ops/axis.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"

namespace regrad {

using ops::Binary;

namespace {

// What a reduction does to a shape.
struct Reduction {
  Shape kept;    // reduced axes are 1
  Shape result;  // reduced axes are gone, or 1
  Shape kept_axes, reduced_axes;
  Index count;  // elements per result
};

Reduction reduction(const char* name, const Shape& shape, std::initializer_list<int> axes,
                    bool keep_dims) {
  unsigned reduced = axes.size() == 0 ? ~0u : 0u;
  for (int axis : axes) {
    int positive = axis < 0 ? axis + shape.rank() : axis;
    if (positive < 0 || positive >= shape.rank()) {
      fail("{}: axis {} does not exist in shape {}", name, axis, shape);
    }
    if (reduced >> positive & 1u) fail("{}: axis {} of shape {} is named twice", name, axis, shape);
    reduced |= 1u << positive;
  }
  Reduction r{shape, {}, {}, {}, 1};
  for (int axis = 0; axis < shape.rank(); ++axis) {
    bool reduces = reduced >> axis & 1u;
    Shape& list = reduces ? r.reduced_axes : r.kept_axes;
    list = list.appended(axis);
    if (reduces) r.kept = r.kept.with(axis, 1);
    if (reduces) r.count *= shape[axis];
    if (keep_dims || !reduces) r.result = r.result.appended(r.kept[axis]);
  }
  return r;
}

void require_elements(const char* name, const Reduction& r, const Shape& shape) {
  if (r.count == 0) fail("{}: shape {} has nothing to reduce along the axes", name, shape);
}

Var fitted(const Var& x, const Shape& shape) { return x.shape() == shape ? x : reshape(x, shape); }

Var in_order(const Var& x, Shape axes, const Shape& more) {
  for (Index axis : more) axes = axes.appended(axis);
  bool sorted = std::is_sorted(axes.begin(), axes.end());
  return sorted ? x : permute(x, axes);
}

// x as [results, count].
Var as_rows(const Var& x, const Reduction& r) {
  return fitted(in_order(x, r.kept_axes, r.reduced_axes), {r.kept.size(), r.count});
}

Var extreme(const char* name, Binary op, const Var& x, const Reduction& r) {
  require_elements(name, r, x.shape());
  Tensor y = ops::reduce(op, x.value(), r.kept);
  return record(name, y.reshape(r.result),
                Edge{x, [x, y, kept = r.kept](const Var& g) {
                       Tensor best = ops::zip(Binary::equal, x.value(), y);
                       Tensor ties = ops::reduce(Binary::add, best, kept);
                       return mul(reshape(g, kept), Var(ops::zip(Binary::div, best, ties)));
                     }});
}

Var require_spread(const char* name, const Var& x, const Reduction& r, double correction) {
  if (!(static_cast<double>(r.count) > correction)) {
    fail("{}: shape {} has {} elements per result, too few for a correction of {}", name, x.shape(),
         r.count, correction);
  }
  return as_rows(x, r);
}

Var centred(const Var& rows) { return sub(rows, mean(rows, {-1}, true)); }

Var or_one(const Var& y) { return where(equal(y, 0), 1, y); }

}  // namespace

Var sum(const Var& x, std::initializer_list<int> axes, bool keep_dims) {
  Reduction r = reduction("sum", x.shape(), axes, keep_dims);
  return record("sum", ops::reduce(Binary::add, x.value(), r.kept).reshape(r.result),
                Edge{x, [kept = r.kept, shape = x.shape()](const Var& g) {
                       return expand(fitted(g, kept), shape);
                     }});
}

Var mean(const Var& x, std::initializer_list<int> axes, bool keep_dims) {
  Reduction r = reduction("mean", x.shape(), axes, keep_dims);
  require_elements("mean", r, x.shape());
  return affine(sum(x, axes, keep_dims), 1 / static_cast<double>(r.count), 0);
}

// A tree of products, so that zeros need no exception at any order.
Var prod(const Var& x, std::initializer_list<int> axes, bool keep_dims) {
  Reduction r = reduction("prod", x.shape(), axes, keep_dims);
  if (r.count == 0) return affine(sum(x, axes, keep_dims), 1, 1);
  Var y = fitted(in_order(x, r.reduced_axes, r.kept_axes), {r.count, r.kept.size()});
  for (Index n = r.count; n > 1; n = n / 2 + n % 2) {
    Index half = n / 2;
    Var products = mul(slice(y, 0, 0, half), slice(y, 0, half, 2 * half));
    y = n % 2 ? concat({products, slice(y, 0, n - 1)}, 0) : products;
  }
  return fitted(y, r.result);
}

Var max(const Var& x, std::initializer_list<int> axes, bool keep_dims) {
  return extreme("max", Binary::maximum, x, reduction("max", x.shape(), axes, keep_dims));
}

Var min(const Var& x, std::initializer_list<int> axes, bool keep_dims) {
  return extreme("min", Binary::minimum, x, reduction("min", x.shape(), axes, keep_dims));
}

Var variance(const Var& x, std::initializer_list<int> axes, bool keep_dims, double correction) {
  Reduction r = reduction("variance", x.shape(), axes, keep_dims);
  Var rows = require_spread("variance", x, r, correction);
  double factor = 2 / (static_cast<double>(r.count) - correction);
  Var y = record("variance", ops::variance(rows.value(), correction),
                 Edge{rows, [rows, factor](const Var& g) {
                        return mul(unsqueeze(affine(g, factor, 0), -1), centred(rows));
                      }});
  return fitted(y, r.result);
}

Var standard_deviation(const Var& x, std::initializer_list<int> axes, bool keep_dims,
                       double correction) {
  Reduction r = reduction("standard_deviation", x.shape(), axes, keep_dims);
  Var rows = require_spread("standard_deviation", x, r, correction);
  double factor = 1 / (static_cast<double>(r.count) - correction);
  Var y = record("standard_deviation", ops::standard_deviation(rows.value(), correction),
                 Edge{rows, [rows, factor](const Var& g, const Var& y) {
                        return mul(unsqueeze(affine(g, factor, 0), -1),
                                   div(centred(rows), unsqueeze(or_one(y), -1)));
                      }});
  return fitted(y, r.result);
}

Var norm(const Var& x, std::initializer_list<int> axes, bool keep_dims) {
  Reduction r = reduction("norm", x.shape(), axes, keep_dims);
  Var rows = as_rows(x, r);
  Var y = record("norm", ops::norm(rows.value()),
                 Edge{rows, [rows](const Var& g, const Var& y) {
                        return mul(unsqueeze(g, -1), div(rows, unsqueeze(or_one(y), -1)));
                      }});
  return fitted(y, r.result);
}

Var logsumexp(const Var& x, std::initializer_list<int> axes, bool keep_dims) {
  Reduction r = reduction("logsumexp", x.shape(), axes, keep_dims);
  Var rows = as_rows(x, r);
  Var y = record("logsumexp", ops::log_sum_exp(rows.value()),
                 Edge{rows, [rows](const Var& g) { return mul(unsqueeze(g, -1), softmax(rows)); }});
  return fitted(y, r.result);
}

Var cumsum(const Var& x, int axis, bool from_end) {
  return record("cumsum", ops::cumsum(x.value(), axis, from_end),
                Edge{x, [=](const Var& g) { return cumsum(g, axis, !from_end); }});
}

Var expand(const Var& x, const Shape& shape) {
  return record("expand", ops::expand(x.value(), shape),
                Edge{x, [from = x.shape()](const Var& g) { return sum_to(g, from); }});
}

Var expand(const Var& x, std::initializer_list<Index> dims) {
  return expand(x, require_shape("expand", [&] { return Shape(dims); }));
}

Var sum_to(const Var& x, const Shape& shape) {
  return record("sum_to", ops::sum_to(x.value(), shape),
                Edge{x, [from = x.shape()](const Var& g) { return expand(g, from); }});
}

}  // namespace regrad
