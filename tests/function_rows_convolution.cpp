#include "function_rows.h"

namespace regrad::testing {

std::vector<Row> convolution_rows() {
  return {
      {"unfold", {random({4, 2, 3})}, [](auto x) { return exp(unfold(x[0], 3, {.padding = 2})); }},
      {"fold",
       {random({2, 2, 3, 2})},
       [](auto x) {
         return exp(fold(x[0], {6, 2, 2}, {.stride = 3}));
       }},
      {"conv1d",
       {random({5, 2, 3}), random({4, 3, 3})},
       [](auto x) { return tanh(conv1d(x[0], x[1])); }},
      {"conv1d bias",
       {random({6, 2, 2}), random({3, 2, 3}), random({3})},
       [](auto x) { return tanh(conv1d(x[0], x[1], x[2], {.stride = 2, .padding = 1})); }},
      {"conv1d of weights",  // as location-aware attention uses it
       {random({4, 3, 1}), random({2, 1, 5})},
       [](auto x) { return tanh(conv1d(masked_fill(x[0], uneven, 0), x[1], {.padding = 2})); }},
      {"conv1d wide stride",  // leaves steps out
       {random({5, 1, 1}), random({1, 1, 1}), random({1})},
       [](auto x) { return tanh(conv1d(x[0], x[1], x[2], {.stride = 3})); }},
  };
}

}  // namespace regrad::testing
