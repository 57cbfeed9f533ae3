#pragma once

#include "autograd/functions.h"

namespace regrad {

// x [T, B, ...] with zeros at padded positions, so that 0 · NaN cannot arise behind it.
inline Var without_padding(const Var& x, const Lengths& lengths) {
  return lengths.has_padding() ? masked_fill(x, lengths, 0) : x;
}

}  // namespace regrad
