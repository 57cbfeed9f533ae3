#include "autograd/derivatives.h"

#include <cmath>

#include <doctest/doctest.h>

#include "autograd/functions.h"

using namespace regrad;

namespace {

const Tensor point = tensor({0.5, -1.2, 2.0}, DType::f64);

// x₀² x₁ + e^{x₁} x₂
Var polynomial(const Var& x) {
  Var a = select(x, 0, 0), b = select(x, 0, 1), c = select(x, 0, 2);
  return a * a * b + exp(b) * c;
}

void check(const Tensor& actual, const Shape& shape, const std::vector<double>& expected) {
  REQUIRE(actual.shape() == shape);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(actual.to_vector()[i] == doctest::Approx(expected[i]).epsilon(1e-12));
  }
}

}  // namespace

TEST_CASE("the Jacobian of a map from three to two") {
  auto f = [](const Var& x) {
    Var a = select(x, 0, 0), b = select(x, 0, 1), c = select(x, 0, 2);
    return stack(std::vector<Var>{a * b, sqrt(c) * a});
  };
  double root = std::sqrt(2.0);
  check(jacobian(f, point), {2, 3}, {-1.2, 0.5, 0, root, 0, 0.5 / (2 * root)});
}

TEST_CASE("the Jacobian of a matrix by a matrix has both shapes") {
  Tensor x = tensor({{1, 2}, {3, 4}}, DType::f64);
  Tensor j = jacobian([](const Var& v) { return transpose(v); }, x);
  CHECK(j.shape() == Shape{2, 2, 2, 2});
  CHECK(j.at({0, 1, 1, 0}) == 1);
  CHECK(j.at({0, 1, 0, 1}) == 0);
}

TEST_CASE("the Hessian") {
  double a = 0.5, b = -1.2, c = 2, e = std::exp(b);
  check(hessian(polynomial, point), {3, 3}, {2 * b, 2 * a, 0, 2 * a, e * c, e, 0, e, 0});
}

TEST_CASE("hvp is the Hessian times the vector") {
  Tensor v = tensor({0.3, -0.7, 1.1}, DType::f64);
  Tensor h = hessian(polynomial, point);
  std::vector<double> expected(3, 0.0);
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t k = 0; k < 3; ++k) {
      expected[i] += h.to_vector()[3 * i + k] * v.to_vector()[k];
    }
  }
  check(hvp(polynomial, point, v), {3}, expected);
}

TEST_CASE("jvp is the Jacobian times the vector") {
  auto f = [](const Var& x) { return softmax(x * x) * 3; };
  Tensor v = tensor({0.3, -0.7, 1.1}, DType::f64);
  Tensor j = jacobian(f, point);
  std::vector<double> expected(3, 0.0);
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t k = 0; k < 3; ++k) {
      expected[i] += j.to_vector()[3 * i + k] * v.to_vector()[k];
    }
  }
  check(jvp(f, point, v), {3}, expected);
}

TEST_CASE("constant and linear functions") {
  auto constant = [](const Var&) { return Var(scalar(2, DType::f64)); };
  auto linear_map = [](const Var& x) { return sum(x * 3); };
  check(jacobian(constant, point), {3}, {0, 0, 0});
  check(hessian(constant, point), {3, 3}, std::vector<double>(9, 0.0));
  check(hessian(linear_map, point), {3, 3}, std::vector<double>(9, 0.0));
  check(jvp(constant, point, point), {}, {0});
}

TEST_CASE("what does not fit is an error") {
  CHECK_THROWS_WITH_AS(hessian([](const Var& x) { return x; }, point),
                       doctest::Contains("[3], not one element"), Error);
  CHECK_THROWS_WITH_AS(hvp(polynomial, point, tensor({1, 2}, DType::f64)),
                       doctest::Contains("hvp: the vector has shape [2]"), Error);
  CHECK_THROWS_WITH_AS(jvp(polynomial, point, tensor({1, 2, 3})), doctest::Contains("jvp"), Error);
}
