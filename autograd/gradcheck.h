#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "autograd/var.h"

namespace regrad {

struct GradcheckOptions {
  int order = 1;  // 2: then also the gradient of a random projection of f's gradient
  double atol = 1e-9;
  double rtol = 1e-6;      // an entry fails when |analytic - numeric| > atol + rtol max(|·|, |·|)
  double step = 1e-3;      // of the five-point difference, relative to max(1, |x|)
  std::uint64_t seed = 1;  // of the random projection
  // At most so many entries per input, chosen at random; 0: all.
  Index entries_per_input = 0;
};

struct GradcheckReport {
  bool passed = true;
  // |analytic - numeric| / (max(|·|, |·|) + atol / rtol); with rtol = 0 |analytic - numeric|
  double worst_error = 0;
  std::string operation;  // the last one of f, which gave its output
  std::string input;      // of the worst entry: `input 1` or a parameter's name
  Index index = -1;       // its row-major position
  double analytic = 0, numeric = 0;
  Index entries = 0;  // how many were compared

  std::string to_string() const;
};

// Compares the gradient of a random projection of f's output, from the tape, with five-point
// differences, entry by entry. Inputs are f64. Throws Error for f32 inputs, for a function that
// gives different values for the same input, and for options out of range.
GradcheckReport gradcheck(const std::function<Var(std::span<const Var>)>& f,
                          const std::vector<Tensor>& inputs, const GradcheckOptions& options = {});

// The same for a function of parameters, which are restored afterwards.
GradcheckReport gradcheck(const std::function<Var()>& f, const std::vector<Parameter>& parameters,
                          const GradcheckOptions& options = {});

}  // namespace regrad
