#include "function_rows.h"

namespace regrad::testing {

std::vector<Row> normalised_rows() {
  Ids labels({1, 0, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0});
  Ids sequences(std::span(labels.begin(), 12), {4, 3});
  return {
      {"softmax", {random({2, 5})}, [](auto x) { return softmax(x[0]); }},
      {"softmax lengths", {random({2, 3, 4})}, [](auto x) { return softmax(x[0], uneven); }},
      {"log_softmax", {random({2, 5})}, [](auto x) { return log_softmax(x[0]); }},
      {"dropout",
       {random({4, 5})},
       [](auto x) {
         Rng rng(3);
         return exp(dropout(x[0], 0.4, rng));
       }},
      {"cross_entropy",
       {random({3, 4})},
       [](auto x) {
         return cross_entropy(x[0], Ids{3, 0, 1});
       },
       false},
      {"cross_entropy smoothed",
       {random({4, 3, 5})},
       [=](auto x) { return cross_entropy(x[0], sequences, uneven, {.label_smoothing = 0.2}); },
       false},
      {"cross_entropy sum",
       {random({4, 3, 5})},
       [=](auto x) { return cross_entropy(x[0], sequences, uneven, {.mean = false}); },
       false},
  };
}

}  // namespace regrad::testing
