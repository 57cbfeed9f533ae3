#include "function_rows.h"

namespace regrad::testing {

std::vector<Row> linear_algebra_rows() {
  return {
      {"matmul", {random({2, 3}), random({3, 4})}, [](auto x) { return matmul(x[0], x[1]); }},
      {"matmul Tn",
       {random({3, 2}), random({3, 4})},
       [](auto x) { return matmul(x[0], x[1], Trans, NoTrans); }},
      {"matmul nT",
       {random({2, 3}), random({4, 3})},
       [](auto x) { return matmul(x[0], x[1], NoTrans, Trans); }},
      {"matmul TT",
       {random({3, 2}), random({4, 3})},
       [](auto x) { return matmul(x[0], x[1], Trans, Trans); }},
      {"matmul batches",
       {random({2, 1, 2, 3}), random({4, 3, 2})},
       [](auto x) { return matmul(x[0], x[1]); }},
      {"matmul batches TT",
       {random({2, 3, 2}), random({2, 4, 3})},
       [](auto x) { return matmul(x[0], x[1], Trans, Trans); }},
      {"matmul batch by matrix",
       {random({2, 2, 3}), random({3, 2})},
       [](auto x) { return matmul(x[0], x[1]); }},
      {"linear",
       {random({2, 2, 3}), random({4, 3})},
       [](auto x) { return tanh(linear(x[0], x[1])); }},
      {"linear bias",
       {random({2, 3}), random({4, 3}), random({4})},
       [](auto x) { return tanh(linear(x[0], x[1], x[2])); }},
      {"linear of a vector",
       {random({3}), random({4, 3}), random({4})},
       [](auto x) { return tanh(linear(x[0], x[1], x[2])); }},
      {"linear used twice",
       {random({2, 3}), random({3, 3})},
       [](auto x) { return linear(tanh(linear(x[0], x[1])), x[1]); }},
  };
}

}  // namespace regrad::testing
