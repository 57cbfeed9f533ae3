#pragma once

#include "autograd/functions.h"
#include "nn/composed_recurrent.h"

// The fused operations written in primitives: for derivatives of higher order, and to check the
// fused ones with. Arguments and results are those of the functions without `_composed`.
namespace regrad {

Var additive_score_composed(const Var& query, const Var& keys, const Var& v,
                            const Lengths& lengths);
Var dot_score_composed(const Var& query, const Var& keys, const Lengths& lengths);
Var weighted_sum_composed(const Var& weights, const Var& values, const Lengths& lengths);
Var softmax_composed(const Var& x, const Lengths& lengths);
Var cross_entropy_composed(const Var& logits, const Ids& labels, const Lengths& lengths,
                           const CrossEntropyOptions& options = {});
Var layer_norm_composed(const Var& x, double epsilon = 1e-5);
Var layer_norm_composed(const Var& x, const Var& weight, double epsilon = 1e-5);
Var layer_norm_composed(const Var& x, const Var& weight, const Var& bias, double epsilon = 1e-5);

}  // namespace regrad
