#include "nn/layer_norm.h"

#include "autograd/functions.h"
#include "nn/sizes.h"

namespace regrad {

LayerNorm::LayerNorm(Index size, DType dtype, double small) : epsilon(small) {
  require_size("layer_norm", "size", size);
  require_positive("layer_norm", "epsilon", epsilon, dtype);
  weight = Parameter(ones({size}, dtype));
  bias = Parameter(zeros({size}, dtype));
}

Var LayerNorm::operator()(const Var& x) const { return layer_norm(x, weight, bias, epsilon); }

void LayerNorm::visit(Visitor& visitor) const {
  visitor("weight", weight);
  visitor("bias", bias);
}

}  // namespace regrad
