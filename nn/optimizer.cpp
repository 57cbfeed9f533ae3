#include "nn/optimizer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "nn/match.h"
#include "ops/elementwise.h"
#include "ops/optimizer.h"
#include "ops/reduce.h"

namespace regrad {
namespace {

std::string display_name(const Parameter& parameter) {
  if (!parameter) return "a variable";
  if (!parameter.name().empty()) return parameter.name();
  return fmt::format("an unnamed parameter of shape {}", parameter.shape());
}

void require_range(const char* optimizer, const char* what, double value, double low, double high) {
  // Written so that NaN fails, too.
  if (!(value >= low && value < high)) {
    fail("{}: {} must be in [{}, {}), not {}", optimizer, what, low, high, value);
  }
}

using Names = std::vector<std::string>;
constexpr double infinity = std::numeric_limits<double>::infinity();

// f(i) for each of the gradients.
template <class F>
void for_each(const Gradients& gradients, Workers* workers, const F& f) {
  const auto& entries = gradients.entries();
  if (!workers || workers->count() == 1) {
    for (std::size_t i = 0; i < entries.size(); ++i) f(i);
    return;
  }
  std::vector<Index> sizes;
  for (const Gradients::Entry& entry : entries) sizes.push_back(entry.gradient.size());
  workers->share(sizes, [&f](std::size_t i, Index) { f(i); });
}

// NaN if there is one.
double largest_magnitude(const Tensor& x) {
  double largest = 0;
  for (const double value : x.to_vector()) {
    if (std::isnan(value)) return value;
    largest = std::max(largest, std::abs(value));
  }
  return largest;
}

// The square root of Σ x² where x² would over- or underflow a double.
double rescaled_norm(const Gradients& gradients) {
  double largest = 0;
  for (const Gradients::Entry& entry : gradients.entries()) {
    const double magnitude = largest_magnitude(entry.gradient);
    if (!std::isfinite(magnitude)) return magnitude;
    largest = std::max(largest, magnitude);
  }
  if (largest == 0) return 0;
  double total = 0;
  for (const Gradients::Entry& entry : gradients.entries()) {
    for (const double value : entry.gradient.to_vector()) {
      total += (value / largest) * (value / largest);
    }
  }
  return largest * std::sqrt(total);
}

[[noreturn]] void fail_at_bad_gradient(const Gradients& gradients) {
  for (const Gradients::Entry& entry : gradients.entries()) {
    const std::vector<double> values = entry.gradient.to_vector();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::isfinite(values[i])) continue;
      fail(
          "clip_norm: the gradient of {} is {} at position {} of shape {}; a lower learning rate "
          "often helps",
          display_name(entry.parameter), values[i], i, entry.gradient.shape());
    }
  }
  fail("clip_norm: the norm of the gradients is beyond the largest double");
}

std::vector<NamedParameter> distinct(std::vector<NamedParameter> parameters) {
  std::unordered_set<const void*> seen;
  std::erase_if(parameters, [&](const NamedParameter& named) {
    return !seen.insert(named.parameter.key()).second;
  });
  return parameters;
}

}  // namespace

double norm(const Gradients& gradients, Workers* workers) {
  const auto& entries = gradients.entries();
  std::vector<double> squares(entries.size());
  for_each(gradients, workers,
           [&](std::size_t i) { squares[i] = ops::sum_squares(entries[i].gradient); });
  const double total = std::accumulate(squares.begin(), squares.end(), 0.0);
  constexpr double lowest = 1e-290;  // squares of smaller numbers lose digits
  return total >= lowest && std::isfinite(total) ? std::sqrt(total) : rescaled_norm(gradients);
}

Gradients clip_norm(Gradients gradients, double max_norm, Workers* workers) {
  if (!(max_norm > 0)) fail("clip_norm: max_norm must be above 0, not {}", max_norm);
  const double length = norm(gradients, workers);
  if (!std::isfinite(length)) fail_at_bad_gradient(gradients);
  if (length > max_norm) {
    for_each(gradients, workers, [&](std::size_t i) {
      ops::scale(gradients.entries()[i].gradient, max_norm / length);
    });
  }
  return gradients;
}

Optimizer::Optimizer(std::vector<NamedParameter> parameters, double learning_rate,
                     std::vector<std::string> moment_names)
    : moment_names_(std::move(moment_names)) {
  set_learning_rate(learning_rate);
  std::unordered_set<std::string> paths;
  for (auto& [path, parameter] : distinct(std::move(parameters))) {
    if (!paths.insert(path).second) {
      fail(
          "optimizer: two parameters share the path `{}`; give each its own, its state is saved "
          "under it",
          path);
    }
    slot_of_.emplace(parameter.key(), slots_.size());
    Slot slot{std::move(path), parameter, {}};
    for (std::size_t i = 0; i < moment_names_.size(); ++i) {
      slot.moments.push_back(zeros(parameter.shape(), parameter.value().dtype()));
    }
    slots_.push_back(std::move(slot));
  }
}

void Optimizer::require_epsilon(const char* optimizer, double epsilon) const {
  for (const Slot& slot : slots_) {
    require_positive(optimizer, "epsilon", epsilon, slot.parameter.value().dtype());
  }
}

void Optimizer::set_learning_rate(double learning_rate) {
  require_range("optimizer", "learning rate", learning_rate, 0, infinity);
  learning_rate_ = learning_rate;
}

