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

}  // namespace regrad
