#pragma once

#include <optional>

#include "ops/ids.h"
#include "ops/tensor.h"

namespace regrad::ops {

// Which entries of the last axis take part, always the first few of a row: all of them; with
// lengths, the first lengths[b] of row (…, b) in [..., B, S]; causal, those of row (…, t) in
// [..., T, S] with s ≤ t + (S - T). The others are never read.
struct RowMask {
  std::optional<Lengths> lengths = {};
  bool causal = false;
};

// Over the last axis. Entries that take no part are 0; a row without any other is all zeros.
Tensor softmax(const Tensor& x, const RowMask& mask = {});
Tensor log_softmax(const Tensor& x, const RowMask& mask = {});
// x with zeros where an entry takes no part.
Tensor keep_valid(const Tensor& x, const RowMask& mask);

}  // namespace regrad::ops
