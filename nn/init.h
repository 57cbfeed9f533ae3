#pragma once

#include "ops/rng.h"
#include "ops/tensor.h"

// Initial values of parameters; uniform and normal ones are in ops/rng.h.
namespace regrad::init {

// PyTorch's default for Linear (size: inputs) and recurrent layers (size: hidden units): uniform in
// ±1/sqrt(size).
Tensor uniform_fan(const Shape& shape, Index size, Rng& rng, DType dtype = DType::f32);
// [O, I], uniform in ±sqrt(6 / (I + O)) (Glorot and Bengio 2010). Throws Error unless of rank 2.
Tensor xavier_uniform(const Shape& shape, Rng& rng, DType dtype = DType::f32);
// [R, C] with orthonormal rows, or columns where R > C (Saxe, McClelland and Ganguli 2013). Throws
// Error unless of rank 2.
Tensor orthogonal(const Shape& shape, Rng& rng, DType dtype = DType::f32);

}  // namespace regrad::init
