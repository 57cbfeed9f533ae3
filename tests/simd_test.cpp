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

TEST_CASE("the environment can forbid AVX2") {
  const char* wish = std::getenv("REGRAD_SIMD");
  const std::string set = simd::instruction_set();
  CHECK((set == "baseline" || set == "avx2"));
  if (wish && std::string(wish) == "baseline") CHECK(set == "baseline");
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
  auto check = [](Unary op, Function f, const Columns<T>& inputs) {
    INFO("operation ", static_cast<int>(op));
    check_elementwise<T>(inputs, mapped<T>(op),
                         [f](auto& x) { return std::vector<long double>{f(x[0])}; });
  };
  Columns<T> any = random_columns<T>(1), positive = any;
  for (T& x : positive[0]) x = std::fabs(x) + T(0.01);
  check(
      Unary::copy, [](long double x) { return x; }, any);
  check(
      Unary::neg, [](long double x) { return -x; }, any);
  check(
      Unary::exp, [](long double x) { return std::exp(x); }, any);
  check(
      Unary::log, [](long double x) { return std::log(x); }, positive);
  check(
      Unary::square, [](long double x) { return x * x; }, any);
  check(
      Unary::sqrt, [](long double x) { return std::sqrt(x); }, positive);
  check(
      Unary::tanh, [](long double x) { return std::tanh(x); }, any);
  check(
      Unary::sigmoid, [](long double x) { return 1 / (1 + std::exp(-x)); }, any);
  check(
      Unary::relu, [](long double x) { return std::max(x, 0.0L); }, any);
  check(
      Unary::positive, [](long double x) { return x > 0 ? 1.0L : 0.0L; }, any);
}

TEST_CASE_TEMPLATE("each element of zip has one value wherever it stands", T, float, double) {
  using Function = long double (*)(long double, long double);
  const std::pair<Binary, Function> operations[] = {
      {Binary::add, [](long double a, long double b) { return a + b; }},
      {Binary::sub, [](long double a, long double b) { return a - b; }},
      {Binary::mul, [](long double a, long double b) { return a * b; }},
      {Binary::div, [](long double a, long double b) { return a / b; }}};
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
      check_elementwise<T>(random_columns<T>(2), run, [=](auto& x) {
        return std::vector<long double>{f(a_step ? x[0] : constant, b_step ? x[1] : constant)};
      });
    }
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
    simd::kernels<T>().exp_minus(x.data(), far, scale, y.data(), Index(inputs[0].size()));
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
