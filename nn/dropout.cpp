#include "nn/dropout.h"

#include "autograd/functions.h"
#include "ops/error.h"

namespace regrad {

Dropout::Dropout(double probability) : p(probability) {
  // Written so that NaN fails, too.
  if (!(p >= 0 && p < 1)) fail("dropout: the probability must be in [0, 1), not {}", p);
}

Var Dropout::operator()(const Var& x, Rng* rng) const {
  return rng && p > 0 ? dropout(x, p, *rng) : x;
}

Var Dropout::same_for_all_steps(const Var& x, Rng* rng) const {
  if (!rng || p == 0) return x;
  if (x.rank() == 0) fail("dropout: a number has no steps to share a mask; give [T, ...]");
  return x * dropout(ones(x.shape().without(0), x.dtype()), p, *rng);
}

}  // namespace regrad
