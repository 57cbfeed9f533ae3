#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include <doctest/doctest.h>

#include "nn/schedule.h"
#include "tests/nn_check.h"

namespace regrad {
namespace {

using testing::contains;
using testing::message_of;

using Metrics = std::vector<double>;
const Metrics metrics{1.0,  0.9, 0.9, 0.89995, 0.95, 0.91, 0.8, 0.8,
                      0.81, 0.8, 0.8, 0.8,     0.8,  0.8,  0.8, 0.1};

// The learning rate after each evaluation.
Metrics run(const ScheduleOptions& options) {
  const auto schedule = make_schedule("plateau", options);
  Metrics rates;
  for (const double metric : metrics) {
    schedule->evaluated(metric);
    rates.push_back(schedule->learning_rate(0));
  }
  return rates;
}

std::string refusal(std::string_view name, const ScheduleOptions& options) {
  return message_of([&] { make_schedule(name, options); });
}

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("constant stays") {
  const auto schedule = make_schedule("constant", {.learning_rate = 0.3});
  schedule->evaluated(5);
  for (const Index steps : {0, 1, 1000000}) CHECK(schedule->learning_rate(steps) == 0.3);
}

TEST_CASE("inverse-sqrt grows to its peak at the last step of the warm-up and falls") {
  const auto schedule = make_schedule("inverse-sqrt", {.learning_rate = 2, .warmup = 100});
  CHECK(schedule->learning_rate(0) == doctest::Approx(0.02));
  CHECK(schedule->learning_rate(49) == doctest::Approx(1));
  CHECK(schedule->learning_rate(99) == 2);
  CHECK(schedule->learning_rate(399) == doctest::Approx(1));
  // The paper's own form, for d = 512.
  const double scale = 1 / std::sqrt(512.0 * 100);
  const auto paper = make_schedule("inverse-sqrt", {.learning_rate = scale, .warmup = 100});
  for (Index steps = 0; steps < 1000; ++steps) {
    const auto t = static_cast<double>(steps) + 1;
    const double expected = std::min(1 / std::sqrt(t), t * std::pow(100, -1.5)) / std::sqrt(512.0);
    CHECK(paper->learning_rate(steps) == doctest::Approx(expected).epsilon(1e-12));
  }
}

TEST_CASE("cosine warms up and comes to its least rate") {
  const auto schedule = make_schedule(
      "cosine", {.learning_rate = 1, .least_learning_rate = 0.1, .warmup = 10, .steps = 110});
  CHECK(schedule->learning_rate(0) == doctest::Approx(0.1));
  CHECK(schedule->learning_rate(9) == 1);
  CHECK(schedule->learning_rate(59) == doctest::Approx(0.55));
  CHECK(schedule->learning_rate(34) ==
        doctest::Approx(0.1 + 0.45 * (1 + std::cos(std::numbers::pi / 4))));
  CHECK(schedule->learning_rate(109) == doctest::Approx(0.1));
  CHECK(schedule->learning_rate(5000) == doctest::Approx(0.1));
}

TEST_CASE("plateau reduces when PyTorch's ReduceLROnPlateau does") {
  // From PyTorch 1.13 with the same metrics and options.
  CHECK(run({.learning_rate = 1, .factor = 0.5, .patience = 2}) ==
        Metrics{1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.125, 0.125, 0.125, 0.125});
  CHECK(run({.learning_rate = 1,
             .least_learning_rate = 0.2,
             .factor = 0.5,
             .patience = 1,
             .cooldown = 2}) ==
        Metrics{1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25, 0.2, 0.2, 0.2, 0.2});
  CHECK(run({.learning_rate = 1, .factor = 0.5, .patience = 1, .maximise = true}) ==
        Metrics{1, 1, 0.5, 0.5, 0.25, 0.25, 0.125, 0.125, 0.0625, 0.0625, 0.03125, 0.03125,
                0.015625, 0.015625, 0.0078125, 0.0078125});
}

TEST_CASE("a schedule saved at any evaluation goes on with the same bits") {
  const ScheduleOptions options{
      .learning_rate = 1.0 / 3, .factor = 0.3, .patience = 1, .cooldown = 1};
  const auto whole = make_schedule("plateau", options);
  auto cut = make_schedule("plateau", options);
  for (const double metric : metrics) {
    std::map<std::string, std::string> metadata;
    save_schedule(*cut, metadata);
    cut = make_schedule("plateau", options);
    load_schedule(*cut, metadata);
    cut->evaluated(metric / 3);
    whole->evaluated(metric / 3);
    CHECK(cut->state() == whole->state());
  }
  std::map<std::string, std::string> metadata;
  save_schedule(*make_schedule("constant", {}), metadata);
  CHECK_NOTHROW(load_schedule(*make_schedule("constant", {}), metadata));
  metadata["schedule.cooling"] = "2x";
  CHECK(contains(message_of([&] { load_schedule(*cut, metadata); }), "`2x`, not a number"));
  metadata.erase("schedule.best");
  CHECK(contains(message_of([&] { load_schedule(*cut, metadata); }), "no schedule.best"));
}

TEST_CASE("what makes no schedule is a named error") {
  CHECK(contains(refusal("linear", {}), "there are constant, inverse-sqrt, cosine and plateau"));
  CHECK(contains(refusal("constant", {.learning_rate = -1}), "learning_rate"));
  CHECK(contains(refusal("constant", {.learning_rate = infinity}), "not inf"));
  CHECK(contains(refusal("constant", {.learning_rate = std::nan("")}), "not nan"));
  CHECK(contains(refusal("cosine", {.least_learning_rate = 1}), "least_learning_rate"));
  CHECK(contains(refusal("constant", {.warmup = -1}), "a warmup of -1"));
  CHECK(contains(refusal("inverse-sqrt", {}), "warmup of at least 1"));
  CHECK(contains(refusal("cosine", {.warmup = 5, .steps = 5}), "more steps than its warmup of 5"));
  CHECK(contains(refusal("plateau", {.factor = 1}), "factor of 1"));
  CHECK(contains(refusal("plateau", {.factor = 2}), "factor must be"));
  CHECK(contains(refusal("plateau", {.patience = -1}), "patience of -1"));
  CHECK(contains(refusal("plateau", {.threshold = -1}), "threshold"));
  CHECK(contains(refusal("plateau", {.threshold = 1}), "a threshold of 1"));
  CHECK_NOTHROW(make_schedule("plateau", {.threshold = 1, .maximise = true}));
  CHECK(contains(refusal("plateau", {.cooldown = -1}), "cooldown of -1"));
  const auto plateau = make_schedule("plateau", {});
  CHECK(contains(message_of([&] { plateau->evaluated(std::nan("")); }), "NaN"));
  CHECK(contains(message_of([&] { plateau->learning_rate(-1); }), "-1 steps"));
  CHECK(contains(message_of([&] { plateau->load_state({-1, 0, 0, 0}); }), "no plateau"));
  CHECK(contains(message_of([&] {
                   make_schedule("constant", {})->load_state({1, 0, 0, 0});
                 }),
                 "has no state"));
}

TEST_CASE("a plateau refuses the state of a schedule that has none") {
  const ScheduleState none = make_schedule("constant", {})->state();
  const auto plateau = make_schedule("plateau", {});
  const double rate = plateau->learning_rate(0);
  CHECK(contains(message_of([&] { plateau->load_state(none); }), "another schedule's"));
  CHECK(plateau->learning_rate(0) == rate);
  CHECK(rate > 0);
  for (const ScheduleOptions& options :
       {ScheduleOptions{.learning_rate = 0}, ScheduleOptions{.factor = 0, .patience = 0}}) {
    const auto reaching = make_schedule("plateau", options);  // 0 of itself
    reaching->evaluated(1);
    reaching->evaluated(2);
    CHECK(reaching->learning_rate(2) == 0);
    CHECK_NOTHROW(make_schedule("plateau", options)->load_state(reaching->state()));
  }
}

}  // namespace regrad
