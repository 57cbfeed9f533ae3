#include "examples/seq2seq/training_state.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "nn/schedule.h"
#include "ops/error.h"

namespace regrad::seq2seq {
namespace {

using Json = nlohmann::ordered_json;

constexpr Index solved_enough = 2;

template <class State, class Visit>
void visit_members(State& state, Visit&& visit) {
  visit("step", state.step);
  visit("loss", state.loss);
  visit("tokens", state.tokens);
  visit("step_seconds", state.step_seconds);
  visit("evaluated_step", state.evaluated_step);
  visit("best_step", state.best_step);
  visit("best_exact_match", state.best_exact_match);
  visit("best_nll", state.best_nll);
  visit("waited", state.waited);
  visit("solved", state.solved);
  visit("cuts", state.cuts);
  visit("seconds", state.seconds);
}

}  // namespace

bool TrainingState::judge(const Scores& scores, Index patience) {
  evaluated_step = step;
  solved = scores.exact_match == 1 ? solved + 1 : 0;
  const bool better = best_step == 0 || scores.exact_match > best_exact_match ||
                      (scores.exact_match == best_exact_match && scores.nll < best_nll);
  waited = better ? 0 : waited + 1;
  if (!better) {
    if (waited % std::max<Index>(patience / 3, 1) == 0) ++cuts;
    return false;
  }
  best_step = step;
  best_exact_match = scores.exact_match;
  best_nll = scores.nll;
  return true;
}

Index step_limit(const Config& config, Index steps_per_evaluation) {
  const Index by_epochs = config.epochs * steps_per_evaluation;
  if (config.steps == 0 || by_epochs == 0) return std::max(config.steps, by_epochs);
  return std::min(config.steps, by_epochs);
}

bool evaluation_due(const TrainingState& state, const Config& config, Index steps_per_evaluation) {
  if (state.step == state.evaluated_step) return false;
  const Index limit = step_limit(config, steps_per_evaluation);
  return state.step % steps_per_evaluation == 0 || (limit > 0 && state.step >= limit);
}

std::string end_reason(const TrainingState& state, const Config& config,
                       Index steps_per_evaluation) {
  if (!config.task.empty() && state.solved >= solved_enough) {
    return fmt::format("every dev example right {} times in a row", solved_enough);
  }
  if (state.waited >= config.patience) {
    return fmt::format("no better score on dev in {} evaluations", state.waited);
  }
  const Index limit = step_limit(config, steps_per_evaluation);
  if (limit > 0 && state.step >= limit) return fmt::format("the limit of {} steps", limit);
  return {};
}

double learning_rate(const TrainingState& state, const Config& config, Index steps_per_evaluation) {
  if (config.schedule == "plateau") {
    const auto cuts = static_cast<int>(std::min<Index>(state.cuts, 1000));
    return std::ldexp(config.learning_rate, -cuts);
  }
  const auto schedule =
      make_schedule(config.schedule, {.learning_rate = config.learning_rate,
                                      .warmup = config.warmup,
                                      .steps = step_limit(config, steps_per_evaluation)});
  return schedule->learning_rate(state.step);
}

nlohmann::ordered_json to_json(const TrainingState& state) {
  Json json;
  visit_members(state, [&](const char* name, const auto& member) { json[name] = member; });
  return json;
}

TrainingState state_from_json(const nlohmann::ordered_json& json) {
  TrainingState state;
  visit_members(state, [&]<class T>(const char* name, T& member) {
    const bool newer = std::string_view(name) == "step_seconds";  // older files do not have it
    if (newer && json.is_object() && !json.contains(name)) return;
    const bool found =
        json.is_object() && json.contains(name) &&
        (std::is_floating_point_v<T> ? json[name].is_number() : json[name].is_number_integer());
    if (!found) fail("the state of the training has no number `{}`", name);
    json[name].get_to(member);
  });
  const Index counts[] = {state.step,      state.tokens, state.evaluated_step,
                          state.best_step, state.waited, state.solved,
                          state.cuts};
  if (std::ranges::min(counts) < 0 || state.evaluated_step > state.step) {
    fail("the state of the training contradicts itself");
  }
  return state;
}

}  // namespace regrad::seq2seq
