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

// A function of leaves, and how these are made from values: variables, or parameters that are set.
struct Subject {
  Function f;
  std::function<std::vector<Var>(std::span<const Var>)> leaves;
};

// Random weights of y's shape, the same each time.
Var weighted_sum(const Var& y, Rng& rng) {
  return sum(y * Var(normal(y.shape(), 0, 1, rng, y.dtype())));
}

// The number that is differentiated. Of order 1: the output times fixed random weights, as the sum
// alone would hide faults (for a softmax it is constant). Of order 2: so is the gradient of that.
class Projection {
 public:
  Projection(const Subject& subject, const GradcheckOptions& options)
      : subject_(subject), options_(options) {}

  Var operator()(std::span<const Var> leaves) const {
    Rng rng(options_.seed);
    Var y = weighted_sum(subject_.f(leaves), rng);
    if (options_.order == 1) return y;
    Var total = zeros({}, y.dtype());
    if (!y.watched()) return total;
    for (const Var& g : gradients(y, leaves)) total += weighted_sum(g, rng);
    return total;
  }
  std::vector<Var> leaves(const std::vector<Checked>& inputs) const {
    std::vector<Var> values;
    for (const Checked& input : inputs) values.emplace_back(input.value);
    return subject_.leaves(values);
  }
  double value(const std::vector<Checked>& inputs) const {
    const Paused paused;  // a tape around this check is not its business
    if (options_.order == 1) return (*this)(leaves(inputs)).item();
    Tape tape;
    return (*this)(leaves(inputs)).item();
  }
  std::string operation(std::span<const Var> leaves) const {
    Var y = subject_.f(leaves);
    return y.watched() ? Tape::active()->operation(y) : "constant";
  }

 private:
  const Subject& subject_;
  const GradcheckOptions& options_;
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

// Fills in the analytic gradients; returns the name of f's last operation.
std::string differentiate(const Projection& f, std::vector<Checked>& inputs) {
  for (const Checked& input : inputs) {
    if (input.value.dtype() == DType::f64) continue;
    fail("gradcheck: {} is {}; differences need f64", input.name, to_string(input.value.dtype()));
  }
  Tape tape;
  std::vector<Var> leaves = f.leaves(inputs);
  std::string operation = f.operation(leaves);
  Var y = f(leaves);
  Gradients gradients = y.watched() ? tape.backward(y) : Gradients();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].analytic = gradients.contains(leaves[i]) ? gradients[leaves[i]]
                                                       : zeros(inputs[i].value.shape(), DType::f64);
  }
  return operation;
}

void check_options(const GradcheckOptions& options) {
  if (options.order != 1 && options.order != 2) {
    fail("gradcheck: order {}; it checks first (1) and second (2) derivatives", options.order);
  }
  if (!(options.atol >= 0 && options.rtol >= 0 && options.atol + options.rtol > 0)) {
    fail("gradcheck: atol {} and rtol {} must not be negative, nor both 0", options.atol,
         options.rtol);
  }
  if (!(options.step > 0)) fail("gradcheck: step {} must be above 0", options.step);
}

void require_deterministic(const Projection& f, const std::vector<Checked>& inputs) {
  double first = f.value(inputs), second = f.value(inputs);
  if (first == second || (std::isnan(first) && std::isnan(second))) return;
  fail(
      "gradcheck: the function is not deterministic: {} and {} for the same input; give it the "
      "same random numbers each time",
      first, second);
}

GradcheckReport compare(const Subject& subject, std::vector<Checked>& inputs,
                        const GradcheckOptions& options) {
  Projection f(subject, options);
  GradcheckReport report;
  report.operation = differentiate(f, inputs);
  require_deterministic(f, inputs);
  Rng rng(options.seed, 1);
  double worst = -1;  // of error over tolerance
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (Index k : entries_to_check(inputs[i].value.size(), options.entries_per_input, rng)) {
      double analytic = inputs[i].analytic.data<double>()[k];
      double numeric = five_point_difference(f, inputs, i, k, options.step);
      double size = std::max(std::fabs(analytic), std::fabs(numeric));
      double error = std::fabs(analytic - numeric), allowed = options.atol + options.rtol * size;
      double ratio = error <= allowed && allowed == 0 ? 0 : error / allowed;
      if (std::isnan(error)) ratio = INFINITY;
      ++report.entries;
      if (ratio <= worst) continue;
      worst = ratio;
      report.passed = ratio <= 1;
      report.worst_error = options.rtol > 0 ? ratio * options.rtol : error;
      report.input = inputs[i].name;
      report.index = k;
      report.analytic = analytic;
      report.numeric = numeric;
    }
  }
  return report;
}

// Of order 2 only where the first derivatives are right.
GradcheckReport check(const Subject& subject, std::vector<Checked>& inputs,
                      const GradcheckOptions& options) {
  check_options(options);
  GradcheckOptions first = options;
  first.order = 1;
  GradcheckReport report = compare(subject, inputs, first);
  return options.order == 1 || !report.passed ? report : compare(subject, inputs, options);
}

}  // namespace

std::string GradcheckReport::to_string() const {
  if (index < 0) return fmt::format("gradcheck of {} passed: nothing to compare", operation);
  return fmt::format(
      "gradcheck of {} {}: worst of {} entries is {}[{}]: analytic {:.12g}, numeric {:.12g}, "
      "relative error {:.2g}",
      operation, passed ? "passed" : "FAILED", entries, input, index, analytic, numeric,
      worst_error);
}

GradcheckReport gradcheck(const Function& f, const std::vector<Tensor>& inputs,
                          const GradcheckOptions& options) {
  std::vector<Checked> checked;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    checked.push_back({fmt::format("input {}", i), inputs[i], Tensor()});
  }
  auto variables = [](std::span<const Var> values) {
    std::vector<Var> leaves(values.begin(), values.end());
    if (Tape* tape = Tape::active()) {
      for (Var& leaf : leaves) leaf = tape->variable(leaf.value());
    }
    return leaves;
  };
  return check({f, variables}, checked, options);
}

GradcheckReport gradcheck(const std::function<Var()>& f, const std::vector<Parameter>& parameters,
                          const GradcheckOptions& options) {
  std::vector<Checked> checked;
  for (const Parameter& parameter : parameters) {
    if (!parameter) fail("gradcheck: parameter {} holds nothing", checked.size());
    if (std::ranges::count(parameters, parameter) > 1) {
      fail("gradcheck: parameter {} is given twice", parameter.name());
    }
    std::string name =
        parameter.name().empty() ? fmt::format("parameter {}", checked.size()) : parameter.name();
    checked.push_back({std::move(name), parameter.value(), Tensor()});
  }
  struct Restore {
    const std::vector<Parameter>& parameters;
    std::vector<Checked> originals;
    ~Restore() {
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        parameters[i].mutable_value() = originals[i].value;
      }
    }
  } restore{parameters, checked};
  auto set = [&](std::span<const Var> values) {
    for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].assign(values[i].value());
    return std::vector<Var>(parameters.begin(), parameters.end());
  };
  return check({[&](std::span<const Var>) { return f(); }, set}, checked, options);
}

}  // namespace regrad
