#include "random_expression.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace regrad::testing {

namespace {

const Shape whole{2, 3, 3};
const Lengths uneven({2, 0, 1}, 2);

Var widened(const Var& x) { return expand(x, whole); }
Var positive(const Var& x) { return square(x) + 0.5; }

}  // namespace

const std::vector<SmoothFunction>& smooth_functions() {
  static const std::vector<SmoothFunction> functions = {
      {"add", [](const Var& a, const Var& b) { return a + b; }},
      {"sub", [](const Var& a, const Var& b) { return a - b; }},
      {"mul", [](const Var& a, const Var& b) { return a * b; }},
      {"div", [](const Var& a, const Var& b) { return a / positive(b); }},
      {"pow", [](const Var& a, const Var& b) { return pow(positive(a), b); }},
      {"pow 3", [](const Var& a, const Var&) { return pow(a, 3); }},
      {"where",
       [](const Var& a, const Var& b) {
         return where(tensor({{1, 0, 1}, {0, 0, 1}, {1, 1, 0}}, DType::f64), a, b);
       }},
      {"neg", [](const Var& a, const Var&) { return -a; }},
      {"affine", [](const Var& a, const Var&) { return affine(a, 0.7, -0.4); }},
      {"square", [](const Var& a, const Var&) { return square(a); }},
      {"sqrt", [](const Var& a, const Var&) { return sqrt(positive(a)); }},
      {"rsqrt", [](const Var& a, const Var&) { return rsqrt(positive(a)); }},
      {"reciprocal", [](const Var& a, const Var&) { return reciprocal(positive(a)); }},
      {"exp", [](const Var& a, const Var&) { return exp(a); }},
      {"expm1", [](const Var& a, const Var&) { return expm1(a); }},
      {"log", [](const Var& a, const Var&) { return log(positive(a)); }},
      {"log1p", [](const Var& a, const Var&) { return log1p(square(a)); }},
      {"sin", [](const Var& a, const Var&) { return sin(a); }},
      {"cos", [](const Var& a, const Var&) { return cos(a); }},
      {"erf", [](const Var& a, const Var&) { return erf(a); }},
      {"tanh", [](const Var& a, const Var&) { return tanh(a); }},
      {"sigmoid", [](const Var& a, const Var&) { return sigmoid(a); }},
      {"log_sigmoid", [](const Var& a, const Var&) { return log_sigmoid(a); }},
      {"softplus", [](const Var& a, const Var&) { return softplus(a); }},
      {"gelu", [](const Var& a, const Var&) { return gelu(a); }},
      {"silu", [](const Var& a, const Var&) { return silu(a); }},
      {"sum", [](const Var& a, const Var&) { return sum(widened(a), {0}, true); }},
      {"mean",
       [](const Var& a, const Var&) {
         return mean(widened(a), {1, -1}, true);
       }},
      {"prod", [](const Var& a, const Var&) { return prod(widened(a), {2}, true); }},
      {"variance",
       [](const Var& a, const Var&) {
         return variance(widened(a), {0, 1});
       }},
      {"norm", [](const Var& a, const Var&) { return norm(positive(a)); }},
      {"logsumexp", [](const Var& a, const Var&) { return logsumexp(widened(a), {1}, true); }},
      {"cumsum", [](const Var& a, const Var&) { return cumsum(widened(a), 1); }},
      {"matmul", [](const Var& a, const Var& b) { return matmul(widened(a), widened(b)); }},
      {"matmul nT",
       [](const Var& a, const Var& b) { return matmul(widened(a), widened(b), NoTrans, Trans); }},
      {"linear",
       [](const Var& a, const Var& b) { return linear(widened(a), select(widened(b), 0, 1)); }},
      {"transpose", [](const Var& a, const Var&) { return transpose(widened(a)); }},
      {"permute",
       [](const Var& a, const Var&) {
         return permute(widened(a), {0, 2, 1});
       }},
      {"flip",
       [](const Var& a, const Var&) {
         return flip(widened(a), {1, 2});
       }},
      {"concat",
       [](const Var& a, const Var& b) {
         return slice(concat({widened(a), widened(b)}, 1), 1, 1, 4);
       }},
      {"split", [](const Var& a, const Var&) { return split(widened(a), 3, 2)[1]; }},
      {"gather",
       [](const Var& a, const Var&) {
         return gather(widened(a), 2, Ids(std::vector<std::int32_t>{2, 0, 0, 1, 1, 1}, {2, 3, 1}));
       }},
      {"masked_fill",
       [](const Var& a, const Var&) { return masked_fill(widened(a), uneven, 0.3); }},
      {"reverse", [](const Var& a, const Var&) { return reverse(widened(a), uneven); }},
      {"conv1d",
       [](const Var& a, const Var& b) {
         return slice(conv1d(widened(a), permute(widened(b), {1, 2, 0}), {.padding = 1}), 0, 1);
       }},
      {"softmax", [](const Var& a, const Var&) { return softmax(widened(a)); }},
      {"softmax lengths",
       [](const Var& a, const Var&) {
         return softmax(widened(a), Lengths({2, 3, 0}, 3));
       }},
      {"log_softmax", [](const Var& a, const Var&) { return log_softmax(widened(a)); }},
      {"causal_softmax", [](const Var& a, const Var&) { return causal_softmax(widened(a)); }},
      {"causal_log_softmax",
       [](const Var& a, const Var&) { return causal_log_softmax(widened(a)); }},
      {"cosine_similarity",
       [](const Var& a, const Var& b) {
         return unsqueeze(cosine_similarity(widened(positive(a)), widened(positive(b))), -1);
       }},
      {"layer_norm", [](const Var& a, const Var&) { return layer_norm(widened(a), 0.5); }},
  };
  return functions;
}

