#include "nn/linear.h"

#include "autograd/functions.h"
#include "nn/init.h"
#include "nn/sizes.h"

namespace regrad {

Linear::Linear(Index inputs, Index outputs, Rng& rng, DType dtype, Bias with) {
  require_size("linear", "inputs", inputs);
  require_size("linear", "outputs", outputs);
  weight = Parameter(init::uniform_fan({outputs, inputs}, inputs, rng, dtype));
  if (with == Bias::yes) bias = Parameter(init::uniform_fan({outputs}, inputs, rng, dtype));
}

Var Linear::operator()(const Var& x) const {
  return bias ? linear(x, weight, bias) : linear(x, weight);
}

void Linear::visit(Visitor& visitor) const {
  visitor("weight", weight);
  if (bias) visitor("bias", bias);
}

}  // namespace regrad
