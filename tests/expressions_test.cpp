#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "autograd/gradcheck.h"
#include "random_expression.h"

// RC_PARAMS="max_success=10000 seed=1" tries more than 100 expressions.
using namespace regrad;
using namespace regrad::testing;

namespace {

std::vector<Step> random_steps() {
  const auto count = *rc::gen::inRange<std::size_t>(1, 31);
  const auto function = rc::gen::inRange<std::size_t>(0, smooth_functions().size());
  const auto operand = rc::gen::inRange<std::size_t>(0, 1000);
  return *rc::gen::container<std::vector<Step>>(
      count, rc::gen::construct<Step>(function, operand, operand));
}

}  // namespace

TEST_CASE("random expressions of up to 30 operations") {
  // Within 1e-6 relative, or 1e-8 since the differences' own errors stay where the ways by which an
  // entry contributes cancel; with half the usual step for the few that bend most.
  const GradcheckOptions options{.atol = 1e-8, .step = 5e-4, .entries_per_input = 4};
  CHECK(rc::check("their gradients", [&] {
    const std::vector<Step> steps = random_steps();
    const std::vector<Tensor> inputs = expression_inputs(*rc::gen::inRange(0, 1 << 20));
    const Expression expression(steps, inputs);
    RC_LOG() << expression.to_string();
    const GradcheckReport report =
        gradcheck([&](std::span<const Var> x) { return expression(x); }, inputs, options);
    if (!report.passed) RC_FAIL(report.to_string());
  }));
}
