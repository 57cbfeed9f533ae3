#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "autograd/gradients.h"
#include "nn/module.h"
#include "nn/workers.h"

namespace regrad {

// Where workers are given, they share the parameters; the bits are the same.

// Euclidean norm of all gradients together, accumulated so that f32 gradients of 1e20 do not
// overflow. NaN or infinity where a gradient has one.
double norm(const Gradients& gradients, Workers* workers = nullptr);
// Scales the gradients down to max_norm when their norm is above it. Throws Error for a max_norm
// that is not positive and for a NaN or infinite gradient, naming the parameter.
[[nodiscard]] Gradients clip_norm(Gradients gradients, double max_norm, Workers* workers = nullptr);

// All that an optimizer carries from step to step, so that training resumes with the same bits.
struct OptimizerState {
  Index steps = 0;
  std::map<std::string, Tensor> tensors;  // `encoder.weight_ih_l0.exp_avg`
};

// Updates a fixed list of parameters from gradients. Throws Error when two different ones share a
// path, naming it: their state could not be told apart.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // One step. A parameter without gradient is left alone. Throws Error, with nothing changed, for
  // the gradient of a parameter that is not registered, one of another shape or type than its
  // parameter and a second one of the same, naming it.
  void step(const Gradients& gradients, Workers* workers = nullptr);

  Index steps() const { return steps_; }
  double learning_rate() const { return learning_rate_; }
  // Throws Error unless it is finite and not negative.
  void set_learning_rate(double learning_rate);

  OptimizerState state() const;
  // Throws Error, with nothing changed, listing whatever is missing, unexpected or of another shape
  // or type.
  void load_state(const OptimizerState& state);

 protected:
  struct Slot {
    std::string path;
    Parameter parameter;
    std::vector<Tensor> moments;  // one per name in moment_names_
  };
  Optimizer(std::vector<NamedParameter> parameters, double learning_rate,
            std::vector<std::string> moment_names);
  // Throws Error unless it is above 0 in the type of each parameter: gradients of zeros only are
  // divided by it.
  void require_epsilon(const char* optimizer, double epsilon) const;

 private:
  virtual void update(Slot& slot, const Tensor& gradient) const = 0;

  std::vector<Slot> slots_;
  std::unordered_map<const void*, std::size_t> slot_of_;  // by Parameter::key
  std::vector<std::string> moment_names_;
  double learning_rate_;
  Index steps_ = 0;
};

struct SgdOptions {
  double learning_rate = 0.1;
  double momentum = 0;
  double weight_decay = 0;  // adds weight_decay · parameter to the gradient
  bool nesterov = false;
};

// b = momentum b + g, parameter -= learning_rate b, or with Nesterov's momentum (Sutskever et al.
// 2013) learning_rate (g + momentum b); as torch.optim.SGD. Throws Error for options out of range
// and for nesterov without momentum.
class Sgd : public Optimizer {
 public:
  explicit Sgd(const Module& module, const SgdOptions& options = {});
  explicit Sgd(std::vector<NamedParameter> parameters, const SgdOptions& options = {});

 private:
  void update(Slot& slot, const Tensor& gradient) const override;
  SgdOptions options_;
};

struct AdamOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;  // adds weight_decay · parameter to the gradient
  bool decoupled = false;   // instead, shrinks the parameter: see AdamW
};

// m = β₁ m + (1 - β₁) g, v = β₂ v + (1 - β₂) g²,
// parameter -= learning_rate m̂ / (sqrt(v̂) + ε) with m̂ = m / (1 - β₁ᵗ), v̂ = v / (1 - β₂ᵗ)
// (Kingma and Ba 2014); as torch.optim.Adam, but with one t for all parameters. Throws Error for
// options out of range; ε must be above 0.
class Adam : public Optimizer {
 public:
  explicit Adam(const Module& module, const AdamOptions& options = {});
  explicit Adam(std::vector<NamedParameter> parameters, const AdamOptions& options = {});

 private:
  void update(Slot& slot, const Tensor& gradient) const override;
  AdamOptions options_;
};

struct AdamWOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 1e-2;
};

// Adam after parameter *= 1 - learning_rate weight_decay: decoupled weight decay (Loshchilov and
// Hutter 2019); as torch.optim.AdamW.
class AdamW : public Adam {
 public:
  explicit AdamW(const Module& module, const AdamWOptions& options = {});
  explicit AdamW(std::vector<NamedParameter> parameters, const AdamWOptions& options = {});
};

struct AdadeltaOptions {
  double learning_rate = 1;
  double rho = 0.9;
  double epsilon = 1e-6;
  double weight_decay = 0;  // adds weight_decay · parameter to the gradient
};

// v = ρ v + (1 - ρ) g², d = sqrt(u + ε) / sqrt(v + ε) g, u = ρ u + (1 - ρ) d²,
// parameter -= learning_rate d (Zeiler 2012); as torch.optim.Adadelta. Bahdanau et al. (2014)
// trained with ρ = 0.95. Throws Error for options out of range; ε must be above 0.
class Adadelta : public Optimizer {
 public:
  explicit Adadelta(const Module& module, const AdadeltaOptions& options = {});
  explicit Adadelta(std::vector<NamedParameter> parameters, const AdadeltaOptions& options = {});

 private:
  void update(Slot& slot, const Tensor& gradient) const override;
  AdadeltaOptions options_;
};

}  // namespace regrad
