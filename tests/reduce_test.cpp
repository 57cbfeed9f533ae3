#include "ops/reduce.h"

#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "ops_check.h"

namespace regrad::ops {
namespace {

using namespace regrad::testing;

Tensor sum(const Tensor& x, int axis) { return reduce(Binary::add, x, x.shape().with(axis, 1)); }

Tensor sum(const Tensor& x) {
  Tensor all = x.reshape({x.size()});
  return sum(all, 0).reshape({});
}

TEST_CASE_TEMPLATE("sum over each axis", T, float, double) {
  const double tolerance = sizeof(T) == 4 ? 1e-5 : 1e-13;
  for (const Shape& shape : {Shape{5}, Shape{1}, Shape{0}, Shape{2, 3}, Shape{7, 1}, Shape{0, 3},
                             Shape{3, 0}, Shape{2, 3, 4}, Shape{2, 0, 4}, Shape{3, 2, 2, 5}}) {
    Tensor x = random_tensor(shape, dtype_of<T>());
    double total = 0;
    for (double v : x.to_vector()) total += v;
    CHECK(sum(x).shape() == Shape{});
    CHECK(std::abs(sum(x).item() - total) < tolerance);
    for (int axis = -shape.rank(); axis < shape.rank(); ++axis) {
      INFO(to_string(shape), ", axis ", axis);
      Tensor y = sum(x, axis);
      REQUIRE(y.shape() == shape.with(axis, 1));
      std::vector<double> wanted(static_cast<std::size_t>(y.size()));
      for (Index i = 0; i < x.size(); ++i) {
        wanted[source_of(i, y.shape(), shape)] += x.data<T>()[i];
      }
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        CHECK(std::abs(y.to_vector()[i] - wanted[i]) < tolerance);
      }
    }
  }
  CHECK(sum(scalar(3, dtype_of<T>())).item() == 3);
}

TEST_CASE("sums of axes that are not there are errors") {
  CHECK(message_of([] {
          sum(zeros({2, 3}), 2);
        }) == "axis 2 does not exist in shape [2, 3] of rank 2");
  CHECK(message_of([] { sum(scalar(1), 0); }) == "axis 0 does not exist in shape [] of rank 0");
}

TEST_CASE("a NaN or an infinity reaches only its own sum") {
  Tensor x = ones({3, 4});
  x.mutable_data<float>()[5] = NAN;
  x.mutable_data<float>()[8] = INFINITY;
  std::vector<double> rows = sum(x, 1).to_vector(), columns = sum(x, 0).to_vector();
  CHECK(rows[0] == 4);
  CHECK(std::isnan(rows[1]));
  CHECK(rows[2] == INFINITY);
  CHECK(columns[0] == INFINITY);
  CHECK(std::isnan(columns[1]));
  CHECK(columns[2] == 3);
  CHECK(std::isnan(sum(x).item()));
}

TEST_CASE("a long sum in f32 stays accurate") {
  Tensor x = full({1'000'000}, 0.1);
  CHECK(sum(x).item() == doctest::Approx(1e5).epsilon(1e-5));
  CHECK(sum(x.reshape({1'000'000, 1}), 0).item() == doctest::Approx(1e5).epsilon(1e-5));
  CHECK(sum(x.reshape({250'000, 4}), 0).at({0, 3}) == doctest::Approx(25e3).epsilon(1e-5));
}

TEST_CASE("sum_squares survives 1e20 in f32") {
  CHECK(sum_squares(tensor({1e20, -1e20, 3})) == doctest::Approx(2e40).epsilon(1e-7));
  CHECK(sum_squares(tensor({1e-30, 1e-30})) == doctest::Approx(2e-60).epsilon(1e-5));
  CHECK(sum_squares(tensor({3, 4}, DType::f64)) == 25);
  CHECK(sum_squares(zeros({0})) == 0);
  CHECK(sum_squares(scalar(-2)) == 4);
  CHECK(std::isnan(sum_squares(tensor({1, NAN}))));
}

}  // namespace
}  // namespace regrad::ops
