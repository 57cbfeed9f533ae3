#include "function_rows.h"

namespace regrad::testing {

std::vector<Row> reductions_rows() {
  return {
      {"sum", {random({2, 3})}, [](auto x) { return square(sum(x[0])); }},
      {"sum axes",
       {random({2, 3, 4})},
       [](auto x) {
         return square(sum(x[0], {0, -1}));
       }},
      {"sum keep", {random({2, 3})}, [](auto x) { return x[0] / exp(sum(x[0], {1}, true)); }},
      {"mean", {random({2, 3})}, [](auto x) { return square(mean(x[0])); }},
      {"mean axes", {random({2, 3})}, [](auto x) { return square(mean(x[0], {0})); }},
      {"sum_to", {random({2, 3})}, [](auto x) { return square(sum_to(x[0], {3})); }},
      {"expand",
       {random({2, 1})},
       [](auto x) {
         return exp(expand(x[0], {3, 2, 4}));
       }},
  };
}

}  // namespace regrad::testing
