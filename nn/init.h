#pragma once

#include "ops/rng.h"
#include "ops/tensor.h"

// Initial values of parameters.
namespace regrad::init {

// Every entry uniform in [low, high).
Tensor uniform(const Shape& shape, double low, double high, Rng& rng, DType dtype);
// Every entry normal with mean 0.
Tensor normal(const Shape& shape, double deviation, Rng& rng, DType dtype);
// PyTorch's default for Linear (size: inputs) and recurrent layers (size: hidden units): uniform in
// ±1/sqrt(size).
Tensor uniform_fan(const Shape& shape, Index size, Rng& rng, DType dtype);
// [O, I], uniform in ±sqrt(6 / (I + O)) (Glorot and Bengio 2010).
Tensor xavier_uniform(const Shape& shape, Rng& rng, DType dtype);
// [R, C] with orthonormal rows, or columns where R > C (Saxe, McClelland and Ganguli 2013).
Tensor orthogonal(const Shape& shape, Rng& rng, DType dtype);

}  // namespace regrad::init
