#include "ops/movement.h"

#include <algorithm>
#include <optional>

#include <fmt/ranges.h>

#include "autograd/functions.h"
#include "autograd/record.h"
#include "ops/axis.h"

namespace regrad {
namespace {

std::vector<Tensor> values_of(std::span<const Var> parts) {
  std::vector<Tensor> values;
  values.reserve(parts.size());
  for (const Var& part : parts) values.push_back(part.value());
  return values;
}

Index position(const Var& x, int axis, Index i, const char* operation) {
  return i < 0 ? i + x.shape()[require_axis(x.shape(), axis, operation)] : i;
}

}  // namespace

Var reshape(const Var& x, const Shape& shape) {
  return record("reshape", x.value().reshape(shape),
                Edge{x, [from = x.shape()](const Var& g) { return reshape(g, from); }});
}

Var reshape(const Var& x, std::initializer_list<Index> dims) {
  auto open = std::count(dims.begin(), dims.end(), -1);
  if (open == 0) return reshape(x, require_shape("reshape", [&] { return Shape(dims); }));
  if (open > 1) fail("reshape: more than one -1 in [{}]", fmt::join(dims, ", "));
  std::vector<Index, PoolAllocator<Index>> sizes(dims);
  Index& wanted = *std::find(sizes.begin(), sizes.end(), -1);
  wanted = 1;
  Index known = require_shape("reshape", [&] { return Shape(sizes); }).size();
  if (known == 0 || x.size() % known != 0) {
    fail("reshape: shape {} leaves no size for the -1 in [{}]", x.shape(), fmt::join(dims, ", "));
  }
  wanted = x.size() / known;
  return reshape(x, Shape(sizes));
}

Var permute(const Var& x, const Shape& axes) {
  return record("permute", ops::permute(x.value(), axes),
                Edge{x, [axes](const Var& g) {
                       Shape inverse = axes;
                       for (int i = 0; i < axes.rank(); ++i) {
                         inverse = inverse.with(static_cast<int>(axes[i]), i);
                       }
                       return permute(g, inverse);
                     }});
}

Var permute(const Var& x, std::initializer_list<Index> axes) {
  const auto fits = [&](Index axis) { return axis >= 0 && axis < x.rank(); };
  if (static_cast<int>(axes.size()) != x.rank() || !std::ranges::all_of(axes, fits)) {
    fail("permute: [{}] is no permutation of the axes of shape {}", fmt::join(axes, ", "),
         x.shape());
  }
  return permute(x, Shape(axes));
}

Var transpose(const Var& x, int axis_a, int axis_b) {
  const int a = require_axis(x.shape(), axis_a, "transpose");
  const int b = require_axis(x.shape(), axis_b, "transpose");
  Shape axes = x.shape();
  for (int i = 0; i < x.rank(); ++i) axes = axes.with(i, i == a ? b : i == b ? a : i);
  return permute(x, axes);
}

Var concat(std::span<const Var> parts, int axis) {
  Tensor value = ops::concat(values_of(parts), axis);
  std::vector<Index> begins{0};
  for (const Var& part : parts) begins.push_back(begins.back() + part.shape()[axis]);
  return record_each("concat", std::move(value), parts, [&](std::size_t i) {
    return [axis, begin = begins[i], end = begins[i + 1]](const Var& g) {
      return slice(g, axis, begin, end);
    };
  });
}

Var concat(std::initializer_list<Var> parts, int axis) {
  return concat(std::span(parts.begin(), parts.size()), axis);
}

Var stack(std::span<const Var> parts, int axis) {
  if (parts.empty()) fail("stack: there is nothing to stack");
  const int at = require_new_axis(parts[0].shape(), axis, "stack");
  const Shape row = require_shape("stack", [&] { return parts[0].shape().inserted(at, 1); });
  std::vector<Tensor> values = values_of(parts);
  for (Tensor& value : values) {
    require_same_dtype(value, parts[0].value(), "stack");
    if (!(value.shape() == parts[0].shape())) {
      fail("stack: shapes {} and {} differ", parts[0].shape(), value.shape());
    }
    value = value.reshape(row);
  }
  return record_each("stack", ops::concat(values, at), parts, [at](std::size_t i) {
    return [at, i](const Var& g) { return select(g, at, static_cast<Index>(i)); };
  });
}

Var stack(std::initializer_list<Var> parts, int axis) {
  return stack(std::span(parts.begin(), parts.size()), axis);
}

Var slice(const Var& x, int axis, Index begin, Index end) {
  begin = position(x, axis, begin, "slice");
  return record(
      "slice", ops::slice(x.value(), axis, begin, position(x, axis, end, "slice")),
      AddingEdge{
          x,
          [shape = x.shape(), axis, begin](const Var& g) { return unslice(g, shape, axis, begin); },
          [axis, begin](const Tensor& g, Tensor& sum) { ops::add_slice(sum, g, axis, begin); }});
}

Var slice(const Var& x, int axis, Index begin) {
  return slice(x, axis, begin, x.shape()[require_axis(x.shape(), axis, "slice")]);
}

Var unslice(const Var& x, const Shape& shape, int axis, Index begin) {
  Tensor y = zeros(shape, x.dtype());
  ops::add_slice(y, x.value(), axis, begin);
  return record("unslice", std::move(y),
                Edge{x, [axis, begin, end = begin + x.shape()[axis]](const Var& g) {
                       return slice(g, axis, begin, end);
                     }});
}

Var select(const Var& x, int axis, Index i) {
  axis = require_axis(x.shape(), axis, "select");
  const Index at = position(x, axis, i, "select");
  if (at < 0 || at >= x.shape()[axis]) {
    fail("select: position {} is not in axis {} of shape {}", i, axis, x.shape());
  }
  return reshape(slice(x, axis, at, at + 1), x.shape().without(axis));
}

namespace {

Var rows(const Var& table, const Ids& ids, const std::optional<Lengths>& lengths);

Var scatter_rows(const Var& g, const Ids& ids, const std::optional<Lengths>& lengths,
                 const Shape& table) {
  Tensor y = zeros(table, g.dtype());
  ops::add_rows(y, g.value(), ids, lengths ? &*lengths : nullptr);
  return record("scatter_rows", std::move(y),
                Edge{g, [ids, lengths](const Var& h) { return rows(h, ids, lengths); }});
}

Var rows(const Var& table, const Ids& ids, const std::optional<Lengths>& lengths) {
  return record("rows", ops::gather_rows(table.value(), ids, lengths ? &*lengths : nullptr),
                AddingEdge{table,
                           [ids, lengths, shape = table.shape()](const Var& g) {
                             return scatter_rows(g, ids, lengths, shape);
                           },
                           [ids, lengths](const Tensor& g, Tensor& sum) {
                             ops::add_rows(sum, g, ids, lengths ? &*lengths : nullptr);
                           }});
}

}  // namespace

Var rows(const Var& table, const Ids& ids) { return rows(table, ids, std::optional<Lengths>{}); }
Var rows(const Var& table, const Ids& ids, const Lengths& lengths) {
  return rows(table, ids, std::optional(lengths));
}
Var scatter_rows(const Var& g, const Ids& ids, const Shape& table) {
  return scatter_rows(g, ids, std::optional<Lengths>{}, table);
}
Var scatter_rows(const Var& g, const Ids& ids, const Lengths& lengths, const Shape& table) {
  return scatter_rows(g, ids, std::optional(lengths), table);
}

Var masked_fill(const Var& x, const Lengths& lengths, double value) {
  return record("masked_fill", ops::masked_fill(x.value(), lengths, value),
                Edge{x, [lengths](const Var& g) { return masked_fill(g, lengths, 0); }});
}

}  // namespace regrad
