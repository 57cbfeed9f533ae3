#include "ops/elementwise.h"

#include <cmath>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "ops_check.h"

namespace regrad::ops {
namespace {

using namespace regrad::testing;

const Shape shapes[] = {{},        {1},       {3},       {0},          {1, 1},      {2, 3},
                        {1, 3},    {2, 1},    {2, 0},    {4, 2, 3},    {4, 1, 3},   {1, 2, 1},
                        {4, 1, 1}, {1, 1, 3}, {0, 2, 3}, {2, 4, 2, 3}, {2, 1, 2, 1}};

bool broadcasts(const Shape& a, const Shape& b) {
  return message_of([&] { broadcast(a, b, ""); }).empty();
}

TEST_CASE_TEMPLATE("zip broadcasts as NumPy does", T, float, double) {
  int pairs = 0;
  for (const Shape& s : shapes) {
    for (const Shape& t : shapes) {
      if (!broadcasts(s, t)) continue;
      ++pairs;
      Tensor a = random_tensor(s, dtype_of<T>(), 1), b = random_tensor(t, dtype_of<T>(), 2);
      Shape shape = broadcast(s, t, "");
      INFO(to_string(s), " with ", to_string(t));
      for (Binary op : {Binary::add, Binary::sub, Binary::mul, Binary::div}) {
        Tensor y = zip(op, a, b);
        REQUIRE(y.shape() == shape);
        REQUIRE(y.dtype() == dtype_of<T>());
        for (Index i = 0; i < y.size(); ++i) {
          T u = a.data<T>()[source_of(i, s, shape)], v = b.data<T>()[source_of(i, t, shape)];
          T wanted = op == Binary::add   ? u + v
                     : op == Binary::sub ? u - v
                     : op == Binary::mul ? u * v
                                         : u / v;
          REQUIRE(y.data<T>()[i] == wanted);
        }
      }
    }
  }
  CHECK(pairs > 100);
}

TEST_CASE("zip_into computes in the storage of an operand that nobody else sees") {
  const Tensor b = tensor({10, 20}), row = tensor({{1, 1}, {1, 1}});
  Tensor a = tensor({1, 2});
  const float* storage = a.data<float>();
  zip_into(Binary::sub, a, b);
  CHECK(a.data<float>() == storage);
  CHECK(identical(a, tensor({-9, -18})));
  const Tensor seen = a;
  zip_into(Binary::add, a, b);
  CHECK(identical(a, tensor({1, 2})));
  CHECK(identical(seen, tensor({-9, -18})));
  zip_into(Binary::add, a, row);
  CHECK(identical(a, tensor({{2, 3}, {2, 3}})));
  CHECK(message_of([&] { zip_into(Binary::add, a, row.to(DType::f64)); }) ==
        "add: f32 [2, 2] with f64 [2, 2]; convert one of them with to()");
}

TEST_CASE("zip refuses shapes and types that do not fit") {
  Tensor a = zeros({2, 3}), b = zeros({4});
  CHECK(message_of([&] { zip(Binary::add, a, b); }) ==
        "add: shapes [2, 3] and [4] do not broadcast: 3 against 4 at axis -1");
  CHECK(message_of([&] { zip(Binary::sub, a, b); }).substr(0, 5) == "sub: ");
  CHECK(message_of([&] { zip(Binary::mul, a, b); }).substr(0, 5) == "mul: ");
  CHECK(message_of([&] { zip(Binary::div, a, b); }).substr(0, 5) == "div: ");
  CHECK(message_of([&] { zip(Binary::mul, a, a.to(DType::f64)); }) ==
        "mul: f32 [2, 3] with f64 [2, 3]; convert one of them with to()");
}

TEST_CASE_TEMPLATE("map keeps shape and type", T, float, double) {
  for (const Shape& shape : shapes) {
    Tensor x = random_tensor(shape, dtype_of<T>());
    Tensor y = map(Unary::square, x);
    CHECK(y.shape() == shape);
    CHECK(y.dtype() == dtype_of<T>());
    for (Index i = 0; i < x.size(); ++i) {
      CHECK(y.data<T>()[i] == x.data<T>()[i] * x.data<T>()[i]);
    }
  }
}

TEST_CASE("map applies the operation that it is told") {
  Tensor x = tensor({0.25, 4}, DType::f64);
  auto at = [&](Unary op, Index i) { return map(op, x).at({i}); };
  CHECK(at(Unary::copy, 0) == 0.25);
  CHECK(at(Unary::neg, 1) == -4);
  CHECK(at(Unary::exp, 0) == doctest::Approx(std::exp(0.25)).epsilon(1e-14));
  CHECK(at(Unary::log, 1) == doctest::Approx(std::log(4)).epsilon(1e-14));
  CHECK(at(Unary::square, 1) == 16);
  CHECK(at(Unary::sqrt, 0) == 0.5);
  CHECK(at(Unary::tanh, 0) == doctest::Approx(std::tanh(0.25)).epsilon(1e-14));
  CHECK(at(Unary::sigmoid, 1) == doctest::Approx(1 / (1 + std::exp(-4))).epsilon(1e-14));
  CHECK(map(Unary::relu, tensor({-2, 0, 3})).to_vector() == std::vector<double>{0, 0, 3});
  CHECK(map(Unary::sign, tensor({-2, 0, 3})).to_vector() == std::vector<double>{-1, 0, 1});
}

TEST_CASE("affine scales and shifts") {
  CHECK(affine(tensor({{1, -2}, {0, 4}}), 3, 0.5).to_vector() ==
        std::vector<double>{3.5, -5.5, 0.5, 12.5});
  CHECK(affine(zeros({0}), 3, 1).size() == 0);
}

TEST_CASE("accumulate adds in place, without touching what others see") {
  Tensor y = tensor({1, 2, 3}), x = tensor({10, 20, 30}), before = y;
  accumulate(y, x, 0.5);
  CHECK(y.to_vector() == std::vector<double>{6, 12, 18});
  CHECK(before.to_vector() == std::vector<double>{1, 2, 3});
  accumulate(y, y);
  CHECK(y.to_vector() == std::vector<double>{12, 24, 36});
  Tensor shared = y;
  accumulate(shared, y, -1);
  CHECK(shared.to_vector() == std::vector<double>{0, 0, 0});
  CHECK(y.to_vector() == std::vector<double>{12, 24, 36});
  accumulate(y, y.reshape({3}), 2);
  CHECK(y.to_vector() == std::vector<double>{36, 72, 108});
  CHECK(message_of([&] { accumulate(y, zeros({1, 3})); }) == "accumulate: shapes [3] and [1, 3]");
  CHECK(message_of([&] { accumulate(y, zeros({3}, DType::f64)); }) ==
        "accumulate: f32 [3] with f64 [3]; convert one of them with to()");
}

TEST_CASE("scale multiplies in place, without touching what others see") {
  Tensor y = tensor({1, -2});
  const float* storage = y.data<float>();
  scale(y, 0.5);
  CHECK(y.data<float>() == storage);
  const Tensor seen = y;
  scale(y, 4);
  CHECK(identical(seen, tensor({0.5, -1})));
  CHECK(identical(y, tensor({2, -4})));
}

TEST_CASE_TEMPLATE("expand repeats, sum_to is its adjoint", T, float, double) {
  int pairs = 0;
  for (const Shape& s : shapes) {
    for (const Shape& t : shapes) {
      if (!broadcasts(s, t) || !(broadcast(s, t, "") == t)) continue;
      ++pairs;
      INFO(to_string(s), " to ", to_string(t));
      Tensor x = random_tensor(s, dtype_of<T>(), 1), g = random_tensor(t, dtype_of<T>(), 2);
      Tensor y = expand(x, t), sums = sum_to(g, s);
      REQUIRE(y.shape() == t);
      REQUIRE(sums.shape() == s);
      std::vector<double> wanted(static_cast<std::size_t>(s.size()));
      for (Index i = 0; i < y.size(); ++i) {
        REQUIRE(y.data<T>()[i] == x.data<T>()[source_of(i, s, t)]);
        wanted[source_of(i, s, t)] += g.data<T>()[i];
      }
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        CHECK(std::abs(sums.to_vector()[i] - wanted[i]) < (sizeof(T) == 4 ? 1e-5 : 1e-13));
      }
      CHECK(std::abs(inner_product(y, g) - inner_product(x, sums)) <
            (sizeof(T) == 4 ? 1e-4 : 1e-12));
    }
  }
  CHECK(pairs > 60);
}

TEST_CASE("expand and sum_to refuse shapes that do not fit") {
  CHECK(message_of([] {
          expand(zeros({2, 3}), {3});
        }) == "expand: shape [2, 3] does not become [3] by repeating");
  CHECK(message_of([] {
          expand(zeros({2, 3}), {2, 4});
        }) == "expand: shapes [2, 3] and [2, 4] do not broadcast: 3 against 4 at axis -1");
  CHECK(message_of([] { sum_to(zeros({3}), {2, 3}); }) == "sum_to: shape [2, 3] is no sum of [3]");
  CHECK(message_of([] {
          sum_to(zeros({2, 3}), {2});
        }) == "sum_to: shapes [2] and [2, 3] do not broadcast: 2 against 3 at axis -1");
}

}  // namespace
}  // namespace regrad::ops
