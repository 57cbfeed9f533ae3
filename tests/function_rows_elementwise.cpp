#include "function_rows.h"

namespace regrad::testing {

std::vector<Row> elementwise_rows() {
  return {
      {"add", {random({2, 3}), random({3})}, [](auto x) { return x[0] + x[1]; }},
      {"sub", {random({2, 1}), random({2, 3})}, [](auto x) { return x[0] - x[1]; }},
      {"mul", {random({2, 1, 3}), random({4, 1})}, [](auto x) { return x[0] * x[1]; }},
      {"mul by itself", {random({3})}, [](auto x) { return x[0] * x[0]; }},
      {"div", {random({2, 3}), random({1, 3}, 0.5, 2)}, [](auto x) { return x[0] / x[1]; }},
      {"neg", {random({5})}, [](auto x) { return -x[0]; }},
      {"affine", {random({5})}, [](auto x) { return 3 - x[0] * 2 / 5 + 1; }},
      {"exp", {random({2, 3})}, [](auto x) { return exp(x[0]); }},
      {"log", {random({2, 3}, 0.2, 3)}, [](auto x) { return log(x[0]); }},
      {"square", {random({5})}, [](auto x) { return square(x[0]); }},
      {"sqrt", {random({5}, 0.3, 3)}, [](auto x) { return sqrt(x[0]); }},
      {"tanh", {random({2, 9})}, [](auto x) { return tanh(x[0]); }},
      {"sigmoid", {random({2, 9})}, [](auto x) { return sigmoid(x[0]); }},
      {"relu", {tensor({-1.5, -0.1, 0.2, 3}, DType::f64)}, [](auto x) { return relu(x[0]); }},
  };
}

}  // namespace regrad::testing
