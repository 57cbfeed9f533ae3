#include "autograd/gradcheck.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "ops/rng.h"

namespace regrad {
namespace {

using Function = std::function<Var(std::span<const Var>)>;

struct Checked {
  std::string name;
  Tensor value;
  Tensor analytic;
};

// The output times fixed random weights: the sum alone would hide faults, as for a softmax.
class Projection {
 public:
  Projection(const Function& f, std::uint64_t seed) : f_(f), seed_(seed) {}

  Var operator()(std::span<const Var> inputs) const {
    Var y = f_(inputs);
    Rng rng(seed_);
    return sum(y * Var(normal(y.shape(), 0, 1, rng, y.dtype())));
  }
  double value(const std::vector<Checked>& inputs) const {
    std::vector<Var> constants;
    for (const Checked& input : inputs) constants.emplace_back(input.value);
    return (*this)(constants).item();
  }

 private:
  const Function& f_;
  std::uint64_t seed_;
};

// f'(x) ≈ (8 (f(x+h) - f(x-h)) - (f(x+2h) - f(x-2h))) / 12h
double five_point_difference(const Projection& f, std::vector<Checked>& inputs, std::size_t input,
                             Index index, double step) {
  double x = inputs[input].value.data<double>()[index];
  double h = step * std::max(1.0, std::fabs(x));
  auto at = [&](double offset) {
    inputs[input].value.mutable_data<double>()[index] = x + offset;
    double y = f.value(inputs);
    inputs[input].value.mutable_data<double>()[index] = x;
    return y;
  };
  double near = at(h) - at(-h);
  double far = at(2 * h) - at(-2 * h);
  return (8 * near - far) / (12 * h);
}

std::vector<Index> entries_to_check(Index size, Index limit, Rng& rng) {
  std::vector<Index> entries(static_cast<std::size_t>(size));
  std::iota(entries.begin(), entries.end(), Index{0});
  if (limit > 0 && limit < size) {
    rng.shuffle(std::span(entries));
    entries.resize(static_cast<std::size_t>(limit));
  }
  return entries;
}

void differentiate(const Projection& f, std::vector<Checked>& inputs) {
  Tape tape;
  std::vector<Var> variables;
  for (Checked& input : inputs) {
    if (input.value.dtype() != DType::f64) {
      fail("gradcheck: {} is {}; differences need f64", input.name, to_string(input.value.dtype()));
    }
    variables.push_back(tape.variable(input.value));
  }
  Var y = f(variables);
  if (!y.watched())
    return void(std::ranges::for_each(
        inputs, [](Checked& input) { input.analytic = zeros(input.value.shape(), DType::f64); }));
  Gradients gradients = tape.backward(y);
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i].analytic = gradients[variables[i]];
}

GradcheckReport compare(const Projection& f, std::vector<Checked>& inputs,
                        const GradcheckOptions& options) {
  double first = f.value(inputs), second = f.value(inputs);
  if (first != second && !(std::isnan(first) && std::isnan(second))) {
    fail(
        "gradcheck: the function is not deterministic: {} and {} for the same input; give it the "
        "same random numbers each time",
        first, second);
  }
  GradcheckReport report;
  Rng rng(options.seed, 1);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (Index k : entries_to_check(inputs[i].value.size(), options.entries_per_input, rng)) {
      double analytic = inputs[i].analytic.data<double>()[k];
      double numeric = five_point_difference(f, inputs, i, k, options.step);
      double scale =
          std::max(std::fabs(analytic), std::fabs(numeric)) + options.atol / options.rtol;
      double error = std::fabs(analytic - numeric) / scale;
      if (std::isnan(error)) error = INFINITY;
      ++report.entries;
      if (error < report.worst_error || (report.index >= 0 && error == report.worst_error))
        continue;
      report.worst_error = error;
      report.input = inputs[i].name;
      report.index = k;
      report.analytic = analytic;
      report.numeric = numeric;
    }
  }
  report.passed = report.worst_error <= options.rtol;
  return report;
}

}  // namespace

std::string GradcheckReport::to_string() const {
  if (index < 0) return "gradcheck passed: there was no entry to compare";
  return fmt::format(
      "gradcheck {}: worst of {} entries is {}[{}]: analytic {:.12g}, numeric {:.12g}, relative "
      "error {:.2g}",
      passed ? "passed" : "FAILED", entries, input, index, analytic, numeric, worst_error);
}

GradcheckReport gradcheck(const Function& f, const std::vector<Tensor>& inputs,
                          const GradcheckOptions& options) {
  std::vector<Checked> checked;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    checked.push_back({fmt::format("input {}", i), inputs[i], Tensor()});
  }
  Projection projection(f, options.seed);
  differentiate(projection, checked);
  return compare(projection, checked, options);
}

GradcheckReport gradcheck(const std::function<Var()>& f, const std::vector<Parameter>& parameters,
                          const GradcheckOptions& options) {
  std::vector<Checked> checked;
  for (const Parameter& parameter : parameters) {
    std::string name =
        parameter.name().empty() ? fmt::format("parameter {}", checked.size()) : parameter.name();
    checked.push_back({std::move(name), parameter.value(), Tensor()});
  }
  // Values flow from the checked copies into the parameters; gradients come by the parameters.
  Function run = [&](std::span<const Var> values) {
    for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].assign(values[i].value());
    return f();
  };
  Projection projection(run, options.seed);
  struct Restore {
    const std::vector<Parameter>& parameters;
    std::vector<Tensor> originals;
    ~Restore() {
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        parameters[i].mutable_value() = originals[i];
      }
    }
  } restore{parameters, {}};
  for (const Parameter& parameter : parameters) restore.originals.push_back(parameter.value());
  {
    Tape tape;
    std::vector<Var> constants(restore.originals.begin(), restore.originals.end());
    Var y = projection(constants);
    Gradients gradients = y.watched() ? tape.backward(y) : Gradients();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      checked[i].analytic = gradients.contains(parameters[i])
                                ? gradients[parameters[i]]
                                : zeros(checked[i].value.shape(), checked[i].value.dtype());
    }
  }
  return compare(projection, checked, options);
}

}  // namespace regrad
