#pragma once

#include <chrono>
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
  // The arguments must outlive the trainer. It saves where it stands whenever so many seconds have
  // gone by, and more where saving takes long.
  Trainer(Translator& translator, TrainingData& data, const RunFiles& files, Progress& progress,
          double seconds_between_saves = 10);

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
  bool record(const Scores& scores);
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

  double seconds_between_saves_;
  std::chrono::steady_clock::time_point next_save_;

  // For the time left: where this process began.
  Index first_step_ = 0;
  double first_seconds_ = 0;
};

}  // namespace regrad::seq2seq
