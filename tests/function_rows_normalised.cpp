#include "function_rows.h"

namespace regrad::testing {

std::vector<Row> normalised_rows() {
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
      {"log_softmax lengths",
       {random({2, 3, 4})},
       [](auto x) { return log_softmax(x[0], uneven); }},
      {"causal_softmax", {random({2, 3, 3})}, [](auto x) { return causal_softmax(x[0]); }},
      {"causal_softmax more keys", {random({2, 4})}, [](auto x) { return causal_softmax(x[0]); }},
      {"causal_softmax more queries",  // the first of them see nothing
       {random({1, 4, 2})},
       [](auto x) { return causal_softmax(x[0]); }},
      {"causal_log_softmax", {random({3, 3})}, [](auto x) { return causal_log_softmax(x[0]); }},
      {"causal_log_softmax more queries",
       {random({2, 3, 1})},
       [](auto x) { return causal_log_softmax(x[0]); }},
      {"layer_norm", {random({2, 3, 4})}, [](auto x) { return layer_norm(x[0]); }, false},
      {"layer_norm weight",
       {random({2, 5}), random({5})},
       [](auto x) { return layer_norm(x[0], x[1], 0.1); },
       false},
      {"layer_norm weight and bias",
       {random({2, 1, 3}), random({3}), random({3})},
       [](auto x) { return layer_norm(x[0], x[1], x[2]); },
       false},
      {"layer_norm of one",
       {random({2, 1}), random({1}), random({1})},
       [](auto x) { return layer_norm(x[0], x[1], x[2]); },
       false},
      {"cosine_similarity",
       {random({2, 3}), random({2, 3})},
       [](auto x) { return cosine_similarity(x[0], x[1]); }},
      {"cosine_similarity broadcast",
       {random({2, 1, 3}), random({4, 3})},
       [](auto x) { return exp(cosine_similarity(x[0], x[1])); }},
      {"cosine_similarity below epsilon",
       {random({2, 3}), random({2, 3})},
       [](auto x) { return cosine_similarity(x[0], x[1], 10); }},
  };
}

}  // namespace regrad::testing
