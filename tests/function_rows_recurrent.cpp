#include "function_rows.h"

namespace regrad::testing {

std::vector<Row> recurrent_rows() {
  auto gru_of = [](Direction direction) {
    return [=](auto x) { return gru(x[0], x[1], x[2], x[3], uneven, direction); };
  };
  Inputs gru_inputs{random({4, 3, 6}), random({3, 2}), random({6, 2}), random({6})};
  return {
      {"gru_gates",
       {random({3, 6}), random({3, 6}), random({3, 2})},
       [](auto x) { return gru_gates(x[0], x[1], x[2]); },
       false},
      {"gru forward", gru_inputs, gru_of(Direction::forward), false},
      {"gru backward", gru_inputs, gru_of(Direction::backward), false},
      {"additive_score",
       {random({3, 5}), random({4, 3, 5}), random({5})},
       [](auto x) { return additive_score(x[0], x[1], x[2], uneven); },
       false},
      {"dot_score",
       {random({3, 5}), random({4, 3, 5})},
       [](auto x) { return dot_score(x[0], x[1], uneven); }},
      {"weighted_sum",
       {random({3, 4}), random({4, 3, 2})},
       [](auto x) { return weighted_sum(x[0], x[1], uneven); }},
      {"spread",
       {random({3, 4}), random({3, 2})},
       [](auto x) { return spread(x[0], x[1], uneven); }},
  };
}

}  // namespace regrad::testing
