#include "nn/composed_attention.h"

#include <vector>

namespace regrad {

Var monotonic_alignment_composed(const Var& logits, const Var& previous, const Lengths& lengths) {
  const Var e = masked_fill(transpose(logits), lengths, 0);  // [S, B]
  const Var before = masked_fill(transpose(previous), lengths, 0);
  std::vector<Var> weights;
  Var arriving = zeros({lengths.batch()}, logits.dtype());
  for (Index s = 0; s < lengths.time(); ++s) {
    const Var reach = arriving + select(before, 0, s);
    weights.push_back(sigmoid(select(e, 0, s)) * reach);
    arriving = sigmoid(-select(e, 0, s)) * reach;
  }
  return transpose(masked_fill(stack(weights), lengths, 0));
}

}  // namespace regrad
