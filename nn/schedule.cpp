#include "nn/schedule.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numbers>

#include "ops/error.h"

namespace regrad {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double least_change = 1e-8;  // PyTorch's eps: smaller reductions are not made

// Written so that NaN fails, too.
void require_range(const char* what, double value, double low, double high) {
  if (!(value >= low && value <= high && std::isfinite(value))) {
    fail("make_schedule: {} must be finite and in [{}, {}], not {}", what, low, high, value);
  }
}

class Constant : public Schedule {
 public:
  explicit Constant(const ScheduleOptions& options) : rate_(options.learning_rate) {}

 private:
  double rate(Index) const override { return rate_; }
  double rate_;
};

class InverseSqrt : public Schedule {
 public:
  explicit InverseSqrt(const ScheduleOptions& options) : options_(options) {
    if (options.warmup < 1) {
      fail("make_schedule: inverse-sqrt needs a warmup of at least 1 step, not {}", options.warmup);
    }
  }

 private:
  double rate(Index steps) const override {
    const auto t = static_cast<double>(steps) + 1, w = static_cast<double>(options_.warmup);
    return options_.learning_rate * std::min(t / w, std::sqrt(w / t));
  }
  ScheduleOptions options_;
};

class Cosine : public Schedule {
 public:
  explicit Cosine(const ScheduleOptions& options) : options_(options) {
    if (options.steps <= options.warmup) {
      fail("make_schedule: cosine needs more steps than its warmup of {}, not {}", options.warmup,
           options.steps);
    }
  }

 private:
  double rate(Index steps) const override {
    const auto t = static_cast<double>(steps) + 1, w = static_cast<double>(options_.warmup);
    const double high = options_.learning_rate, low = options_.least_learning_rate;
    if (t <= w) return high * t / w;
    const double part = std::min(1.0, (t - w) / (static_cast<double>(options_.steps) - w));
    return low + (high - low) * (1 + std::cos(std::numbers::pi * part)) / 2;
  }
  ScheduleOptions options_;
};

class Plateau : public Schedule {
 public:
  explicit Plateau(const ScheduleOptions& options)
      : options_(options),
        state_{options.learning_rate, options.maximise ? -infinity : infinity, 0, 0} {
    require_range("factor", options.factor, 0, 1);
    if (options.factor == 1) fail("make_schedule: a factor of 1 reduces nothing");
    require_range("threshold", options.threshold, 0, 1);
    if (options.threshold == 1 && !options.maximise) {
      fail("make_schedule: with a threshold of 1 no metric is an improvement; lower it");
    }
    if (options.patience < 0) fail("make_schedule: a patience of {}", options.patience);
    if (options.cooldown < 0) fail("make_schedule: a cooldown of {}", options.cooldown);
  }

  void evaluated(double metric) override {
    Schedule::evaluated(metric);
    if (improves(metric)) {
      state_.best = metric;
      state_.bad_evaluations = 0;
    } else {
      ++state_.bad_evaluations;
    }
    if (state_.cooling > 0) {
      --state_.cooling;
      state_.bad_evaluations = 0;
    }
    if (state_.bad_evaluations > options_.patience) reduce();
  }
  ScheduleState state() const override { return state_; }
  void load_state(const ScheduleState& state) override {
    if (!(state.learning_rate >= 0 && std::isfinite(state.learning_rate)) ||
        std::isnan(state.best) || state.bad_evaluations < 0 || state.cooling < 0) {
      fail("load_state: no plateau has learning rate {}, best {}, {} bad evaluations, {} cooling",
           state.learning_rate, state.best, state.bad_evaluations, state.cooling);
    }
    const bool reaches_zero = options_.learning_rate * options_.factor == 0;
    if (state.learning_rate == 0 && !(reaches_zero && options_.least_learning_rate == 0)) {
      fail(
          "load_state: a learning rate of 0, which this plateau never comes to; the state is "
          "another schedule's, so start this one afresh");
    }
    state_ = state;
  }

 private:
  double rate(Index) const override { return state_.learning_rate; }
  bool improves(double metric) const {
    return options_.maximise ? metric > state_.best * (1 + options_.threshold)
                             : metric < state_.best * (1 - options_.threshold);
  }
  void reduce() {
    const double next =
        std::max(state_.learning_rate * options_.factor, options_.least_learning_rate);
    if (state_.learning_rate - next > least_change) state_.learning_rate = next;
    state_.cooling = options_.cooldown;
    state_.bad_evaluations = 0;
  }

  ScheduleOptions options_;
  ScheduleState state_;
};

template <class T>
void parse(const std::map<std::string, std::string>& metadata, const std::string& key, T& value) {
  const auto entry = metadata.find(key);
  if (entry == metadata.end()) fail("load_schedule: the metadata has no {}", key);
  const std::string& text = entry->second;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) {
    fail("load_schedule: {} in the metadata is `{}`, not a number", key, text);
  }
}

}  // namespace

double Schedule::learning_rate(Index steps) const {
  if (steps < 0) fail("learning_rate: {} steps", steps);
  return rate(steps);
}

void Schedule::evaluated(double metric) {
  if (std::isnan(metric)) fail("evaluated: the metric is NaN");
}

void Schedule::load_state(const ScheduleState& state) {
  if (!(state == ScheduleState{})) fail("load_state: this schedule has no state");
}

std::unique_ptr<Schedule> make_schedule(std::string_view name, const ScheduleOptions& options) {
  require_range("learning_rate", options.learning_rate, 0, infinity);
  require_range("least_learning_rate", options.least_learning_rate, 0, options.learning_rate);
  if (options.warmup < 0) fail("make_schedule: a warmup of {} steps", options.warmup);
  if (name == "constant") return std::make_unique<Constant>(options);
  if (name == "inverse-sqrt") return std::make_unique<InverseSqrt>(options);
  if (name == "cosine") return std::make_unique<Cosine>(options);
  if (name == "plateau") return std::make_unique<Plateau>(options);
  fail("make_schedule: no schedule `{}`; there are constant, inverse-sqrt, cosine and plateau",
       name);
}

void save_schedule(const Schedule& schedule, std::map<std::string, std::string>& metadata,
                   const std::string& prefix) {
  const ScheduleState state = schedule.state();
  metadata[prefix + "learning_rate"] = fmt::format("{}", state.learning_rate);
  metadata[prefix + "best"] = fmt::format("{}", state.best);
  metadata[prefix + "bad_evaluations"] = std::to_string(state.bad_evaluations);
  metadata[prefix + "cooling"] = std::to_string(state.cooling);
}

void load_schedule(Schedule& schedule, const std::map<std::string, std::string>& metadata,
                   const std::string& prefix) {
  ScheduleState state;
  parse(metadata, prefix + "learning_rate", state.learning_rate);
  parse(metadata, prefix + "best", state.best);
  parse(metadata, prefix + "bad_evaluations", state.bad_evaluations);
  parse(metadata, prefix + "cooling", state.cooling);
  schedule.load_state(state);
}

}  // namespace regrad
