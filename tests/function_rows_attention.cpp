#include "function_rows.h"

namespace regrad::testing {

namespace {

// Numbers of their own: next to a kink of sparsemax or entmax differences are wrong.
Tensor away_from_kinks(const Shape& shape, double size) {
  Rng rng(2);
  return uniform(shape, -size, size, rng, DType::f64);
}

}  // namespace

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
      {"sparsemax", {away_from_kinks({4, 5}, 1)}, [](auto x) { return sparsemax(x[0]); }},
      {"sparsemax lengths",
       {away_from_kinks({2, 3, 4}, 0.5)},
       [](auto x) { return sparsemax(x[0], uneven); }},
      {"entmax", {away_from_kinks({4, 5}, 2)}, [](auto x) { return entmax(x[0]); }},
      {"entmax lengths",
       {away_from_kinks({2, 3, 4}, 2)},
       [](auto x) { return entmax(x[0], uneven); }},
      {"monotonic_alignment",
       {random({3, 4}), random({3, 4}, 0, 1)},
       [](auto x) { return monotonic_alignment(x[0], x[1], uneven); },
       false},
      {"straight_through",
       {random({2, 3})},
       [](auto x) { return straight_through((x[0] + 3).value(), x[0]); }},
  };
}

}  // namespace regrad::testing
