#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "examples/seq2seq/config.h"
#include "examples/seq2seq/metrics.h"
#include "ops/shape.h"

namespace regrad::seq2seq {

// Where a run stands, besides parameters and optimizer. Data order and random numbers follow from
// seed and step.
struct TrainingState {
  Index step = 0;  // training steps done

  // Since the last evaluation.
  double loss = 0;  // sum over steps of loss · tokens
  Index tokens = 0;
  double step_seconds = 0;  // spent on steps alone

  Index evaluated_step = 0;  // of the last evaluation; 0: none yet
  Index best_step = 0;       // of the best evaluation; 0: none yet
  double best_exact_match = 0, best_nll = 0;
  Index waited = 0;  // evaluations since the best one
  Index solved = 0;  // evaluations in a row with everything right
  Index cuts = 0;    // how often the plateau schedule halved the learning rate

  double seconds = 0;  // spent on training and evaluation

  // Keeps the best: by exact match, then by nll. True for a new best one. Each time that a third of
  // the patience went by without one, the learning rate is cut.
  bool judge(const Scores& scores, Index patience);
};

// The plan of a run: steps_per_evaluation as TrainingData says, which is an epoch of files.
bool evaluation_due(const TrainingState& state, const Config& config, Index steps_per_evaluation);
// Why a run is at its end; empty while it is not.
std::string end_reason(const TrainingState& state, const Config& config,
                       Index steps_per_evaluation);
// The most steps that a run can take; 0: no limit.
Index step_limit(const Config& config, Index steps_per_evaluation);

// Of the next step.
double learning_rate(const TrainingState& state, const Config& config, Index steps_per_evaluation);

nlohmann::ordered_json to_json(const TrainingState& state);
// Throws Error for anything that to_json does not write.
TrainingState state_from_json(const nlohmann::ordered_json& json);

}  // namespace regrad::seq2seq
