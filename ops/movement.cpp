#include "ops/movement.h"

#include <algorithm>

#include "ops/axis.h"
#include "ops/simd/kernels.h"
#include "ops/strides.h"

namespace regrad::ops {

Tensor permute(const Tensor& x, const Shape& axes) {
  Strides own = contiguous_strides(x.shape()), strides{};
  std::array<Index, Shape::max_rank> dims{};
  unsigned seen = 0;
  for (int i = 0; i < std::min(axes.rank(), x.rank()); ++i) {
    if (axes[i] >= x.rank()) break;
    int axis = static_cast<int>(axes[i]);
    seen |= 1u << axis;
    dims[static_cast<std::size_t>(i)] = x.shape()[axis];
    strides[static_cast<std::size_t>(i)] = own[static_cast<std::size_t>(axis)];
  }
  if (axes.rank() != x.rank() || seen != (1u << x.rank()) - 1) {
    fail("permute: {} is no permutation of the axes of shape {}", axes, x.shape());
  }
  Tensor y(Shape(std::span<const Index>(dims.data(), static_cast<std::size_t>(x.rank()))),
           x.dtype());
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* in = x.data<T>();
    T* out = y.mutable_data<T>();
    for_each_run(y.shape(), strides, contiguous_strides(y.shape()),
                 [&](Index i, Index j, Index step, Index, Index n) {
                   for (Index k = 0; k < n; ++k) out[j + k] = in[i + k * step];
                 });
  });
  return y;
}

Tensor concat(std::span<const Tensor> parts, int axis) {
  if (parts.empty()) fail("concat: there is nothing to concatenate");
  axis = require_axis(parts[0].shape(), axis, "concat");
  Index length = 0;
  for (const Tensor& part : parts) {
    require_same_dtype(part, parts[0], "concat");
    if (part.rank() != parts[0].rank() ||
        !(part.shape().with(axis, 0) == parts[0].shape().with(axis, 0))) {
      fail("concat: shapes {} and {} differ elsewhere than at axis {}", parts[0].shape(),
           part.shape(), axis);
    }
    length += part.shape()[axis];
  }
  Tensor y(parts[0].shape().with(axis, length), parts[0].dtype());
  visit(y.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* out = y.mutable_data<T>();
    Index inner = y.shape().product(axis + 1, y.rank());
    for (Index i = 0; i < y.shape().product(0, axis); ++i) {
      for (const Tensor& part : parts) {
        Index run = part.shape()[axis] * inner;
        out = std::copy_n(part.data<T>() + i * run, run, out);
      }
    }
  });
  return y;
}

Tensor slice(const Tensor& x, int axis, Index begin, Index end) {
  axis = require_axis(x.shape(), axis, "slice");
  if (begin < 0 || end < begin || end > x.shape()[axis]) {
    fail("slice: [{}, {}) is outside of axis {} of shape {}", begin, end, axis, x.shape());
  }
  if (axis == 0) return x.narrow(begin, end);
  Tensor y(x.shape().with(axis, end - begin), x.dtype());
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Index inner = x.shape().product(axis + 1, x.rank());
    Index stride = x.shape()[axis] * inner;
    T* out = y.mutable_data<T>();
    for (Index i = 0; i < x.shape().product(0, axis); ++i) {
      out = std::copy_n(x.data<T>() + i * stride + begin * inner, (end - begin) * inner, out);
    }
  });
  return y;
}

void add_slice(Tensor& y, const Tensor& g, int axis, Index begin) {
  require_same_dtype(y, g, "unslice");
  axis = require_axis(y.shape(), axis, "unslice");
  if (g.rank() != y.rank() || !(g.shape().with(axis, 0) == y.shape().with(axis, 0)) || begin < 0 ||
      begin > y.shape()[axis] - g.shape()[axis]) {
    fail("unslice: {} does not fit at {} of axis {} of shape {}", g.shape(), begin, axis,
         y.shape());
  }
  if (g.size() == 0) return;
  visit(g.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Index inner = y.shape().product(axis + 1, y.rank());
    Index run = g.shape()[axis] * inner, stride = y.shape()[axis] * inner;
    T* out = y.mutable_data<T>() + begin * inner;
    for (Index i = 0; i < y.shape().product(0, axis); ++i) {
      simd::kernels<T>().accumulate(out + i * stride, g.data<T>() + i * run, T(1), run);
    }
  });
}

