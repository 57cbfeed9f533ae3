#pragma once

#include <cmath>
#include <initializer_list>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "autograd/functions.h"
#include "autograd/tape.h"

namespace regrad::testing {

inline constexpr double inf = std::numeric_limits<double>::infinity();

inline constexpr DType both_types[] = {DType::f32, DType::f64};

// The gradient of sum(f(x)).
template <class F>
std::vector<double> gradient_of(const F& f, const Tensor& x) {
  Tape tape;
  Var v = tape.variable(x);
  return tape.backward(sum(f(v)))[v].to_vector();
}

// Each value near the expected one, relative to it; NaN where NaN is expected.
inline void check_values(const std::vector<double>& values, const std::vector<double>& expected,
                         double tolerance = 1e-6) {
  REQUIRE(values.size() == expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    INFO("value ", i, " is ", values[i], ", not ", expected[i]);
    bool near = values[i] == expected[i] ||
                std::fabs(values[i] - expected[i]) <= tolerance * std::fabs(expected[i]);
    CHECK((std::isnan(expected[i]) ? std::isnan(values[i]) : near));
  }
}

inline void check_values(const Var& y, const Shape& shape, const std::vector<double>& expected,
                         double tolerance = 1e-6) {
  CHECK(y.shape() == shape);
  check_values(y.value().to_vector(), expected, tolerance);
}

}  // namespace regrad::testing
