#pragma once

#include <optional>

#include "autograd/var.h"

namespace regrad {

struct ReinforceOptions {
  double baseline_decay = 0.9;    // 0 ≤ decay < 1
  double reward_weight = 1;       // λ_r
  double entropy_weight = 0.002;  // λ_e
};

// The loss whose gradient is the estimator of Williams (1992), as Xu et al. (2015) use it: the mean
// over sentences of -λ_r (reward - baseline) log p(positions) - λ_e entropy. The baseline, a moving
// average of the rewards, keeps the gradient's expectation and lowers its variance.
class Reinforce {
 public:
  // Throws Error for a decay outside of [0, 1) and a weight that is negative or not finite.
  explicit Reinforce(const ReinforceOptions& options = {});

  // log_probability and entropy [B], summed over a sentence's steps; rewards [B], log p(target |
  // positions), say, which get no gradient. Uses the baseline of the calls before, the first call
  // the mean of its own rewards, then updates it. Throws Error, with the baseline as it was, for
  // shapes or types that differ and for a reward that is not finite.
  Var loss(const Var& log_probability, const Var& entropy, const Var& rewards);

  // For checkpoints; none before the first call. Throws Error for one that is not finite.
  const std::optional<double>& baseline() const { return baseline_; }
  void set_baseline(std::optional<double> baseline);

 private:
  ReinforceOptions options_;
  std::optional<double> baseline_;
};

}  // namespace regrad
