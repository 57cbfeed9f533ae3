#pragma once

#include "autograd/var.h"
#include "nn/module.h"

namespace regrad {

// (x - mean) / sqrt(variance + ε) over the last axis, times weight plus bias (Ba, Kiros and Hinton
// 2016): x [..., N] -> [..., N]. Throws Error for a size below 1 and an ε
// that is not above 0, also in f32.
struct LayerNorm : Module {
  explicit LayerNorm(Index size, DType dtype = DType::f32, double epsilon = 1e-5);

  Var operator()(const Var& x) const;
  void visit(Visitor& visitor) const override;

  Parameter weight, bias;  // [N], ones and zeros at first
  double epsilon;
};

}  // namespace regrad
