#pragma once

#include <optional>
#include <string_view>

#include "ops/ids.h"
#include "ops/tensor.h"

namespace regrad::ops {

// What a loss over classes is taken at.
struct Targets {
  Ids labels;        // -1 where nothing is read: at padding and at the ignored label
  Tensor weights;    // of the classes; without elements: all 1
  double total = 0;  // Σ weights[label] over the labels that are read
};
// For x [..., V] and labels [...]; with lengths, labels are [T, B]. Throws Error, naming the
// operation, for a label outside of [0, V) that is read, and for weights that are not V numbers of
// x's type, at least 0.
Targets targets(std::string_view operation, const Tensor& x, const Ids& labels,
                const Lengths* lengths, std::optional<std::int32_t> ignore_index,
                const Tensor& class_weights);

struct CrossEntropy {
  Tensor loss;  // the sum, rank 0
  Tensor
      log_normaliser;  // log Σ exp(logits) as a simd::Shift, [positions, 2]; 0 where none is read
};
// Σ -(1-ε) w[label] log p(label) - ε/V Σ_v w[v] log p(v).
CrossEntropy cross_entropy(const Tensor& logits, const Targets& targets, double label_smoothing);
// Its gradient by the logits, times factor; zeros where nothing is read. In the place of the logits
// where nobody else holds them.
Tensor cross_entropy_backward(Tensor logits, const Targets& targets, double label_smoothing,
                              const Tensor& log_normaliser, double factor);

// Σ -w[label] x[label], rank 0. A label of weight 0 is not read.
Tensor nll(const Tensor& x, const Targets& targets);
// x[label] -= factor w[label]: its adjoint.
void add_nll(Tensor& x, const Targets& targets, double factor);

}  // namespace regrad::ops
