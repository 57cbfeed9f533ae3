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
  };
}

}  // namespace regrad::testing
