#pragma once

#include "ops/ids.h"
#include "ops/tensor.h"

namespace regrad::ops {

// Over the last axis. With lengths, x is [..., B, S]: row (…, b) over its first lengths[b] entries,
// the others are not read and give 0; a row without valid entry is all zeros.
Tensor softmax(const Tensor& x, const Lengths* lengths = nullptr);
Tensor log_softmax(const Tensor& x);

struct CrossEntropy {
  Tensor loss;            // Σ over valid positions, rank 0
  Tensor log_normaliser;  // log Σ exp(logits), [positions], f64; padded ones are 0
};
// logits [..., V], labels [...]: -(1-ε) log p(label) - ε/V Σ log p. With lengths, labels are [T, B]
// and padded positions are not read. Throws Error for a label outside of [0, V).
CrossEntropy cross_entropy(const Tensor& logits, const Ids& labels, const Lengths* lengths,
                           double label_smoothing);
// Its gradient by the logits, times factor; zeros at padded positions. The other arguments are
// those of the call that gave log_normaliser.
Tensor cross_entropy_backward(const Tensor& logits, const Ids& labels, const Lengths* lengths,
                              double label_smoothing, const Tensor& log_normaliser, double factor);

}  // namespace regrad::ops
