#include "ops/gather.h"

#include "ops/axis.h"
#include "ops/strides.h"

namespace regrad::ops {
namespace {

void require_index(const Shape& shape, int axis, const Ids& index, const char* operation) {
  bool fits = index.shape().rank() == shape.rank();
  for (int i = 0; fits && i < shape.rank(); ++i) fits = i == axis || index.shape()[i] <= shape[i];
  if (!fits) {
    fail("{}: index {} does not fit shape {}: but for axis {} it may be no larger", operation,
         index.shape(), shape, axis);
  }
  for (Index i = 0; i < index.size(); ++i) {
    if (index[i] < 0 || index[i] >= shape[axis]) {
      fail("{}: {} at position {} of index {} is outside of axis {} of shape {}", operation,
           index[i], i, index.shape(), axis, shape);
    }
  }
}

// f(offset in x, position in index) for every entry of index.
template <class F>
void for_each_gathered(const Shape& shape, int axis, const Ids& index, const F& f) {
  Strides strides = contiguous_strides(shape);
  Index axis_stride = strides[static_cast<std::size_t>(axis)];
  strides[static_cast<std::size_t>(axis)] = 0;
  for_each_run(index.shape(), strides, contiguous_strides(index.shape()),
               [&](Index i, Index j, Index step, Index, Index n) {
                 for (Index k = 0; k < n; ++k) f(i + k * step + index[j + k] * axis_stride, j + k);
               });
}

}  // namespace

Tensor gather(const Tensor& x, int axis, const Ids& index) {
  axis = require_axis(x.shape(), axis, "gather");
  require_index(x.shape(), axis, index, "gather");
  Tensor y(index.shape(), x.dtype());
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* in = x.data<T>();
    T* out = y.mutable_data<T>();
    for_each_gathered(x.shape(), axis, index, [&](Index i, Index j) { out[j] = in[i]; });
  });
  return y;
}

void add_gathered(Tensor& x, const Tensor& g, int axis, const Ids& index) {
  require_same_dtype(x, g, "scatter_add");
  axis = require_axis(x.shape(), axis, "scatter_add");
  require_index(x.shape(), axis, index, "scatter_add");
  if (!(g.shape() == index.shape())) {
    fail("scatter_add: {} values do not fit index {}", g.shape(), index.shape());
  }
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* in = g.data<T>();
    T* out = x.mutable_data<T>();
    for_each_gathered(x.shape(), axis, index, [&](Index i, Index j) { out[i] += in[j]; });
  });
}

Tensor one_hot(const Ids& ids, const Lengths* lengths, Index classes, DType dtype) {
  if (lengths) {
    if (ids.shape().rank() != 2) {
      fail("one_hot: ids {} with lengths are [time, batch]", ids.shape());
    }
    require_lengths(*lengths, ids.shape()[0], ids.shape()[1], "one_hot");
  }
  Tensor y = zeros(require_shape("one_hot", [&] { return ids.shape().appended(classes); }), dtype);
  visit(dtype, [&](auto zero) {
    using T = decltype(zero);
    T* out = y.mutable_data<T>();
    for (Index i = 0; i < ids.size(); ++i) {
      if (lengths && !lengths->valid(i / lengths->batch(), i % lengths->batch())) continue;
      if (ids[i] < 0 || ids[i] >= classes) {
        fail("one_hot: id {} at position {} of ids {} is outside of the {} classes", ids[i], i,
             ids.shape(), classes);
      }
      out[i * classes + ids[i]] = T(1);
    }
  });
  return y;
}

}  // namespace regrad::ops
