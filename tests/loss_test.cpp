#include "ops/loss.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "ops_check.h"

namespace regrad::ops {
namespace {

using namespace regrad::testing;
using Values = std::vector<double>;

constexpr double inf = INFINITY;

template <class T>
constexpr double tolerance = sizeof(T) == 4 ? 1e-6 : 1e-14;

Targets targets_of(const Tensor& logits, const Ids& labels, const Lengths* lengths) {
  return targets("cross_entropy", logits, labels, lengths, std::nullopt, {});
}

CrossEntropy cross_entropy(const Tensor& logits, const Ids& labels, const Lengths* lengths,
                           double smoothing) {
  return ops::cross_entropy(logits, targets_of(logits, labels, lengths), smoothing);
}

Tensor cross_entropy_backward(const Tensor& logits, const Ids& labels, const Lengths* lengths,
                              double smoothing, const Tensor& log_normaliser, double factor) {
  return ops::cross_entropy_backward(logits, targets_of(logits, labels, lengths), smoothing,
                                     log_normaliser, factor);
}

struct Naive {
  double loss = 0;
  Values gradient;
};

Naive naive_cross_entropy(const Tensor& logits, const Ids& labels, const Lengths* lengths,
                          double smoothing, double factor) {
  Naive result;
  Index classes = logits.shape()[-1];
  Tensor rows = logits.reshape({labels.size(), classes});
  for (Index i = 0; i < labels.size(); ++i) {
    bool valid = !lengths || lengths->valid(i / lengths->batch(), i % lengths->batch());
    long double normaliser = valid ? log_sum_exp(rows[i].to_vector()) : 0;
    for (Index c = 0; c < classes; ++c) {
      double target = smoothing / static_cast<double>(classes) + (c == labels[i]) * (1 - smoothing);
      auto log_p = static_cast<double>(rows.at({i, c}) - normaliser);
      if (valid) result.loss -= target * log_p;
      result.gradient.push_back(valid ? factor * (std::exp(log_p) - target) : 0);
    }
  }
  return result;
}

template <class T>
void check_cross_entropy(const Tensor& logits, const Ids& labels, const Lengths* lengths,
                         double smoothing, double allowed = 10 * tolerance<T>) {
  const double factor = 0.3;
  Naive wanted = naive_cross_entropy(logits, labels, lengths, smoothing, factor);
  CrossEntropy result = cross_entropy(logits, labels, lengths, smoothing);
  REQUIRE(result.loss.shape() == Shape{});
  REQUIRE(result.loss.dtype() == logits.dtype());
  CHECK(result.loss.item() == doctest::Approx(wanted.loss).epsilon(allowed));
  Tensor gradient =
      cross_entropy_backward(logits, labels, lengths, smoothing, result.log_normaliser, factor);
  CHECK(difference(gradient, tensor(wanted.gradient, logits.shape(), logits.dtype())) < allowed);
}

TEST_CASE_TEMPLATE("cross_entropy and its gradient", T, float, double) {
  Lengths lengths({3, 0}, 3), full = Lengths::full(3, 2);
  const Lengths* const cases[] = {nullptr, &full, &lengths};
  Ids labels(std::vector<std::int32_t>{4, 0, 2, 1, 3, 4}, {3, 2});
  for (const Lengths* some : cases) {
    for (double smoothing : {0.0, 0.1, 0.9}) {
      check_cross_entropy<T>(random_tensor({3, 2, 5}, dtype_of<T>()), labels, some, smoothing);
    }
  }
  check_cross_entropy<T>(random_tensor({7}, dtype_of<T>()), Ids(Shape{}, 6), nullptr, 0.2);
  check_cross_entropy<T>(random_tensor({4, 1}, dtype_of<T>()), Ids(Shape{4}), nullptr, 0.2);
  check_cross_entropy<T>(random_tensor({0, 5}, dtype_of<T>()), Ids(Shape{0}), nullptr, 0.2);
  check_cross_entropy<T>(random_tensor({2, 67}, dtype_of<T>()), Ids{0, 66}, nullptr, 0);
}

TEST_CASE("the gradient of cross_entropy takes the place of logits that nobody else holds") {
  const Tensor kept = random_tensor({2, 3, 5}, DType::f32);
  const Ids labels(std::vector<std::int32_t>{4, 0, -1, 1, 3, 2}, {2, 3});
  const Targets targets =
      ops::targets("test", kept, labels, nullptr, std::int32_t{-1}, Tensor());  // one is ignored
  const Tensor normaliser = ops::cross_entropy(kept, targets, 0.1).log_normaliser;
  Tensor given = kept.clone();
  const float* place = given.data<float>();
  const Tensor copied = ops::cross_entropy_backward(kept, targets, 0.1, normaliser, 0.5);
  const Tensor moved = ops::cross_entropy_backward(std::move(given), targets, 0.1, normaliser, 0.5);
  CHECK(copied.data<float>() != kept.data<float>());
  CHECK(moved.data<float>() == place);
  CHECK(identical(moved, copied));
}

TEST_CASE_TEMPLATE("cross_entropy at extremes", T, float, double) {
  auto logits = tensor({{1e4, -1e4, 0}, {1e4, 1e4 - 1, -1e4}, {-1e4, -1e4, -1e4}}, dtype_of<T>());
  for (std::int32_t label = 0; label < 3; ++label) {  // at 1e4 a double has 12 decimals
    check_cross_entropy<T>(logits, Ids{label, 0, 1}, nullptr, 0, 10 * tolerance<T> + 2e-12);
    check_cross_entropy<T>(logits, Ids{label, 1, 2}, nullptr, 0.1, 10 * tolerance<T> + 2e-12);
  }
  Tensor masked = tensor({{-inf, 1, 2}}, dtype_of<T>());  // a class that cannot be
  CrossEntropy result = cross_entropy(masked, Ids{2}, nullptr, 0);
  CHECK(result.loss.item() == doctest::Approx(std::log(1 + std::exp(-1))).epsilon(1e-6));
  Tensor gradient = cross_entropy_backward(masked, Ids{2}, nullptr, 0, result.log_normaliser, 1);
  CHECK(gradient.at({0, 0}) == 0);
  CHECK(cross_entropy(masked, Ids{0}, nullptr, 0).loss.item() == inf);
}

TEST_CASE_TEMPLATE("cross_entropy of equal logits, however large", T, float, double) {
  for (double value : {1e12, -1e13, 1e17, 1e30}) {
    for (double smoothing : {0.0, 0.1}) {
      const Tensor logits = full({2, 7}, value, dtype_of<T>());
      const Ids labels{0, 6};
      const CrossEntropy result = cross_entropy(logits, labels, nullptr, smoothing);
      CHECK(result.loss.item() == doctest::Approx(2 * std::log(7)).epsilon(10 * tolerance<T>));
      const Tensor gradient =
          cross_entropy_backward(logits, labels, nullptr, smoothing, result.log_normaliser, 1);
      const Tensor usual = zeros({2, 7}, dtype_of<T>());
      const Tensor wanted = cross_entropy_backward(
          usual, labels, nullptr, smoothing,
          cross_entropy(usual, labels, nullptr, smoothing).log_normaliser, 1);
      CHECK(difference(gradient, wanted) < tolerance<T>);
    }
  }
}

TEST_CASE_TEMPLATE("padded positions of cross_entropy are not read", T, float, double) {
  Lengths lengths({3, 1}, 3);
  Tensor logits = random_tensor({3, 2, 4}, dtype_of<T>());
  Ids labels(std::vector<std::int32_t>{3, 0, 1, 0, 2, 0}, {3, 2}), spoilt_labels = labels;
  spoilt_labels.at(1, 1) = -7;
  spoilt_labels.at(2, 1) = 1 << 30;
  CrossEntropy clean = cross_entropy(logits, labels, &lengths, 0.1);
  Tensor gradient =
      cross_entropy_backward(logits, labels, &lengths, 0.1, clean.log_normaliser, 0.5);
  for (double garbage : {1e3, static_cast<double>(NAN), inf}) {
    Tensor spoilt = with_padding(logits, lengths, garbage);
    CrossEntropy result = cross_entropy(spoilt, spoilt_labels, &lengths, 0.1);
    CHECK(identical(result.loss, clean.loss));
    CHECK(identical(result.log_normaliser, clean.log_normaliser));
    CHECK(identical(
        cross_entropy_backward(spoilt, spoilt_labels, &lengths, 0.1, result.log_normaliser, 0.5),
        gradient));
  }
  Lengths none({0, 0}, 3);
  CHECK(cross_entropy(logits, labels, &none, 0).loss.item() == 0);
}

TEST_CASE("labels and logits that do not fit are errors") {
  Tensor logits = zeros({3, 2, 4});
  Ids labels(Shape{3, 2});
  Lengths lengths({3, 1}, 3), longer({3, 1}, 4);
  auto message = [&](const Tensor& x, const Ids& ids, const Lengths* some, double smoothing) {
    return message_of([&] { cross_entropy(x, ids, some, smoothing); });
  };
  labels.at(1, 0) = 4;
  CHECK(message(logits, labels, &lengths, 0) ==
        "cross_entropy: label 4 at position 2 of labels [3, 2] is outside of the 4 classes");
  labels.at(1, 0) = -1;
  CHECK(message(logits, labels, nullptr, 0) ==
        "cross_entropy: label -1 at position 2 of labels [3, 2] is outside of the 4 classes");
  CHECK(message(zeros({3, 2, 0}), Ids(Shape{3, 2}), nullptr, 0) ==
        "cross_entropy: label 0 at position 0 of labels [3, 2] is outside of the 0 classes");
  CHECK(message(zeros({3, 4}), labels, nullptr, 0) ==
        "cross_entropy: input [3, 4] does not fit labels [3, 2]; its last axis holds the classes");
  CHECK(message(scalar(1), Ids(Shape{}), nullptr, 0) != "");
  CHECK(message(zeros({3, 4}), Ids(Shape{3}), &lengths, 0) ==
        "cross_entropy: labels [3] with lengths are [time, batch]");
  CHECK(message(logits, labels, &longer, 0) ==
        "cross_entropy: lengths are of 2 sequences of up to 4 steps, the input of 2 of 3");
  for (double smoothing : {-0.1, 1.0, static_cast<double>(NAN)}) {
    CHECK(message(logits, Ids(Shape{3, 2}), nullptr, smoothing) ==
          fmt::format("cross_entropy: label smoothing {} is outside of [0, 1)", smoothing));
  }
}

}  // namespace
}  // namespace regrad::ops