void Optimizer::step(const Gradients& gradients, Workers* workers) {
  std::vector<Slot*> slots;
  for (const Gradients::Entry& entry : gradients.entries()) {
    slots.push_back(nullptr);
    if (!entry.parameter) continue;
    const auto slot = slot_of_.find(entry.parameter.key());
    if (slot == slot_of_.end()) {
      fail(
          "optimizer: {} was trained but is not registered; construct the optimizer from a module "
          "whose visit names it",
          display_name(entry.parameter));
    }
    slots.back() = &slots_[slot->second];
    const Tensor& value = entry.parameter.value();
    if (!(entry.gradient.shape() == value.shape()) || entry.gradient.dtype() != value.dtype()) {
      fail("optimizer: the gradient of {} is {} {}, the parameter {} {}",
           display_name(entry.parameter), to_string(entry.gradient.dtype()), entry.gradient.shape(),
           to_string(value.dtype()), value.shape());
    }
    if (std::find(slots.begin(), slots.end() - 1, slots.back()) != slots.end() - 1) {
      fail("optimizer: there are two gradients of {}; add them up with Gradients::add",
           display_name(entry.parameter));
    }
  }
  ++steps_;
  for_each(gradients, workers, [&](std::size_t i) {
    if (slots[i]) update(*slots[i], gradients.entries()[i].gradient);
  });
}

OptimizerState Optimizer::state() const {
  OptimizerState state{steps_, {}};
  for (const Slot& slot : slots_) {
    for (std::size_t i = 0; i < moment_names_.size(); ++i) {
      state.tensors.emplace(slot.path + "." + moment_names_[i], slot.moments[i]);
    }
  }
  return state;
}

void Optimizer::load_state(const OptimizerState& state) {
  if (state.steps < 0) fail("load_state: {} steps", state.steps);
  std::vector<WantedTensor> wanted;
  for (const Slot& slot : slots_) {
    for (const std::string& moment : moment_names_) {
      wanted.push_back(
          {{slot.path + "." + moment}, slot.parameter.shape(), slot.parameter.value().dtype()});
    }
  }
  const std::vector<Tensor> found = match_tensors("load_state", wanted, state.tensors);
  auto next = found.begin();
  for (Slot& slot : slots_) {
    for (Tensor& moment : slot.moments) moment = *next++;
  }
  steps_ = state.steps;
}

Sgd::Sgd(const Module& module, const SgdOptions& options)
    : Sgd(distinct_parameters(module), options) {}

Sgd::Sgd(std::vector<NamedParameter> parameters, const SgdOptions& options)
    : Optimizer(std::move(parameters), options.learning_rate,
                options.momentum == 0 ? Names{} : Names{"momentum_buffer"}),
      options_(options) {
  require_range("sgd", "momentum", options.momentum, 0, 1);
  require_range("sgd", "weight decay", options.weight_decay, 0, infinity);
  if (options.nesterov && options.momentum == 0) fail("sgd: nesterov needs a momentum above 0");
}

void Sgd::update(Slot& slot, const Tensor& gradient) const {
  ops::sgd_step(slot.parameter.mutable_value(), gradient,
                slot.moments.empty() ? nullptr : &slot.moments[0],
                {.learning_rate = learning_rate(),
                 .momentum = options_.momentum,
                 .weight_decay = options_.weight_decay,
                 .nesterov = options_.nesterov});
}

Adam::Adam(const Module& module, const AdamOptions& options)
    : Adam(distinct_parameters(module), options) {}

Adam::Adam(std::vector<NamedParameter> parameters, const AdamOptions& options)
    : Optimizer(std::move(parameters), options.learning_rate, {"exp_avg", "exp_avg_sq"}),
      options_(options) {
  require_range("adam", "beta1", options.beta1, 0, 1);
  require_range("adam", "beta2", options.beta2, 0, 1);
  require_epsilon("adam", options.epsilon);
  require_range("adam", "weight decay", options.weight_decay, 0, infinity);
}

void Adam::update(Slot& slot, const Tensor& gradient) const {
  const auto t = static_cast<double>(steps());
  const ops::simd::AdamConstants constants{
      .step_size = learning_rate() / (1 - std::pow(options_.beta1, t)),
      .root_scale = 1 / std::sqrt(1 - std::pow(options_.beta2, t)),
      .beta1 = options_.beta1,
      .beta2 = options_.beta2,
      .epsilon = options_.epsilon,
      .weight_decay = options_.decoupled ? 0 : options_.weight_decay,
      .shrink = options_.decoupled ? 1 - learning_rate() * options_.weight_decay : 1};
  ops::adam_step(slot.parameter.mutable_value(), gradient, slot.moments[0], slot.moments[1],
                 constants);
}

AdamW::AdamW(const Module& module, const AdamWOptions& options)
    : AdamW(distinct_parameters(module), options) {}

AdamW::AdamW(std::vector<NamedParameter> parameters, const AdamWOptions& options)
    : Adam(std::move(parameters), {.learning_rate = options.learning_rate,
                                   .beta1 = options.beta1,
                                   .beta2 = options.beta2,
                                   .epsilon = options.epsilon,
                                   .weight_decay = options.weight_decay,
                                   .decoupled = true}) {}

Adadelta::Adadelta(const Module& module, const AdadeltaOptions& options)
    : Adadelta(distinct_parameters(module), options) {}

Adadelta::Adadelta(std::vector<NamedParameter> parameters, const AdadeltaOptions& options)
    : Optimizer(std::move(parameters), options.learning_rate, {"square_avg", "acc_delta"}),
      options_(options) {
  require_range("adadelta", "rho", options.rho, 0, 1);
  require_epsilon("adadelta", options.epsilon);
  require_range("adadelta", "weight decay", options.weight_decay, 0, infinity);
}

void Adadelta::update(Slot& slot, const Tensor& gradient) const {
  ops::adadelta_step(slot.parameter.mutable_value(), gradient, slot.moments[0], slot.moments[1],
                     {.learning_rate = learning_rate(),
                      .rho = options_.rho,
                      .epsilon = options_.epsilon,
                      .weight_decay = options_.weight_decay});
}

}  // namespace regrad
