#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include <doctest/doctest.h>

#include "ops/rng.h"
#include "ops/simd/kernels.h"

// How near the functions come to their true values, and what they make of numbers that are none.
namespace regrad::ops {
namespace {

template <class T>
std::vector<T> mapped(Unary op, const std::vector<T>& x) {
  std::vector<T> y(x.size());
  simd::kernels<T>().map(op, x.data(), y.data(), static_cast<Index>(x.size()));
  return y;
}

template <class T>
T mapped(Unary op, T x) {
  return mapped(op, std::vector<T>{x})[0];
}

template <class T>
void add_grid(std::vector<T>& values, int count, double low, double high) {
  for (int i = 0; i < count; ++i) values.push_back(static_cast<T>(low + i * (high - low) / count));
}

// Numbers of every exponent and both signs, and more where the functions have their bends.
template <class T>
std::vector<T> sweep() {
  std::vector<T> values;
  if constexpr (sizeof(T) == 4) {
    for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 5003) {
      values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    }
    add_grid(values, 100'000, -110, 110);
  } else {
    Rng rng(1);
    for (int i = 0; i < 100'000; ++i) {
      values.push_back(std::bit_cast<double>(std::uint64_t{rng.bits()} << 32 | rng.bits()));
    }
    add_grid(values, 100'000, -760, 760);
    add_grid(values, 50'000, -40, 40);
  }
  add_grid(values, 50'000, -2, 2);
  const int quarters = sizeof(T) == 4 ? 1200 : 1'100'000;  // next to each zero of sin and cos
  for (int k = 0; k < quarters; k += 1 + k / 1000) {
    values.push_back(static_cast<T>(k * std::numbers::pi_v<long double> / 2));
  }
  return values;
}

// |y - exact| in units of exact's last place. Results below the normal numbers may be 0.
template <class T>
double error_in_ulps(T y, long double exact) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(exact)) return std::isnan(y) ? 0 : INFINITY;
  if (std::isinf(static_cast<T>(exact))) return y == static_cast<T>(exact) ? 0 : INFINITY;
  if (std::fabs(exact) < Limits::min()) {
    return std::fabs(y) <= Limits::min() && y * exact >= 0 ? 0 : INFINITY;
  }
  int exponent;
  std::frexp(exact, &exponent);
  return static_cast<double>(std::fabs(y - exact) / std::ldexp(1.0L, exponent - Limits::digits));
}

template <class T, class F>
double worst_error(Unary op, const std::vector<T>& x, const F& exact) {
  std::vector<T> y = mapped(op, x);
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    worst = std::max(worst, error_in_ulps(y[i], exact(static_cast<long double>(x[i]))));
  }
  return worst;
}

long double exact_sigmoid(long double x) { return 1 / (1 + std::exp(-x)); }

long double exact_softplus(long double x) {
  return std::max(x, 0.0L) + std::log1p(std::exp(-std::fabs(x)));
}

// Measured with AVX2 and without: exp 1.05, expm1 1.8, log 1.2, log1p 1.5, sin 2.1, cos 2.3, tanh
// 2.5,
// sigmoid 2.2, softplus 1.9, erf 2.3, rsqrt 1.5.
TEST_CASE_TEMPLATE("the functions are accurate over the whole range", T, float, double) {
  std::vector<T> x = sweep<T>();
  CHECK(worst_error<T>(Unary::exp, x, [](long double v) { return std::exp(v); }) < 1.5);
  CHECK(worst_error<T>(Unary::log, x, [](long double v) { return std::log(v); }) < 1.5);
  CHECK(worst_error<T>(Unary::tanh, x, [](long double v) { return std::tanh(v); }) < 3);
  CHECK(worst_error<T>(Unary::sigmoid, x, exact_sigmoid) < 3);
  CHECK(worst_error<T>(Unary::expm1, x, [](long double v) { return std::expm1(v); }) < 3);
  CHECK(worst_error<T>(Unary::log1p, x, [](long double v) { return std::log1p(v); }) < 3);
  CHECK(worst_error<T>(Unary::sin, x, [](long double v) { return std::sin(v); }) < 3);
  CHECK(worst_error<T>(Unary::cos, x, [](long double v) { return std::cos(v); }) < 3);
  CHECK(worst_error<T>(Unary::erf, x, [](long double v) { return std::erf(v); }) < 3);
  CHECK(worst_error<T>(Unary::softplus, x, exact_softplus) < 3);
  CHECK(worst_error<T>(Unary::log_sigmoid, x, [](long double v) { return -exact_softplus(-v); }) <
        3);
  CHECK(worst_error<T>(Unary::rsqrt, x, [](long double v) { return 1 / std::sqrt(v); }) < 3);
}

template <class T>
bool same(T a, T b) {  // and of one sign, so that 0 is not -0
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

TEST_CASE_TEMPLATE("the functions at 0, infinity and NaN", T, float, double) {
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const T zero = 0;
  // NaN of every payload: one bit each.
  for (int bit = 0; bit < std::numeric_limits<T>::digits - 1; ++bit) {
    using Word = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    T odd = std::bit_cast<T>(static_cast<Word>(std::bit_cast<Word>(nan) | Word{1} << bit));
    for (int i = 0; i <= static_cast<int>(Unary::gelu); ++i) {
      auto op = static_cast<Unary>(i);
      if (op == Unary::sign) continue;
      INFO("operation ", static_cast<int>(op), ", bit ", bit);
      REQUIRE(std::isnan(mapped(op, odd)));
      REQUIRE(std::isnan(mapped(op, -odd)));
    }
    REQUIRE(mapped(Unary::sign, odd) == 0);
  }
  struct Case {
    Unary op;
    T at_inf, at_minus_inf, at_zero, at_minus_zero;
  };
  const Case cases[] = {{Unary::copy, inf, -inf, zero, -zero},
                        {Unary::neg, -inf, inf, -zero, zero},
                        {Unary::exp, inf, zero, 1, 1},
                        {Unary::log, inf, nan, -inf, -inf},
                        {Unary::square, inf, inf, zero, zero},
                        {Unary::sqrt, inf, nan, zero, -zero},
                        {Unary::tanh, 1, -1, zero, -zero},
                        {Unary::sigmoid, 1, zero, T(0.5), T(0.5)},
                        {Unary::relu, inf, zero, zero, -zero},
                        {Unary::abs, inf, inf, zero, zero},
                        {Unary::sign, 1, -1, zero, zero},
                        {Unary::rsqrt, zero, nan, inf, -inf},
                        {Unary::reciprocal, zero, -zero, inf, -inf},
                        {Unary::expm1, inf, -1, zero, -zero},
                        {Unary::log1p, inf, nan, zero, -zero},
                        {Unary::sin, nan, nan, zero, -zero},
                        {Unary::cos, nan, nan, 1, 1},
                        {Unary::softplus, inf, zero, std::log(T(2)), std::log(T(2))},
                        {Unary::log_sigmoid, zero, -inf, -std::log(T(2)), -std::log(T(2))},
                        {Unary::erf, 1, -1, zero, -zero},
                        {Unary::gelu, inf, nan, zero, -zero}};
  for (const Case& wanted : cases) {
    INFO("operation ", static_cast<int>(wanted.op));
    CHECK(same(mapped(wanted.op, inf), wanted.at_inf));
    CHECK(same(mapped(wanted.op, -inf), wanted.at_minus_inf));
    CHECK(same(mapped(wanted.op, zero), wanted.at_zero));
    CHECK(same(mapped(wanted.op, -zero), wanted.at_minus_zero));
  }
}

TEST_CASE_TEMPLATE("operations of two at infinity and NaN", T, float, double) {
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  auto zip = [](Binary op, T a, T b) {
    std::vector<T> y(9);
    std::vector<T> left(9, a), right(9, b);
    simd::kernels<T>().zip(op, left.data(), 1, right.data(), 1, y.data(), 9);
    REQUIRE(same(y[8], y[0]));
    return y[0];
  };
  for (T x : {T(0), T(1), -inf, inf, nan}) {
    for (auto [a, b] : {std::pair(x, nan), std::pair(nan, x)}) {
      for (Binary op :
           {Binary::add, Binary::sub, Binary::mul, Binary::div, Binary::minimum, Binary::maximum}) {
        CHECK(std::isnan(zip(op, a, b)));
      }
      for (Binary op : {Binary::greater, Binary::greater_equal, Binary::less, Binary::less_equal,
                        Binary::equal}) {
        CHECK(zip(op, a, b) == 0);
      }
      CHECK(zip(Binary::not_equal, a, b) == 1);
      CHECK(zip(Binary::share, a, b) == 1);
    }
    CHECK(zip(Binary::pow, x, 0) == 1);
    CHECK(zip(Binary::pow, 1, x) == 1);
    T selected = 0;
    simd::kernels<T>().select(&nan, 0, &x, 0, &inf, 0, &selected, 1);
    CHECK(same(selected, x));
  }
  CHECK(zip(Binary::maximum, -inf, inf) == inf);
  CHECK(zip(Binary::minimum, -inf, inf) == -inf);
  CHECK(zip(Binary::equal, inf, inf) == 1);
  CHECK(zip(Binary::share, -inf, -inf) == T(0.5));
  CHECK(zip(Binary::equal, T(0), T(-0.0)) == 1);
  CHECK(zip(Binary::elu, -inf, 2) == -2);
  CHECK(zip(Binary::leaky_relu, -inf, T(0.1)) == -inf);
  CHECK(same(zip(Binary::pow, T(-2), 3), T(-8)));
  CHECK(std::isnan(zip(Binary::pow, T(-2), T(0.5))));
}

TEST_CASE_TEMPLATE("the functions at huge and tiny numbers", T, float, double) {
  using Limits = std::numeric_limits<T>;
  const T inf = Limits::infinity(), tiny = Limits::denorm_min();
  for (T x : {tiny, 5 * tiny, Limits::min(), T(1.5) * Limits::min()}) {
    CHECK(mapped(Unary::tanh, x) == x);
    CHECK(mapped(Unary::tanh, -x) == -x);
    CHECK(mapped(Unary::exp, x) == 1);
    CHECK(mapped(Unary::exp, -x) == 1);
    CHECK(mapped(Unary::sigmoid, -x) == T(0.5));
    CHECK(mapped(Unary::relu, x) == x);
    CHECK(mapped(Unary::relu, -x) == 0);
    CHECK(error_in_ulps(mapped(Unary::sqrt, x), std::sqrt(static_cast<long double>(x))) <= 0.5);
    CHECK(std::isnan(mapped(Unary::log, -x)));
    for (Unary op : {Unary::expm1, Unary::log1p, Unary::sin}) {
      INFO("operation ", static_cast<int>(op));
      CHECK(mapped(op, x) == x);
      CHECK(mapped(op, -x) == -x);
    }
    CHECK(mapped(Unary::cos, x) == 1);
    CHECK(mapped(Unary::abs, -x) == x);
    CHECK(mapped(Unary::sign, -x) == -1);
  }
  for (T x : {T(1e4), Limits::max()}) {
    CHECK(mapped(Unary::tanh, x) == 1);
    CHECK(mapped(Unary::tanh, -x) == -1);
    CHECK(mapped(Unary::exp, x) == inf);
    CHECK(mapped(Unary::exp, -x) == 0);
    CHECK(mapped(Unary::sigmoid, x) == 1);
    CHECK(mapped(Unary::sigmoid, -x) == 0);
    CHECK(mapped(Unary::softplus, x) == x);
    CHECK(mapped(Unary::softplus, -x) == 0);
    CHECK(mapped(Unary::log_sigmoid, x) == 0);
    CHECK(mapped(Unary::log_sigmoid, -x) == -x);
    CHECK(mapped(Unary::erf, x) == 1);
    CHECK(mapped(Unary::gelu, x) == x);
    CHECK(mapped(Unary::gelu, -x) == 0);
    CHECK(mapped(Unary::expm1, x) == inf);
    CHECK(mapped(Unary::expm1, -x) == -1);
    CHECK(std::isnan(mapped(Unary::log, -x)));
  }
  for (T x : {T(-104), T(-89), T(-88.7), T(-87.4), T(-87.3), T(88.7), T(89), T(104), T(709.7),
              T(709.79), T(-708.3), T(-708.4), T(-746)}) {
    INFO("at ", x);
    long double exact = x;
    CHECK(error_in_ulps(mapped(Unary::exp, x), std::exp(exact)) < 2);
    CHECK(error_in_ulps(mapped(Unary::expm1, x), std::expm1(exact)) < 2);
    CHECK(error_in_ulps(mapped(Unary::sigmoid, x), exact_sigmoid(exact)) < 3);
  }
}

}  // namespace
}  // namespace regrad::ops
