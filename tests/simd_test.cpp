#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "ops/simd/kernels.h"
#include "simd_check.h"

namespace regrad::ops {
namespace {

using namespace regrad::testing;

TEST_CASE("the environment can forbid wide instruction sets") {
  const char* variable = std::getenv("REGRAD_SIMD");
  const std::string wish = variable ? variable : "";
  const std::string set = simd::instruction_set();
  CHECK((set == "baseline" || set == "avx2" || set == "avx512"));
  if (wish == "baseline") CHECK(set == "baseline");
  if (wish == "avx2") CHECK(set != "avx512");
}

template <class T>
Run<T> mapped(Unary op) {
  return [op](const Columns<T>& inputs, Index offset) -> Columns<T> {
    Buffer<T> x(offset, inputs[0]), y(offset, inputs[0].size());
    simd::kernels<T>().map(op, x.data(), y.data(), static_cast<Index>(inputs[0].size()));
    return {y.column()};
  };
}

TEST_CASE_TEMPLATE("each element of map has one value wherever it stands", T, float, double) {
  using Function = long double (*)(long double);
  auto check = [](Unary op, const Columns<T>& inputs, Function f) {
    INFO("operation ", static_cast<int>(op));
    check_elementwise<T>(inputs, mapped<T>(op),
                         [f](auto& x) { return std::vector<long double>{f(x[0])}; });
  };
  Columns<T> any = random_columns<T>(1), positive = any;
  for (T& x : positive[0]) x = std::fabs(x) + T(0.2);
  using Number = long double;
  check(Unary::copy, any, [](Number x) { return x; });
  check(Unary::neg, any, [](Number x) { return -x; });
  check(Unary::abs, any, [](Number x) { return std::fabs(x); });
  check(Unary::sign, any, [](Number x) { return x > 0 ? 1.0L : -1.0L; });
  check(Unary::relu, any, [](Number x) { return std::max(x, 0.0L); });
  check(Unary::square, any, [](Number x) { return x * x; });
  check(Unary::sqrt, positive, [](Number x) { return std::sqrt(x); });
  check(Unary::rsqrt, positive, [](Number x) { return 1 / std::sqrt(x); });
  check(Unary::reciprocal, positive, [](Number x) { return 1 / x; });
  check(Unary::exp, any, [](Number x) { return std::exp(x); });
  check(Unary::expm1, any, [](Number x) { return std::expm1(x); });
  check(Unary::log, positive, [](Number x) { return std::log(x); });
  check(Unary::log1p, positive, [](Number x) { return std::log1p(x); });
  check(Unary::sin, any, [](Number x) { return std::sin(x); });
  check(Unary::cos, any, [](Number x) { return std::cos(x); });
  check(Unary::tanh, any, [](Number x) { return std::tanh(x); });
  check(Unary::sigmoid, any, [](Number x) { return 1 / (1 + std::exp(-x)); });
  check(Unary::softplus, any, [](Number x) { return std::log1p(std::exp(x)); });
  check(Unary::log_sigmoid, any, [](Number x) { return -std::log1p(std::exp(-x)); });
  check(Unary::erf, any, [](Number x) { return std::erf(x); });
  check(Unary::gelu, any, [](Number x) { return x * std::erfc(-x / std::sqrt(2.0L)) / 2; });
  any[0][5] = any[0][18] = T(3e30);  // left to the scalar functions, beside others that are not
  check(Unary::sin, any, [](Number x) { return std::sin(x); });
  check(Unary::cos, any, [](Number x) { return std::cos(x); });
}

TEST_CASE_TEMPLATE("each element of zip has one value wherever it stands", T, float, double) {
  using Number = long double;
  using Function = Number (*)(Number, Number);
  const std::pair<Binary, Function> operations[] = {
      {Binary::add, [](Number a, Number b) { return a + b; }},
      {Binary::sub, [](Number a, Number b) { return a - b; }},
      {Binary::mul, [](Number a, Number b) { return a * b; }},
      {Binary::div, [](Number a, Number b) { return a / b; }},
      {Binary::minimum, [](Number a, Number b) { return std::min(a, b); }},
      {Binary::maximum, [](Number a, Number b) { return std::max(a, b); }},
      {Binary::share, [](Number a, Number b) { return a > b    ? 0
                                                      : a == b ? 0.5L
                                                               : 1; }},
      {Binary::leaky_relu, [](Number a, Number b) { return a > 0 ? a : a * b; }},
      {Binary::elu, [](Number a, Number b) { return a > 0 ? a : std::expm1(a) * b; }},
      {Binary::relu_backward, [](Number a, Number b) { return b > 0 ? a : 0; }},
      {Binary::greater, [](Number a, Number b) -> Number { return a > b; }},
      {Binary::greater_equal, [](Number a, Number b) -> Number { return a >= b; }},
      {Binary::less, [](Number a, Number b) -> Number { return a < b; }},
      {Binary::less_equal, [](Number a, Number b) -> Number { return a <= b; }},
      {Binary::equal, [](Number a, Number b) -> Number { return a == b; }},
      {Binary::not_equal, [](Number a, Number b) -> Number { return a != b; }}};
  const T constant = T(-1.7);
  for (auto& [first, second] : operations) {
    const Binary op = first;
    const Function f = second;
    for (Index steps : {3, 1, 2, 0}) {
      Index a_step = steps & 1, b_step = steps >> 1;
      INFO("operation ", static_cast<int>(op), ", steps ", a_step, " and ", b_step);
      auto run = [=](const Columns<T>& inputs, Index offset) -> Columns<T> {
        Column<T> one{constant};
        Buffer<T> a(offset, a_step ? inputs[0] : one), b(offset, b_step ? inputs[1] : one);
        Buffer<T> y(offset, inputs[0].size());
        auto n = static_cast<Index>(inputs[0].size());
        simd::kernels<T>().zip(op, a.data(), a_step, b.data(), b_step, y.data(), n);
        return {y.column()};
      };
      Columns<T> inputs = random_columns<T>(2);
      for (std::size_t i = 0; i < inputs[0].size(); i += 3) inputs[0][i] = inputs[1][i];
      check_elementwise<T>(inputs, run, [=](auto& x) {
        return std::vector<long double>{f(a_step ? x[0] : constant, b_step ? x[1] : constant)};
      });
    }
  }
}

TEST_CASE_TEMPLATE("each element of pow and select has one value wherever it stands", T, float,
                   double) {
  auto pow = [=](const Columns<T>& inputs, Index offset) -> Columns<T> {
    Buffer<T> a(offset, inputs[0]), b(offset, inputs[1]), y(offset, inputs[0].size());
    simd::kernels<T>().zip(Binary::pow, a.data(), 1, b.data(), 1, y.data(),
                           Index(inputs[0].size()));
    return {y.column()};
  };
  Columns<T> bases = random_columns<T>(2);
  for (T& x : bases[0]) x = std::fabs(x);
  check_elementwise<T>(bases, pow,
                       [](auto& x) { return std::vector<long double>{std::pow(x[0], x[1])}; });
  Column<T> half{T(0.5)};
  for (int steps = 0; steps < 8; ++steps) {
    auto select = [=](const Columns<T>& in, Index offset) -> Columns<T> {
      Buffer<T> c(offset, steps & 1 ? in[0] : half), a(offset, steps & 2 ? in[1] : half);
      Buffer<T> b(offset, steps & 4 ? in[2] : half), y(offset, in[0].size());
      simd::kernels<T>().select(c.data(), steps & 1, a.data(), steps >> 1 & 1, b.data(), steps >> 2,
                                y.data(), Index(in[0].size()));
      return {y.column()};
    };
    Columns<T> inputs = random_columns<T>(3);
    for (std::size_t i = 0; i < inputs[0].size(); i += 3) inputs[0][i] = i % 2 ? T(0) : T(-0.0);
    check_elementwise<T>(inputs, select, [=](auto& x) {
      bool first = !(steps & 1) || x[0] != 0;
      long double a = steps & 2 ? x[1] : 0.5L, b = steps & 4 ? x[2] : 0.5L;
      return std::vector<long double>{first ? a : b};
    });
  }
}

TEST_CASE_TEMPLATE("affine and accumulate: one value wherever an element stands", T, float,
                   double) {
  const T scale = T(1.3), shift = T(-0.6);
  auto affine = [=](const Columns<T>& inputs, Index offset) -> Columns<T> {
    Buffer<T> x(offset, inputs[0]), y(offset, inputs[0].size());
    simd::kernels<T>().affine(x.data(), scale, shift, y.data(), Index(inputs[0].size()));
    return {y.column()};
  };
  check_elementwise<T>(random_columns<T>(1), affine,
                       [=](auto& x) { return std::vector<long double>{x[0] * scale + shift}; });
  auto accumulate = [=](const Columns<T>& inputs, Index offset) -> Columns<T> {
    Buffer<T> y(offset, inputs[0]), x(offset, inputs[1]);
    simd::kernels<T>().accumulate(y.data(), x.data(), scale, Index(inputs[0].size()));
    return {y.column()};
  };
  check_elementwise<T>(random_columns<T>(2), accumulate,
                       [=](auto& x) { return std::vector<long double>{x[0] + scale * x[1]}; });
  const double far = 1e4 + 1e-5;  // in f32 no such number exists
  auto exp_minus = [=](const Columns<T>& inputs, Index offset) -> Columns<T> {
    Buffer<T> x(offset, inputs[0]), y(offset, inputs[0].size());
    const T high = static_cast<T>(far), low = static_cast<T>(far - high);
    simd::kernels<T>().exp_minus(x.data(), {high, low}, scale, y.data(), Index(inputs[0].size()));
    return {y.column()};
  };
  Columns<T> large = random_columns<T>(1);
  for (T& x : large[0]) x += T(1e4 - 3);
  check_elementwise<T>(large, exp_minus, [=](auto& x) {
    return std::vector<long double>{scale * std::exp(x[0] - static_cast<long double>(far))};
  });
}

}  // namespace
}  // namespace regrad::ops
