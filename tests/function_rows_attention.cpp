#include "function_rows.h"

namespace regrad::testing {

std::vector<Row> attention_rows() {
  return {
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
