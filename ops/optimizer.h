#pragma once

#include "ops/simd/kernels.h"
#include "ops/tensor.h"

// One step of an optimizer in one pass over memory; all tensors have one shape and type. Each
// throws Error for others.
namespace regrad::ops {

// Adam (Kingma and Ba 2015), with decoupled weight decay (Loshchilov and Hutter 2019) by shrink:
//   x *= shrink, g += weight_decay x, m = β₁m + (1-β₁)g, v = β₂v + (1-β₂)g²,
//   x -= step_size m / (root_scale sqrt(v) + ε)
void adam_step(Tensor& x, const Tensor& g, Tensor& m, Tensor& v, const simd::AdamConstants& c);

// g += weight_decay x, buffer = momentum buffer + g, x -= learning_rate step, where the step is the
// buffer; Nesterov's is g + momentum buffer; without a buffer it is g.
void sgd_step(Tensor& x, const Tensor& g, Tensor* buffer, const simd::SgdConstants& c);

// Adadelta (Zeiler 2012): g += weight_decay x, squares = ρ squares + (1-ρ)g²,
//   d = sqrt(changes + ε) / sqrt(squares + ε) g, changes = ρ changes + (1-ρ)d², x -= learning_rate
//   d
void adadelta_step(Tensor& x, const Tensor& g, Tensor& squares, Tensor& changes,
                   const simd::AdadeltaConstants& c);

}  // namespace regrad::ops
