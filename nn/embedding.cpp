#include "nn/embedding.h"

#include "autograd/functions.h"
#include "nn/sizes.h"

namespace regrad {

Embedding::Embedding(Index vocabulary, Index size, Rng& rng, DType dtype) {
  require_size("embedding", "vocabulary", vocabulary);
  require_size("embedding", "size", size);
  weight = Parameter(normal({vocabulary, size}, 0, 1, rng, dtype));
}

Var Embedding::operator()(const Ids& ids) const { return rows(weight, ids); }

Var Embedding::operator()(const Ids& ids, const Lengths& lengths) const {
  return rows(weight, ids, lengths);
}

void Embedding::visit(Visitor& visitor) const { visitor("weight", weight); }

}  // namespace regrad
