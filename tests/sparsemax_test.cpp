#include "ops/sparsemax.h"

#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "ops_check.h"

namespace regrad::ops {
namespace {

using namespace regrad::testing;

constexpr double infinity = std::numeric_limits<double>::infinity();

// Σ max(scale x - τ, 0)^power = 1 by bisection.
std::vector<double> by_bisection(std::vector<double> x, double scale, double power) {
  double largest = -infinity;
  for (const double value : x) largest = std::max(largest, value);
  double low = -1, high = 0;
  const auto entry = [&](double value, double tau) {
    return std::pow(std::max(scale * (value - largest) - tau, 0.0), power);
  };
  for (int i = 0; i < 100; ++i) {
    const double tau = (low + high) / 2;
    double sum = 0;
    for (const double value : x) sum += entry(value, tau);
    (sum > 1 ? low : high) = tau;
  }
  for (double& value : x) value = entry(value, high);
  return x;
}

Tensor rounded(const Tensor& x, double unit) {  // so that there are ties
  std::vector<double> values = x.to_vector();
  for (double& value : values) value = std::round(value / unit) * unit;
  return tensor(values, x.shape(), x.dtype());
}

}  // namespace

TEST_CASE_TEMPLATE("sparsemax and entmax solve their equation", T, float, double) {
  for (const Index size : {1, 2, 3, 7, 40, 300}) {
    for (const double scale : {1e-3, 0.3, 1.0, 4.0, 1e4}) {
      CAPTURE(size);
      CAPTURE(scale);
      Rng rng(static_cast<std::uint64_t>(size));
      const Tensor x = rounded(normal({1, size}, scale, scale, rng, dtype_of<T>()), scale / 8);
      const double tolerance = sizeof(T) == 4 ? 1e-7 : 1e-14;
      const std::vector<double> values = x.to_vector();
      const Tensor expected_sparse = tensor(by_bisection(values, 1, 1), x.shape(), x.dtype());
      const Tensor expected_entmax = tensor(by_bisection(values, 0.5, 2), x.shape(), x.dtype());
      CHECK(difference(sparsemax(x), expected_sparse) < tolerance);
      CHECK(difference(entmax(x), expected_entmax) < tolerance);
    }
  }
}

TEST_CASE("sparsemax and entmax of extremes") {
  const double nan = std::nan("");
  for (const auto& f : {sparsemax, entmax}) {
    CHECK(identical(f(tensor({1e308, -1e308, 0}, DType::f64), nullptr),
                    tensor({1, 0, 0}, DType::f64)));
    CHECK(identical(f(tensor({-infinity, 2, -infinity}, DType::f64), nullptr),
                    tensor({0, 1, 0}, DType::f64)));
    CHECK(
        identical(f(tensor({-infinity, -infinity}, DType::f64), nullptr), zeros({2}, DType::f64)));
    CHECK(identical(f(tensor({5, 5, 5, 5}), nullptr), tensor({0.25, 0.25, 0.25, 0.25})));
    for (const double bad : {nan, infinity}) {
      for (const double value : f(tensor({0, bad, 1}, DType::f64), nullptr).to_vector()) {
        CHECK(std::isnan(value));
      }
    }
    CHECK(f(zeros({2, 0}), nullptr).shape() == Shape{2, 0});
  }
}

TEST_CASE("sparsemax and entmax of lengths do not read what lies behind them") {
  const Lengths lengths({3, 0, 1}, 4);
  Rng rng(1);
  const Tensor x = normal({2, 3, 4}, 0, 1, rng, DType::f64);
  for (const auto& f : {sparsemax, entmax}) {
    std::vector<double> values = x.to_vector();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto position = static_cast<Index>(i);
      if (!lengths.valid(position % 4, position / 4 % 3)) values[i] = std::nan("");
    }
    const Tensor y = f(x, &lengths);
    CHECK(identical(f(tensor(values, x.shape(), DType::f64), &lengths), y));
    CHECK(identical(y[0][1], zeros({4}, DType::f64)));
    CHECK(identical(y[1][2], tensor({1, 0, 0, 0}, DType::f64)));
    CHECK(identical(y[1][0].narrow(0, 3), f(x[1][0].narrow(0, 3), nullptr)));
  }
}

TEST_CASE("sparsemax and entmax of tensors without rows are errors") {
  const Lengths lengths({3, 2}, 3);
  CHECK(message_of([] { sparsemax(scalar(1)); }) == "sparsemax: shape [] has no rows");
  CHECK(message_of([&] { entmax(zeros({3}), &lengths); }) ==
        "entmax: shape [3] has no rows [..., batch, time]");
  CHECK(message_of([&] {
          entmax(zeros({2, 4}), &lengths);
        }) == "entmax: lengths are of 2 sequences of up to 3 steps, the input of 2 of 4");
}

}  // namespace regrad::ops
