#include "function_rows.h"

namespace regrad::testing {

namespace {

Tensor numbers(std::initializer_list<detail::Number> values) { return tensor(values, DType::f64); }

const Tensor mask = tensor({{1, 0, 1}, {0, 0, -2}}, DType::f64);

}  // namespace

std::vector<Row> elementwise_rows() {
  return {
      {"add", {random({2, 3}), random({3})}, [](auto x) { return x[0] + x[1]; }},
      {"sub", {random({2, 1}), random({2, 3})}, [](auto x) { return x[0] - x[1]; }},
      {"mul", {random({2, 1, 3}), random({4, 1})}, [](auto x) { return x[0] * x[1]; }},
      {"mul by itself", {random({3})}, [](auto x) { return x[0] * x[0]; }},
      {"div", {random({2, 3}), random({1, 3}, 0.5, 2)}, [](auto x) { return x[0] / x[1]; }},
      {"div of a number", {random({3}, 0.5, 2)}, [](auto x) { return 3 / x[0]; }},
      {"pow", {random({2, 1}, 0.3, 2), random({3})}, [](auto x) { return pow(x[0], x[1]); }},
      {"pow by itself", {random({3}, 0.3, 2)}, [](auto x) { return pow(x[0], x[0]); }},
      {"pow at exponent 0",
       {numbers({0.5, 2}), numbers({0, 0})},
       [](auto x) { return pow(x[0], x[1]); }},
      {"pow 2.5", {random({2, 3}, 0.3, 2)}, [](auto x) { return pow(x[0], 2.5); }},
      {"pow -3", {numbers({-1.5, -0.7, 0.6, 2})}, [](auto x) { return pow(x[0], -3); }},
      {"pow 3 at 0", {numbers({-1, 0, 0.5})}, [](auto x) { return pow(x[0], 3); }},
      {"pow 2 and 1 and 0",
       {random({4})},
       [](auto x) { return pow(x[0], 2) * pow(x[0], 1) + pow(x[0], 0); }},
      {"minimum", {random({2, 1}), random({3})}, [](auto x) { return minimum(x[0], x[1]); }},
      {"minimum of a number",
       {numbers({-1, 0.2, 3})},
       [](auto x) { return square(minimum(x[0], 0.7)); }},
      {"maximum", {random({2, 3}), random({1})}, [](auto x) { return maximum(x[0], x[1]); }},
      {"maximum of a number",
       {numbers({-1, 0.2, 3})},
       [](auto x) { return square(maximum(x[0], 0.7)); }},
      {"where",
       {random({2, 3}), random({3})},
       [](auto x) { return square(where(mask, x[0], x[1])); }},
      {"where of a column", {random({2, 1})}, [](auto x) { return exp(where(mask, x[0], 0.3)); }},
      {"where else a column", {random({2, 1})}, [](auto x) { return exp(where(mask, 0.3, x[0])); }},
      {"neg", {random({5})}, [](auto x) { return -x[0]; }},
      {"affine", {random({5})}, [](auto x) { return 3 - x[0] * 2 / 5 + 1; }},
      {"abs", {numbers({-2, -0.3, 0.4, 3})}, [](auto x) { return abs(x[0]); }},
      {"square", {random({5})}, [](auto x) { return square(x[0]); }},
      {"sqrt", {random({5}, 0.3, 3)}, [](auto x) { return sqrt(x[0]); }},
      {"rsqrt", {random({2, 3}, 0.3, 3)}, [](auto x) { return rsqrt(x[0]); }},
      {"reciprocal", {numbers({-2, -0.4, 0.5, 3})}, [](auto x) { return reciprocal(x[0]); }},
      {"exp", {random({2, 3})}, [](auto x) { return exp(x[0]); }},
      {"exp2", {random({2, 3})}, [](auto x) { return exp2(x[0]); }},
      {"expm1", {random({2, 3})}, [](auto x) { return expm1(x[0]); }},
      {"log", {random({2, 3}, 0.2, 3)}, [](auto x) { return log(x[0]); }},
      {"log1p", {random({2, 3}, -0.6, 3)}, [](auto x) { return log1p(x[0]); }},
      {"sin", {random({2, 9}, -9, 9)}, [](auto x) { return sin(x[0]); }},
      {"cos", {random({2, 9}, -9, 9)}, [](auto x) { return cos(x[0]); }},
      {"erf", {random({2, 9}, -3, 3)}, [](auto x) { return erf(x[0]); }},
      {"clamp", {numbers({-2, -0.3, 0.4, 3})}, [](auto x) { return exp(clamp(x[0], -1, 2)); }},
  };
}

std::vector<Row> activation_rows() {
  return {
      {"tanh", {random({2, 9})}, [](auto x) { return tanh(x[0]); }},
      {"sigmoid", {random({2, 9})}, [](auto x) { return sigmoid(x[0]); }},
      {"log_sigmoid", {random({2, 9}, -9, 9)}, [](auto x) { return log_sigmoid(x[0]); }},
      {"softplus", {random({2, 9}, -9, 9)}, [](auto x) { return softplus(x[0]); }},
      {"relu", {numbers({-1.5, -0.1, 0.2, 3})}, [](auto x) { return relu(x[0]); }},
      {"leaky_relu", {numbers({-1.5, -0.1, 0.2, 3})}, [](auto x) { return leaky_relu(x[0]); }},
      {"leaky_relu 0.3",
       {numbers({-1.5, -0.1, 0.2, 3})},
       [](auto x) { return square(leaky_relu(x[0], 0.3)); }},
      {"elu", {numbers({-2, -0.1, 0.2, 3})}, [](auto x) { return elu(x[0]); }},
      {"elu 0.7", {numbers({-2, -0.1, 0.2, 3})}, [](auto x) { return square(elu(x[0], 0.7)); }},
      {"gelu", {random({2, 9}, -4, 4)}, [](auto x) { return gelu(x[0]); }},
      {"silu", {random({2, 9}, -4, 4)}, [](auto x) { return silu(x[0]); }},
  };
}

}  // namespace regrad::testing
