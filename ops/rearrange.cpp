#include "ops/rearrange.h"

#include <algorithm>

#include "ops/axis.h"
#include "ops/strides.h"

namespace regrad::ops {
namespace {

constexpr Index most = Index{1} << 60;  // sums of a few cannot overflow

// Marks an axis as seen and returns it counted from the front. Throws Error if it was seen before.
int once(unsigned& seen, const Shape& shape, int axis, const char* operation) {
  int positive = require_axis(shape, axis, operation);
  if (seen >> positive & 1u) fail("{}: axis {} of shape {} is given twice", operation, axis, shape);
  seen |= 1u << positive;
  return positive;
}

}  // namespace

Tensor flip(const Tensor& x, std::span<const int> axes) {
  Strides strides = contiguous_strides(x.shape());
  Index first = 0;
  unsigned seen = 0;
  for (int axis : axes) {
    axis = once(seen, x.shape(), axis, "flip");
    Index& stride = strides[static_cast<std::size_t>(axis)];
    first += (x.shape()[axis] - 1) * stride;
    stride = -stride;
  }
  Tensor y(x.shape(), x.dtype());
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* in = x.data<T>();
    T* out = y.mutable_data<T>();
    for_each_run(x.shape(), strides, contiguous_strides(x.shape()),
                 [&](Index i, Index j, Index step, Index, Index n) {
                   for (Index k = 0; k < n; ++k) out[j + k] = in[first + i + k * step];
                 });
  });
  return y;
}

Tensor reverse(const Tensor& x, const Lengths& lengths) {
  if (x.rank() < 2) fail("reverse: shape {} is not [time, batch, …]", x.shape());
  require_lengths(lengths, x.shape()[0], x.shape()[1], "reverse");
  Tensor y(x.shape(), x.dtype());
  Index batch = lengths.batch(), inner = x.shape().product(2, x.rank());
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* in = x.data<T>();
    T* out = y.mutable_data<T>();
    for (Index t = 0; t < lengths.time(); ++t) {
      for (Index b = 0; b < batch; ++b, out += inner) {
        if (lengths.valid(t, b)) {
          std::copy_n(in + ((lengths[b] - 1 - t) * batch + b) * inner, inner, out);
        } else {
          std::fill_n(out, inner, T(0));
        }
      }
    }
  });
  return y;
}

Tensor pad(const Tensor& x, std::span<const Padding> padding, double value) {
  Shape shape = x.shape(), before = x.shape();
  for (int axis = 0; axis < before.rank(); ++axis) before = before.with(axis, 0);
  unsigned seen = 0;
  for (const Padding& part : padding) {
    int axis = once(seen, x.shape(), part.axis, "pad");
    if (part.before < 0 || part.after < 0 || std::max(part.before, part.after) > most) {
      fail("pad: {} before and {} after axis {}; to take entries away use slice", part.before,
           part.after, part.axis);
    }
    shape = require_shape("pad", [&] {
      before = before.with(axis, part.before);
      return shape.with(axis, part.before + shape[axis] + part.after);
    });
  }
  Tensor y = full(shape, value, x.dtype());
  Strides strides = contiguous_strides(shape);
  Index first = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    first += before[axis] * strides[static_cast<std::size_t>(axis)];
  }
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* in = x.data<T>();
    T* out = y.mutable_data<T>();
    for_each_run(x.shape(), contiguous_strides(x.shape()), strides,
                 [&](Index i, Index j, Index, Index step, Index n) {
                   for (Index k = 0; k < n; ++k) out[first + j + k * step] = in[i + k];
                 });
  });
  return y;
}

namespace {

// f(offset of a step of x, offset of that step in its window) for every one that is within x;
// offsets in rows of C numbers.
template <class F>
void for_each_window_step(const Shape& x, const Shape& windows, const Conv1dOptions& options,
                          const F& f) {
  Index batch = windows[1], kernel = windows[2];
  for (Index start = 0; start < windows[0]; ++start) {
    for (Index k = 0; k < kernel; ++k) {
      Index t = start * options.stride + k - options.padding;
      if (t < 0 || t >= x[0]) continue;
      for (Index b = 0; b < batch; ++b) f(t * batch + b, (start * batch + b) * kernel + k);
    }
  }
}

}  // namespace

Shape windows_shape(std::string_view operation, const Shape& x, Index kernel,
                    const Conv1dOptions& options) {
  if (x.rank() != 3) fail("{}: shape {} is not [time, batch, channels]", operation, x);
  if (kernel < 1 || options.stride < 1 || options.padding < 0 || options.padding > most) {
    fail("{}: kernel {} or stride {} below 1 or padding {} below 0 or beyond all memory", operation,
         kernel, options.stride, options.padding);
  }
  Index free = x[0] + 2 * options.padding - kernel;
  if (free < 0) {
    fail("{}: the kernel of {} steps is longer than the {} of shape {} with padding {}", operation,
         kernel, x[0], x, options.padding);
  }
  return require_shape(operation, [&] {
    return Shape{free / options.stride + 1, x[1], kernel, x[2]};
  });
}

Tensor unfold(const Tensor& x, Index kernel, const Conv1dOptions& options) {
  Tensor y = zeros(windows_shape("unfold", x.shape(), kernel, options), x.dtype());
  Index channels = x.shape()[2];
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* in = x.data<T>();
    T* out = y.mutable_data<T>();
    for_each_window_step(x.shape(), y.shape(), options, [&](Index from, Index to) {
      std::copy_n(in + from * channels, channels, out + to * channels);
    });
  });
  return y;
}

void add_folded(Tensor& x, const Tensor& windows, const Conv1dOptions& options) {
  require_same_dtype(x, windows, "fold");
  if (windows.rank() != 4 ||
      !(windows_shape("fold", x.shape(), windows.shape()[2], options) == windows.shape())) {
    fail("fold: shape {} holds no windows of shape {} with stride {} and padding {}",
         windows.shape(), x.shape(), options.stride, options.padding);
  }
  Index channels = x.shape()[2];
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* in = windows.data<T>();
    T* out = x.mutable_data<T>();
    for_each_window_step(x.shape(), windows.shape(), options, [&](Index to, Index from) {
      for (Index c = 0; c < channels; ++c) out[to * channels + c] += in[from * channels + c];
    });
  });
}

}  // namespace regrad::ops