namespace {

// f(position, id) for every id that is not padding.
template <class F>
void for_each_valid(const Ids& ids, const Lengths* lengths, const F& f) {
  for (Index i = 0; i < ids.size(); ++i) {
    if (lengths && !lengths->valid(i / lengths->batch(), i % lengths->batch())) continue;
    f(i, Index{ids[i]});
  }
}

// The shape of the rows that are taken from the table.
Shape require_rows(std::string_view operation, const Tensor& table, const Ids& ids,
                   const Lengths* lengths) {
  if (table.rank() != 2) {
    fail("{}: the table has shape {}, not [rows, columns]", operation, table.shape());
  }
  if (lengths) {
    if (ids.shape().rank() != 2) {
      fail("{}: ids {} with lengths are [time, batch]", operation, ids.shape());
    }
    require_lengths(*lengths, ids.shape()[0], ids.shape()[1], operation);
  }
  for_each_valid(ids, lengths, [&](Index position, Index id) {
    if (id < 0 || id >= table.shape()[0]) {
      fail("{}: id {} at position {} of ids {} is outside of the table's {} rows", operation, id,
           position, ids.shape(), table.shape()[0]);
    }
  });
  return require_shape(operation, [&] { return ids.shape().appended(table.shape()[1]); });
}

}  // namespace

Tensor gather_rows(const Tensor& table, const Ids& ids, const Lengths* lengths) {
  Tensor y(require_rows("rows", table, ids, lengths), table.dtype());
  Index columns = table.shape()[1];
  visit(table.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* in = table.data<T>();
    T* out = y.mutable_data<T>();
    if (lengths && lengths->has_padding()) std::fill_n(out, y.size(), T(0));
    for_each_valid(ids, lengths, [&](Index position, Index id) {
      std::copy_n(in + id * columns, columns, out + position * columns);
    });
  });
  return y;
}

void add_rows(Tensor& table, const Tensor& g, const Ids& ids, const Lengths* lengths) {
  const Shape rows = require_rows("scatter_rows", table, ids, lengths);
  require_same_dtype(table, g, "scatter_rows");
  if (!(g.shape() == rows)) {
    fail("scatter_rows: {} does not fit ids {} and table {}", g.shape(), ids.shape(),
         table.shape());
  }
  visit(g.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* in = g.data<T>();
    T* out = table.mutable_data<T>();
    Index columns = table.shape()[1];
    for_each_valid(ids, lengths, [&](Index position, Index id) {
      simd::kernels<T>().accumulate(out + id * columns, in + position * columns, T(1), columns);
    });
  });
}

Tensor masked_fill(const Tensor& x, const Lengths& lengths, double value) {
  if (x.rank() < 2) fail("masked_fill: shape {} is not [time, batch, …]", x.shape());
  require_lengths(lengths, x.shape()[0], x.shape()[1], "masked_fill");
  if (!lengths.has_padding()) return x;
  Tensor y(x.shape(), x.dtype());
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* in = x.data<T>();
    T* out = y.mutable_data<T>();
    Index batch = lengths.batch(), inner = x.shape().product(2, x.rank());
    for (Index row = 0; row < lengths.time() * batch; ++row, in += inner, out += inner) {
      if (lengths.valid(row / batch, row % batch)) {
        std::copy_n(in, inner, out);
      } else {
        std::fill_n(out, inner, static_cast<T>(value));
      }
    }
  });
  return y;
}

}  // namespace regrad::ops
