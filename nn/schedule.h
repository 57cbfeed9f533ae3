#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "ops/shape.h"

namespace regrad {

struct ScheduleOptions {
  double learning_rate = 1e-3;     // the largest; what `constant` gives
  double least_learning_rate = 0;  // of `cosine` at its end, and of `plateau`
  Index warmup = 0;                // steps of linear growth: `inverse-sqrt` and `cosine`
  Index steps = 0;                 // of the whole training: `cosine`
  // Of `plateau`, as in PyTorch's ReduceLROnPlateau.
  double factor = 0.1;
  Index patience = 10;      // evaluations without improvement that are borne
  double threshold = 1e-4;  // what counts as an improvement, relative to the best
  Index cooldown = 0;       // evaluations after a reduction that do not count
  bool maximise = false;    // whether a larger metric is better
};

// All that a schedule carries from evaluation to evaluation.
struct ScheduleState {
  double learning_rate = 0, best = 0;
  Index bad_evaluations = 0, cooling = 0;
  friend bool operator==(const ScheduleState&, const ScheduleState&) = default;
};

// Gives the learning rate of each training step. Usage:
//   optimizer.set_learning_rate(schedule->learning_rate(optimizer.steps()));
class Schedule {
 public:
  virtual ~Schedule() = default;
  // For the step after `steps` steps were taken. Throws Error for a negative number.
  double learning_rate(Index steps) const;
  // Tells it the metric of an evaluation. Only `plateau` listens. Throws Error for NaN.
  virtual void evaluated(double metric);

  // Only `plateau` has more than the learning rate's options; save and load it with the optimizer.
  virtual ScheduleState state() const { return {}; }
  // Throws Error for a state that no such schedule has.
  virtual void load_state(const ScheduleState& state);

 private:
  virtual double rate(Index steps) const = 0;
};

// By name, with t = steps + 1, the number of the step:
//   constant      η
//   inverse-sqrt  η min(t / w, sqrt(w / t)): warm-up with inverse square root (Vaswani et al.
//   2017);
//                 η = d^-½ w^-½ is the paper's
//   cosine        η t / w for t ≤ w; then η_min + ½ (η - η_min) (1 + cos π p) with
//                 p = (t - w) / (steps - w) (Loshchilov and Hutter 2017); η_min after the last step
//   plateau       η times factor each time that more than `patience` evaluations went by without an
//                 improvement, down to least_learning_rate; as torch.optim.ReduceLROnPlateau
// Throws Error for an unknown name, listing the known ones, and for options out of range.
std::unique_ptr<Schedule> make_schedule(std::string_view name, const ScheduleOptions& options);

// As text that loads to the same bits, for a checkpoint's metadata.
void save_schedule(const Schedule& schedule, std::map<std::string, std::string>& metadata,
                   const std::string& prefix = "schedule.");
// Throws Error for a missing entry and for text that is no number.
void load_schedule(Schedule& schedule, const std::map<std::string, std::string>& metadata,
                   const std::string& prefix = "schedule.");

}  // namespace regrad
