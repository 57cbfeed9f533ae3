#include "ops/optimizer.h"

namespace regrad::ops {

void adam_step(Tensor& x, const Tensor& g, Tensor& m, Tensor& v, const simd::AdamConstants& c) {
  for (const Tensor* other : {&g, static_cast<const Tensor*>(&m), static_cast<const Tensor*>(&v)}) {
    require_same_dtype(x, *other, "adam_step");
    if (!(other->shape() == x.shape())) {
      fail("adam_step: shapes {} and {}", x.shape(), other->shape());
    }
  }
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    simd::kernels<T>().adam(x.mutable_data<T>(), g.data<T>(), m.mutable_data<T>(),
                            v.mutable_data<T>(), x.size(), c);
  });
}

}  // namespace regrad::ops
