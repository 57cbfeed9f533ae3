#include "autograd/functions.h"

#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "autograd/gradcheck.h"
#include "autograd/tape.h"
#include "function_rows.h"

using namespace regrad;
using namespace regrad::testing;

TEST_CASE("every function's gradient") {
  for (const Row& row : all_rows()) {
    GradcheckReport report = gradcheck(row.f, row.inputs);
    INFO(std::string(row.name) << ": " << report.to_string());
    CHECK(report.passed);
  }
}

TEST_CASE("second derivatives of everything that is not fused") {
  for (const Row& row : all_rows()) {
    if (!row.any_order) continue;
    GradcheckReport report = gradcheck(row.f, row.inputs, {.order = 2, .rtol = 1e-5});
    INFO(std::string(row.name) << ": " << report.to_string());
    CHECK(report.passed);
  }
}

TEST_CASE("values and gradients are the same bits from run to run") {
  for (const Row& row : all_rows()) {
    auto run = [&] {
      Tape tape;
      std::vector<Var> x;
      for (const Tensor& input : row.inputs) x.push_back(tape.variable(input));
      Gradients gradients = tape.backward(sum(row.f(x)));
      std::vector<double> all;
      for (const Var& v : x) {
        for (double g : gradients[v].to_vector()) all.push_back(g);
      }
      return all;
    };
    CHECK(run() == run());
  }
}

TEST_CASE("the mean over no valid position is 0 with zero gradients") {
  Tape tape;
  Var logits = tape.variable(full({2, 1, 3}, NAN));
  Var loss = cross_entropy(logits, Ids(Shape{2, 1}, 77), Lengths({0}, 2));
  CHECK(loss.item() == 0);
  for (double g : tape.backward(loss)[logits].to_vector()) CHECK(g == 0);
}
