#include "ops/optimizer.h"

#include <initializer_list>
#include <string_view>

namespace regrad::ops {
namespace {

void require_alike(std::string_view operation, const Tensor& x,
                   std::initializer_list<const Tensor*> others) {
  for (const Tensor* other : others) {
    require_same_dtype(x, *other, operation);
    if (!(other->shape() == x.shape())) {
      fail("{}: shapes {} and {}", operation, x.shape(), other->shape());
    }
  }
}

}  // namespace

void adam_step(Tensor& x, const Tensor& g, Tensor& m, Tensor& v, const simd::AdamConstants& c) {
  require_alike("adam_step", x, {&g, &m, &v});
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    simd::kernels<T>().adam(x.mutable_data<T>(), g.data<T>(), m.mutable_data<T>(),
                            v.mutable_data<T>(), x.size(), c);
  });
}

void sgd_step(Tensor& x, const Tensor& g, Tensor* buffer, const simd::SgdConstants& c) {
  require_alike("sgd_step", x, {&g, buffer ? buffer : &g});
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    simd::kernels<T>().sgd(x.mutable_data<T>(), g.data<T>(),
                           buffer ? buffer->mutable_data<T>() : nullptr, x.size(), c);
  });
}

void adadelta_step(Tensor& x, const Tensor& g, Tensor& squares, Tensor& changes,
                   const simd::AdadeltaConstants& c) {
  require_alike("adadelta_step", x, {&g, &squares, &changes});
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    simd::kernels<T>().adadelta(x.mutable_data<T>(), g.data<T>(), squares.mutable_data<T>(),
                                changes.mutable_data<T>(), x.size(), c);
  });
}

}  // namespace regrad::ops
