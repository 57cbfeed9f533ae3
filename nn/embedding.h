#pragma once

#include "autograd/var.h"
#include "nn/module.h"
#include "ops/ids.h"
#include "ops/rng.h"

namespace regrad {

// A row of the table for every id. Throws Error for a size below 1.
struct Embedding : Module {
  Embedding(Index vocabulary, Index size, Rng& rng, DType dtype = DType::f32);

  // ids of any shape -> [..., E]. Throws Error for an id outside of [0, V).
  Var operator()(const Ids& ids) const;
  // ids [T, B] -> [T, B, E]; padded positions, whose ids are not read, give zeros.
  Var operator()(const Ids& ids, const Lengths& lengths) const;
  void visit(Visitor& visitor) const override;

  Parameter weight;  // [V, E], standard normal at first
};

}  // namespace regrad
