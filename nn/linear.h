#pragma once

#include "autograd/var.h"
#include "nn/module.h"
#include "ops/rng.h"

namespace regrad {

enum class Bias { yes, no };

// y = x Wᵀ + b, x [..., I] -> [..., O]. Throws Error for a size below 1.
struct Linear : Module {
  Linear(Index inputs, Index outputs, Rng& rng, DType dtype = DType::f32, Bias with = Bias::yes);

  Var operator()(const Var& x) const;
  void visit(Visitor& visitor) const override;

  Parameter weight;  // [O, I]
  Parameter bias;    // [O]; empty without one
};

}  // namespace regrad
