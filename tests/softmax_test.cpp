#include "ops/softmax.h"

#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "ops_check.h"

namespace regrad::ops {
namespace {

using namespace regrad::testing;
using Values = std::vector<double>;

constexpr double inf = INFINITY;

template <class T>
Tensor row(const Values& x) {
  return tensor(x, {static_cast<Index>(x.size())}, dtype_of<T>());
}

template <class T>
constexpr double tolerance = sizeof(T) == 4 ? 1e-6 : 1e-14;

TEST_CASE_TEMPLATE("softmax at every size", T, float, double) {
  for (Index n = 1; n < 40; ++n) {
    Tensor x = random_tensor({3, n}, dtype_of<T>());
    Tensor y = softmax(x), logarithms = log_softmax(x);
    for (Index r = 0; r < 3; ++r) {
      long double normaliser = log_sum_exp(x[r].to_vector());
      for (Index i = 0; i < n; ++i) {
        double wanted = static_cast<double>(x.at({r, i}) - normaliser);
        CHECK(std::abs(y.at({r, i}) - std::exp(wanted)) < tolerance<T>);
        CHECK(std::abs(logarithms.at({r, i}) - wanted) < 10 * tolerance<T>);
      }
    }
  }
  CHECK(softmax(zeros({0, 3}, dtype_of<T>())).size() == 0);
  CHECK(softmax(zeros({3, 0}, dtype_of<T>())).size() == 0);
  CHECK(log_softmax(zeros({3, 0}, dtype_of<T>())).size() == 0);
}

TEST_CASE_TEMPLATE("softmax at extremes", T, float, double) {
  CHECK(softmax(row<T>({1e4, -1e4})).to_vector() == Values{1, 0});
  CHECK(softmax(row<T>({-1e4, -1e4})).to_vector() == Values{0.5, 0.5});
  CHECK(softmax(row<T>({1e30, 1e-30, 0, -1e30})).to_vector() == Values{1, 0, 0, 0});
  CHECK(softmax(row<T>({-inf, 2, -inf})).to_vector() == Values{0, 1, 0});
  CHECK(softmax(row<T>({-inf, -inf})).to_vector() == Values{0, 0});
  CHECK(softmax(row<T>({7})).to_vector() == Values{1});
  CHECK(log_softmax(row<T>({1e4, -1e4})).to_vector() == Values{0, -2e4});
  CHECK(log_softmax(row<T>({-inf, 2})).to_vector() == Values{-inf, 0});
  Values y = log_softmax(row<T>({1e4, 1e4 - 1, 1e4 - 3})).to_vector();
  Values wanted = log_softmax(row<T>({0, -1, -3})).to_vector();
  for (std::size_t i = 0; i < 3; ++i) CHECK(std::abs(y[i] - wanted[i]) < 1e-6);
  for (double v : softmax(row<T>({1, NAN, 2})).to_vector()) CHECK(std::isnan(v));
  for (double v : log_softmax(row<T>({1, NAN, -inf})).to_vector()) CHECK(std::isnan(v));
}

TEST_CASE_TEMPLATE("log_softmax of equal logits, however large", T, float, double) {
  for (double value : {1e12, -1e13, 1e17, 1e30}) {
    for (Index n : {1, 2, 7, 64}) {
      for (double v : log_softmax(full({n}, value, dtype_of<T>())).to_vector()) {
        CHECK(std::abs(v + std::log(static_cast<double>(n))) < tolerance<T>);
      }
    }
  }
}

TEST_CASE_TEMPLATE("softmax over the valid entries alone", T, float, double) {
  Lengths lengths({3, 0, 1, 2}, 3);
  for (const Shape& leading : {Shape{}, Shape{2}, Shape{3, 2}, Shape{0}}) {
    Tensor x = random_tensor(leading.appended(4).appended(3), dtype_of<T>());
    Tensor y = softmax(x, {lengths});
    REQUIRE(y.shape() == x.shape());
    Tensor rows = x.reshape({x.size() / 3, 3}), results = y.reshape({x.size() / 3, 3});
    for (Index r = 0; r < rows.shape()[0]; ++r) {
      Index valid = lengths[r % 4];
      CHECK(identical(results[r].narrow(0, valid), softmax(rows[r].narrow(0, valid))));
      for (Index i = valid; i < 3; ++i) CHECK(results[r].at({i}) == 0);
      if (valid == 1) CHECK(results[r].at({0}) == 1);
    }
    for (double garbage : {1e3, static_cast<double>(NAN), inf}) {
      Values spoilt = x.to_vector();
      for (std::size_t i = 0; i < spoilt.size(); ++i) {
        auto position = static_cast<Index>(i);
        if (position % 3 >= lengths[position / 3 % 4]) spoilt[i] = garbage;
      }
      CHECK(identical(softmax(tensor(spoilt, x.shape(), dtype_of<T>()), {lengths}), y));
    }
  }
}

TEST_CASE("softmax refuses what has no rows") {
  Lengths lengths({1, 2}, 3);
  CHECK(message_of([] { softmax(scalar(1)); }) == "softmax: shape [] has no rows");
  CHECK(message_of([] { log_softmax(scalar(1)); }) == "log_softmax: shape [] has no rows");
  CHECK(message_of([&] { softmax(zeros({3}), {lengths}); }) ==
        "softmax: shape [3] has no rows [..., batch, time]");
  CHECK(message_of([&] {
          softmax(zeros({3, 2}), {lengths});
        }) == "softmax: lengths are of 2 sequences of up to 3 steps, the input of 3 of 2");
}

}  // namespace
}  // namespace regrad::ops
