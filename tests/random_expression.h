#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "autograd/functions.h"

// Random expressions over the smooth functions of the catalogue.
namespace regrad::testing {

// One operation: of the table, on the inputs or on earlier results, counted modulo how many there
// are, so that any three numbers make an operation.
struct Step {
  std::size_t function, first, second;
};

struct SmoothFunction {
  const char* name;
  Var (*f)(const Var& a, const Var& b);  // many do not look at b
};

// All of them keep to shapes that broadcast to [2, 3, 3].
const std::vector<SmoothFunction>& smooth_functions();

// Five tensors whose shapes broadcast to [2, 3, 3].
std::vector<Tensor> expression_inputs(std::uint64_t seed);

// The sum of all results that no other operation uses, so that every operation matters. Results are
// scaled by constants that bring them into [-1, 1] at the given inputs: whatever the expression,
// values and differences stay where numeric derivatives can be trusted.
class Expression {
 public:
  Expression(std::vector<Step> steps, std::span<const Tensor> inputs);
  Var operator()(std::span<const Var> inputs) const;
  std::string to_string() const;

 private:
  template <class Visit>  // visit(y) sees every result before it is scaled
  Var evaluate(std::span<const Var> inputs, const Visit& visit) const;

  std::vector<Step> steps_;
  std::size_t inputs_;
  std::vector<double> scales_;
};

}  // namespace regrad::testing
