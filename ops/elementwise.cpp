#include "ops/elementwise.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/reduce.h"
#include "ops/strides.h"

namespace regrad::ops {
namespace {

std::string_view name(Binary op) {
  static constexpr std::string_view names[] = {
      "add",           "sub",     "mul",           "div",  "pow",           "minimum",
      "maximum",       "share",   "leaky_relu",    "elu",  "tanh_backward", "sigmoid_backward",
      "relu_backward", "greater", "greater_equal", "less", "less_equal",    "equal",
      "not_equal"};
  return names[static_cast<int>(op)];
}

}  // namespace

Tensor map(Unary op, const Tensor& x) {
  Tensor y(x.shape(), x.dtype());
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    simd::kernels<T>().map(op, x.data<T>(), y.mutable_data<T>(), x.size());
  });
  return y;
}

namespace {

Tensor zip_broadcasting(Binary op, const Tensor& a, const Tensor& b) {
  Tensor y(broadcast(a.shape(), b.shape(), name(op)), a.dtype());
  visit(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    auto kernel = simd::kernels<T>().zip;
    const T *u = a.data<T>(), *v = b.data<T>();
    T* out = y.mutable_data<T>();
    for_each_run(y.shape(), broadcast_strides(a.shape(), y.shape()),
                 broadcast_strides(b.shape(), y.shape()),
                 [&](Index i, Index j, Index a_step, Index b_step, Index n) {
                   kernel(op, u + i, a_step, v + j, b_step, out, n);
                   out += n;
                 });
  });
  return y;
}

}  // namespace

Tensor zip(Binary op, const Tensor& a, const Tensor& b) {
  require_same_dtype(a, b, name(op));
  if (!(a.shape() == b.shape())) return zip_broadcasting(op, a, b);
  Tensor y(a.shape(), a.dtype());
  visit(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    simd::kernels<T>().zip(op, a.data<T>(), 1, b.data<T>(), 1, y.mutable_data<T>(), y.size());
  });
  return y;
}

void zip_into(Binary op, Tensor& a, const Tensor& b) {
  if (!a.unique() || a.dtype() != b.dtype() || !(a.shape() == b.shape())) {
    a = zip(op, a, b);
    return;
  }
  visit(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* values = a.mutable_data<T>();
    simd::kernels<T>().zip(op, values, 1, b.data<T>(), 1, values, a.size());
  });
}

Tensor zip(Binary op, const Tensor& a, double b) { return zip(op, a, scalar(b, a.dtype())); }

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  require_same_dtype(condition, a, "where");
  require_same_dtype(a, b, "where");
  Shape shape = broadcast(condition.shape(), broadcast(a.shape(), b.shape(), "where"), "where");
  Tensor y(shape, a.dtype());
  visit(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T *c = condition.data<T>(), *u = a.data<T>(), *v = b.data<T>();
    T* out = y.mutable_data<T>();
    for_each_run(
        shape,
        std::array{broadcast_strides(condition.shape(), shape), broadcast_strides(a.shape(), shape),
                   broadcast_strides(b.shape(), shape)},
        [&](const auto& at, const auto& steps, Index n) {
          simd::kernels<T>().select(c + at[0], steps[0], u + at[1], steps[1], v + at[2], steps[2],
                                    out, n);
          out += n;
        });
  });
  return y;
}

Tensor clamp(const Tensor& x, double low, double high) {
  Tensor y = zip(Binary::maximum, x, low);
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T top = static_cast<T>(high);
    T* values = y.mutable_data<T>();
    simd::kernels<T>().zip(Binary::minimum, values, 1, &top, 0, values, y.size());
  });
  return y;
}

Tensor affine(const Tensor& x, double scale, double shift) {
  Tensor y(x.shape(), x.dtype());
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    simd::kernels<T>().affine(x.data<T>(), static_cast<T>(scale), static_cast<T>(shift),
                              y.mutable_data<T>(), x.size());
  });
  return y;
}

void accumulate(Tensor& y, const Tensor& x, double factor) {
  require_same_dtype(y, x, "accumulate");
  if (!(y.shape() == x.shape())) fail("accumulate: shapes {} and {}", y.shape(), x.shape());
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    simd::kernels<T>().accumulate(y.mutable_data<T>(), x.data<T>(), static_cast<T>(factor),
                                  x.size());
  });
}

void scale(Tensor& y, double factor) {
  visit(y.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* values = y.mutable_data<T>();
    const auto multiply = [&](double by) {
      simd::kernels<T>().affine(values, static_cast<T>(by), T(0), values, y.size());
    };
    // A T holds no more than a few digits of such a factor, but all of its root.
    if (factor != 0 && std::abs(factor) < std::numeric_limits<T>::min()) {
      const double root = std::sqrt(std::abs(factor));
      multiply(root);
      return multiply(factor / root);
    }
    multiply(factor);
  });
}

Tensor expand(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  if (!(broadcast(x.shape(), shape, "expand") == shape)) {
    fail("expand: shape {} does not become {} by repeating", x.shape(), shape);
  }
  Tensor y(shape, x.dtype());
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* in = x.data<T>();
    T* out = y.mutable_data<T>();
    for_each_run(shape, broadcast_strides(x.shape(), shape), contiguous_strides(shape),
                 [&](Index i, Index j, Index step, Index, Index n) {
                   if (step == 0) {
                     std::fill_n(out + j, n, in[i]);
                   } else {
                     std::copy_n(in + i, n, out + j);
                   }
                 });
  });
  return y;
}

Tensor sum_to(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  if (!(broadcast(shape, x.shape(), "sum_to") == x.shape())) {
    fail("sum_to: shape {} is no sum of {}", shape, x.shape());
  }
  Shape kept = x.shape();
  int missing = x.rank() - shape.rank();
  for (int axis = 0; axis < x.rank(); ++axis) {
    kept = kept.with(axis, axis < missing ? 1 : shape[axis - missing]);
  }
  return reduce(Binary::add, x, kept).reshape(shape);
}

}  // namespace regrad::ops
