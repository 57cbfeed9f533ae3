#pragma once

#include "ops/simd/kernels.h"
#include "ops/tensor.h"

namespace regrad::ops {

// One step of Adam (Kingma and Ba 2015) in one pass over memory; all four have one shape and type.
//   g += weight_decay x, m = β₁m + (1-β₁)g, v = β₂v + (1-β₂)g²,
//   x -= step_size m / (root_scale sqrt(v) + ε)
void adam_step(Tensor& x, const Tensor& g, Tensor& m, Tensor& v, const simd::AdamConstants& c);

}  // namespace regrad::ops
