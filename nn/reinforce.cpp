#include "nn/reinforce.h"

#include <cmath>
#include <string_view>

#include "autograd/functions.h"

namespace regrad {

Reinforce::Reinforce(const ReinforceOptions& options) : options_(options) {
  const double decay = options.baseline_decay;
  if (!(decay >= 0 && decay < 1)) fail("reinforce: baseline decay {} is outside of [0, 1)", decay);
  const auto require_weight = [](std::string_view name, double weight) {
    if (!(weight >= 0 && std::isfinite(weight))) {
      fail("reinforce: {} weight {} is not a finite number from 0 on", name, weight);
    }
  };
  require_weight("reward", options.reward_weight);
  require_weight("entropy", options.entropy_weight);
}

Var Reinforce::loss(const Var& log_probability, const Var& entropy, const Var& rewards) {
  const Shape& shape = rewards.shape();
  if (shape.rank() != 1 || !(log_probability.shape() == shape) || !(entropy.shape() == shape)) {
    fail("reinforce: log-probabilities {}, entropies {} and rewards {} are not of one batch",
         log_probability.shape(), entropy.shape(), shape);
  }
  const Var fixed = rewards.detach();
  if (shape.size() == 0) return sum(log_probability);
  const double average = mean(fixed).item();
  if (!std::isfinite(average)) fail("reinforce: the mean of the rewards is {}", average);
  const double baseline = baseline_.value_or(average);
  Var loss = -mean((fixed - baseline) * log_probability * options_.reward_weight +
                   entropy * options_.entropy_weight);
  baseline_ = options_.baseline_decay * baseline + (1 - options_.baseline_decay) * average;
  return loss;
}

void Reinforce::set_baseline(std::optional<double> baseline) {
  if (baseline && !std::isfinite(*baseline)) {
    fail("reinforce: baseline {} is not finite", *baseline);
  }
  baseline_ = baseline;
}

}  // namespace regrad
