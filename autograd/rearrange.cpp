#include "ops/rearrange.h"

#include <algorithm>

#include "autograd/functions.h"
#include "autograd/record.h"
#include "ops/axis.h"

namespace regrad {

Var squeeze(const Var& x) {
  Shape shape = x.shape();
  for (int axis = x.rank() - 1; axis >= 0; --axis) {
    if (shape[axis] == 1) shape = shape.without(axis);
  }
  return reshape(x, shape);
}

Var squeeze(const Var& x, int axis) {
  axis = require_axis(x.shape(), axis, "squeeze");
  if (x.shape()[axis] != 1) {
    fail("squeeze: axis {} of shape {} has size {}, not 1", axis, x.shape(), x.shape()[axis]);
  }
  return reshape(x, x.shape().without(axis));
}

Var unsqueeze(const Var& x, int axis) {
  axis = require_new_axis(x.shape(), axis, "unsqueeze");
  return reshape(x, require_shape("unsqueeze", [&] { return x.shape().inserted(axis, 1); }));
}

std::vector<Var> split(const Var& x, Index parts, int axis) {
  Index length = x.shape()[require_axis(x.shape(), axis, "split")];
  if (parts < 1 || parts > std::max<Index>(length, 1) || length % parts != 0) {
    fail("split: axis {} of shape {} does not fall into {} equal parts", axis, x.shape(), parts);
  }
  return split(x, std::vector<Index>(static_cast<std::size_t>(parts), length / parts), axis);
}

std::vector<Var> split(const Var& x, std::span<const Index> sizes, int axis) {
  Index length = x.shape()[require_axis(x.shape(), axis, "split")], begin = 0;
  for (Index size : sizes) {
    if (size < 0 || size > length - begin) {
      fail("split: {} entries from {} on are not in axis {} of shape {}", size, begin, axis,
           x.shape());
    }
    begin += size;
  }
  if (begin != length) {
    fail("split: the sizes add up to {}, axis {} of shape {} has {}", begin, axis, x.shape(),
         length);
  }
  std::vector<Var> parts;
  begin = 0;
  for (Index size : sizes) {
    parts.push_back(slice(x, axis, begin, begin + size));
    begin += size;
  }
  return parts;
}

std::vector<Var> split(const Var& x, std::initializer_list<Index> sizes, int axis) {
  return split(x, std::span(sizes.begin(), sizes.size()), axis);
}

namespace {

Var flip(const Var& x, const std::vector<int, PoolAllocator<int>>& axes) {
  return record("flip", ops::flip(x.value(), axes),
                Edge{x, [axes](const Var& g) { return flip(g, axes); }});
}

}  // namespace

Var flip(const Var& x, std::initializer_list<int> axes) {
  return flip(x, std::vector<int, PoolAllocator<int>>(axes));
}

Var reverse(const Var& x, const Lengths& lengths) {
  return record("reverse", ops::reverse(x.value(), lengths),
                Edge{x, [lengths](const Var& g) { return reverse(g, lengths); }});
}

Var pad(const Var& x, std::initializer_list<Padding> padding, double value) {
  std::vector<Padding, PoolAllocator<Padding>> parts(padding);
  return record("pad", ops::pad(x.value(), parts, value),
                Edge{x, [parts, shape = x.shape()](const Var& g) {
                       Var inner = g;
                       for (const auto& [axis, before, after] : parts) {
                         inner = slice(inner, axis, before, before + shape[axis]);
                       }
                       return inner;
                     }});
}

Var unfold(const Var& x, Index kernel, const Conv1dOptions& options) {
  return record(
      "unfold", ops::unfold(x.value(), kernel, options),
      AddingEdge{x, [shape = x.shape(), options](const Var& g) { return fold(g, shape, options); },
                 [options](const Tensor& g, Tensor& sum) { ops::add_folded(sum, g, options); }});
}

Var fold(const Var& windows, const Shape& shape, const Conv1dOptions& options) {
  Tensor y = zeros(shape, windows.dtype());
  ops::add_folded(y, windows.value(), options);
  return record("fold", std::move(y),
                Edge{windows, [kernel = windows.shape()[2], options](const Var& g) {
                       return unfold(g, kernel, options);
                     }});
}

namespace {

// The windows of x as rows [T', B, K C_in], and the weight [C_out, C_in, K] as one over them.
Var conv1d(const Var& x, const Var& weight, const Var* bias, const Conv1dOptions& options) {
  if (x.rank() != 3 || weight.rank() != 3 || x.shape()[2] != weight.shape()[1]) {
    fail(
        "conv1d: input {} and weight {} do not fit; they are [time, batch, channels] and "
        "[channels out, channels in, kernel]",
        x.shape(), weight.shape());
  }
  require_same_dtype(x.value(), weight.value(), "conv1d");
  if (bias) {
    require_same_dtype(x.value(), bias->value(), "conv1d");
    if (!(bias->shape() == Shape{weight.shape()[0]})) {
      fail("conv1d: bias {} does not fit weight {}; it is [channels out]", bias->shape(),
           weight.shape());
    }
  }
  ops::windows_shape("conv1d", x.shape(), weight.shape()[2], options);
  Var windows = unfold(x, weight.shape()[2], options);
  Index columns = weight.shape()[1] * weight.shape()[2];
  Var rows = reshape(windows, Shape{windows.shape()[0], windows.shape()[1], columns});
  Var matrix = reshape(permute(weight, {0, 2, 1}), Shape{weight.shape()[0], columns});
  return bias ? linear(rows, matrix, *bias) : linear(rows, matrix);
}

}  // namespace

Var conv1d(const Var& x, const Var& weight, const Conv1dOptions& options) {
  return conv1d(x, weight, nullptr, options);
}

Var conv1d(const Var& x, const Var& weight, const Var& bias, const Conv1dOptions& options) {
  return conv1d(x, weight, &bias, options);
}

}  // namespace regrad
