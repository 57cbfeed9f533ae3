#include <cmath>

#include <doctest/doctest.h>

#include "autograd/functions.h"
#include "autograd/gradcheck.h"
#include "autograd/tape.h"
#include "nn/alignment.h"
#include "nn/reinforce.h"
#include "tests/nn_check.h"

namespace regrad {
namespace {

using testing::contains;
using testing::message_of;

constexpr Index draws = 100'000;

struct Estimate {
  Tensor mean, standard_error;  // [S] of the gradient by the scores
};

// One draw in each row of a batch: a sentence whose loss depends on the position that was drawn.
Estimate estimate(const Tensor& scores, const Tensor& losses, double baseline) {
  const Index positions = scores.size();
  Rng rng(1);
  Tape tape;
  const Var rows =
      tape.variable(expand(reshape(Var(scores), {1, positions}), {draws, positions}).value());
  const AttentionMemory memory{{}, {}, Lengths::full(positions, draws)};
  const Aligned y = HardReinforceAlignment()(rows, {}, memory, {}, &rng);
  Reinforce reinforce({.entropy_weight = 0});
  reinforce.set_baseline(baseline);
  const Var loss = reinforce.loss(y.log_probability, y.entropy, -sum(y.weights * Var(losses), {1}));
  const Var each = Var(tape.backward(loss)[rows]) * static_cast<double>(draws);
  return {mean(each, {0}).value(),
          (standard_deviation(each, {0}) / std::sqrt(static_cast<double>(draws))).value()};
}

}  // namespace

TEST_CASE(
    "reinforce: the mean gradient is the expected loss's, and the baseline lowers the variance") {
  const Tensor scores = tensor({0.3, -0.5, 1}, DType::f64), losses = tensor({4, 6, 5}, DType::f64);
  Tape tape;
  const Var x = tape.variable(scores);
  const Var expected_loss = sum(softmax(x) * Var(losses));
  const double average = expected_loss.item();
  const Tensor exact = tape.backward(expected_loss)[x];
  const Estimate plain = estimate(scores, losses, 0), better = estimate(scores, losses, -average);
  for (Index i = 0; i < 3; ++i) {
    CHECK(std::abs(exact.at({i})) > 0.01);
    CHECK(std::abs(plain.mean.at({i}) - exact.at({i})) < 4 * plain.standard_error.at({i}));
    CHECK(std::abs(better.mean.at({i}) - exact.at({i})) < 4 * better.standard_error.at({i}));
    CHECK(better.standard_error.at({i}) < 0.5 * plain.standard_error.at({i}));
  }
}

TEST_CASE("reinforce: the baseline is the moving average of the rewards before") {
  Reinforce reinforce({.baseline_decay = 0.5, .reward_weight = 2, .entropy_weight = 0.1});
  CHECK(!reinforce.baseline());
  const Var log_p = tensor({-1, -2}, DType::f64), entropy = tensor({0.5, 0.7}, DType::f64);
  // First its own mean, 4: -mean(2 (-1 · -1 + 1 · -2) + 0.1 (0.5 + 0.7))
  CHECK(reinforce.loss(log_p, entropy, tensor({3, 5}, DType::f64)).item() ==
        doctest::Approx(-(2 * (1 - 2) + 0.12) / 2));
  CHECK(*reinforce.baseline() == 4);
  CHECK(reinforce.loss(log_p, entropy, tensor({8, 8}, DType::f64)).item() ==
        doctest::Approx(-(2 * 4 * (-1 - 2) + 0.12) / 2));
  CHECK(*reinforce.baseline() == 6);
}

TEST_CASE("reinforce: gradients to log-probability and entropy, none to the reward") {
  Rng rng(1);
  const Tensor rewards = normal({3}, 0, 1, rng, DType::f64);
  const auto report = gradcheck(
      [&](std::span<const Var> x) {
        Reinforce reinforce;
        reinforce.set_baseline(0.3);
        return reinforce.loss(x[0], x[1], rewards);
      },
      {normal({3}, 0, 1, rng, DType::f64), normal({3}, 0, 1, rng, DType::f64)});
  CHECK_MESSAGE(report.passed, report.to_string());
  Tape tape;
  const Var reward = tape.variable(rewards), log_p = tape.variable(rewards);
  Reinforce reinforce;
  const Gradients gradients = tape.backward(reinforce.loss(log_p, log_p, reward));
  CHECK(identical(gradients[reward], zeros({3}, DType::f64)));
}

TEST_CASE("reinforce: what cannot be is a named error") {
  CHECK(contains(message_of([] { Reinforce({.baseline_decay = 1}); }), "decay 1"));
  for (const double bad : {-0.1, std::nan(""), HUGE_VAL}) {
    CHECK(contains(message_of([&] { Reinforce({.reward_weight = bad}); }), "reward weight"));
    CHECK(contains(message_of([&] { Reinforce({.entropy_weight = bad}); }), "entropy weight"));
  }
  Reinforce reinforce;
  CHECK(contains(message_of([&] { reinforce.loss(zeros({2}), zeros({2}), zeros({3})); }),
                 "log-probabilities [2], entropies [2] and rewards [3]"));
  CHECK(contains(message_of([&] { reinforce.loss(zeros({1}), zeros({1}), full({1}, INFINITY)); }),
                 "rewards is inf"));
  const Var wide = zeros({1}, DType::f64);
  for (const std::optional<double> baseline : {std::optional<double>(), std::optional(0.5)}) {
    reinforce.set_baseline(baseline);
    CHECK(contains(message_of([&] { reinforce.loss(wide, zeros({1}), ones({1})); }), "f64"));
    CHECK(contains(message_of([&] { reinforce.loss(zeros({1}), wide, ones({1})); }), "f64"));
    for (const double bad : {std::nan(""), HUGE_VAL}) {
      CHECK(contains(message_of([&] { reinforce.set_baseline(bad); }), "is not finite"));
    }
    CHECK(reinforce.baseline() == baseline);  // nothing changes when it throws
  }
}

}  // namespace regrad
