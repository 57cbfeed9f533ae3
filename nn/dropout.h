#pragma once

#include "autograd/var.h"
#include "ops/rng.h"

namespace regrad {

// Zeroes entries with probability p and divides the others by 1 - p (Srivastava et al. 2014), so
// that expectations stay. Without a generator, in evaluation, it is the identity.
struct Dropout {
  // Throws Error for p outside of [0, 1).
  explicit Dropout(double p = 0);

  Var operator()(const Var& x, Rng* rng) const;
  // x [T, ...] with one mask [...] for all steps (Gal and Ghahramani 2016).
  Var same_for_all_steps(const Var& x, Rng* rng) const;

  double p;
};

}  // namespace regrad
