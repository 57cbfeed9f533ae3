#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "examples/seq2seq/decode.h"
#include "examples/seq2seq/model_file.h"
#include "examples/seq2seq/parameter_average.h"
#include "examples/seq2seq/progress.h"
#include "examples/seq2seq/run_files.h"
#include "examples/seq2seq/training_data.h"
#include "examples/seq2seq/training_state.h"
#include "nn/optimizer.h"
#include "nn/reinforce.h"
#include "nn/workers.h"

namespace regrad::seq2seq {

// Trains a translator, keeps the best and saves where it stands, so that a run that was cut
// anywhere and resumed gives the same bits as one that was not.
class Trainer {
 public:
  // The arguments must outlive the trainer.
  Trainer(Translator& translator, TrainingData& data, const RunFiles& files, Progress& progress);

  // Goes on where `last` was saved; its parameters are the translator's already. Where the best
  // model is gone, it is looked for anew. Throws Error when it was trained on other data.
  void resume(const SafeTensors& last);

  // Until the end of the plan, or until `stop`, asked after each step, says yes. All is saved.
  void run(const std::function<bool()>& stop);

  // One training step: its loss for each target token.
  double step();

  const Config& config() const { return translator_.config; }
  const TrainingState& state() const { return state_; }
  // Why it came to its end; empty when it was stopped before.
  std::string end() const;
  // One JSON object for each evaluation.
  const std::vector<nlohmann::ordered_json>& history() const { return history_; }

 private:
  Gradients part_gradients(const Selection& selection, Index part, double labels, double& loss);
  Gradients share_gradients(const Selection& selection, Index share, Reinforce& reinforce,
                            double labels, double& loss) const;
  void evaluate(const std::function<bool()>& stop);
  void record(const Scores& scores);
  void save_last();
  Moment moment() const;

  Translator& translator_;
  TrainingData& data_;
  const RunFiles& files_;
  Progress& progress_;
  Workers workers_;
  std::unique_ptr<Optimizer> optimizer_;
  std::vector<Reinforce> reinforce_;  // of each part: hard-reinforce
  ParameterAverage average_;
  TrainingState state_;
  std::vector<nlohmann::ordered_json> history_;
  std::optional<Scores> dev_;  // of the last evaluation
  double saved_seconds_ = 0;   // the state's, when it was saved

  // For speed and time left: of this process, since the last evaluation.
  double timed_seconds_ = 0;
  Index timed_tokens_ = 0;
  Index first_step_ = 0;
  double first_seconds_ = 0;
};

}  // namespace regrad::seq2seq
