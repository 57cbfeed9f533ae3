#pragma once

#include "autograd/functions.h"

namespace regrad {

// monotonic_alignment written in primitives: for derivatives of higher order, and to check it with.
Var monotonic_alignment_composed(const Var& logits, const Var& previous, const Lengths& lengths);

}  // namespace regrad
