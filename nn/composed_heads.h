#pragma once

#include "autograd/functions.h"

// The fused attention of many heads written in primitives; see composed.h.
namespace regrad {

Var head_weights_composed(const Var& q, const Var& keys, Index heads, const Lengths& lengths,
                          bool causal = false);
// Without dropout.
HeadsOutput scaled_dot_product_attention_composed(const Var& q, const Var& keys, const Var& values,
                                                  Index heads, const Lengths& lengths,
                                                  bool causal = false);

}  // namespace regrad