std::vector<Tensor> expression_inputs(std::uint64_t seed) {
  Rng rng(seed);
  std::vector<Tensor> inputs;
  for (const Shape& shape : {whole, Shape{3}, Shape{2, 1, 3}, Shape{3, 1}, Shape{}}) {
    inputs.push_back(uniform(shape, -1, 1, rng, DType::f64));
  }
  return inputs;
}

Expression::Expression(std::vector<Step> steps, std::span<const Tensor> inputs)
    : steps_(std::move(steps)), inputs_(inputs.size()) {
  const std::vector<Var> constants(inputs.begin(), inputs.end());
  evaluate(constants, [this](const Var& y) {
    double largest = 1;
    for (double value : y.value().to_vector()) largest = std::max(largest, std::abs(value));
    scales_.push_back(1 / largest);
  });
}

Var Expression::operator()(std::span<const Var> inputs) const {
  return evaluate(inputs, [](const Var&) {});
}

template <class Visit>
Var Expression::evaluate(std::span<const Var> inputs, const Visit& visit) const {
  std::vector<Var> values(inputs.begin(), inputs.end());
  std::vector<bool> used(inputs.size(), true);
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const std::size_t first = steps_[i].first % values.size();
    const std::size_t second = steps_[i].second % values.size();
    const Var y = smooth_functions()[steps_[i].function].f(values[first], values[second]);
    visit(y);
    values.push_back(y * scales_[i]);
    used[first] = used[second] = true;
    used.push_back(false);
  }
  Var total = scalar(0, DType::f64);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!used[i]) total = total + values[i];
  }
  return total;
}

std::string Expression::to_string() const {
  std::string text;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const std::size_t count = inputs_ + i;
    text += fmt::format("v{} = {} {}(v{}, v{})\n", count, scales_[i],
                        smooth_functions()[steps_[i].function].name, steps_[i].first % count,
                        steps_[i].second % count);
  }
  return text;
}

}  // namespace regrad::testing
