#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <string>

#include <doctest/doctest.h>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "nn/linear.h"

using namespace regrad;

namespace {

struct Network : Module {
  Rng rng{1};
  Linear first{3, 4, rng}, second{4, 2, rng};

  Network() { name_parameters(*this); }
  Var operator()(const Var& x) const { return second(tanh(first(x))); }
  void visit(Visitor& visitor) const override {
    visitor("first", first);
    visitor("second", second);
  }
};

std::string message_of(const auto& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

bool mentions(const std::string& text, const std::string& words) {
  INFO(text);
  return text.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("summary counts the operations of each kind") {
  Network network;
  Tape tape;
  network(Var(ones({5, 3})));
  TapeSummary summary = tape.summary();
  CHECK_FALSE(summary.profiled);
  Index linears = 0, leaves = 0;
  for (const auto& row : summary.rows) {
    if (row.operation == "linear") linears = row.count;
    if (row.operation == "leaf") leaves = row.count;
  }
  CHECK(linears == 2);
  CHECK(leaves == 4);
  CHECK(mentions(summary.to_string(), "tanh"));
}

TEST_CASE("summary with time and memory covers the whole of forward and backward") {
  Network network;
  double covered = 0;  // the most of several runs: others may take the processor in between
  for (int run = 0; run < 10; ++run) {
    auto begin = std::chrono::steady_clock::now();
    Tape tape{{.profile = true}};
    Var h(ones({5, 3}));
    for (int i = 0; i < 200; ++i) {
      Var y = network(h);
      h = concat({y, slice(y, 1, 0, 1)}, 1);
    }
    Var loss = mean(square(h));
    tape.backward(loss);
    double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    TapeSummary summary = tape.summary();
    CHECK(summary.profiled);
    CHECK(summary.forward > 0);
    CHECK(summary.backward > 0);
    CHECK(summary.forward + summary.backward <= wall);
    covered = std::max(covered, (summary.forward + summary.backward) / wall);
    Index bytes = 0;
    double forward = 0;
    for (const auto& row : summary.rows) {
      bytes += row.bytes;
      forward += row.forward;
    }
    CHECK(forward == doctest::Approx(summary.forward));
    CHECK(bytes > 200 * 5 * 4 * 4);  // at least the outputs of tanh
    CHECK(mentions(summary.to_string(), "backward ms"));
  }
  CHECK(covered >= 0.8);
}

TEST_CASE("dot draws leaves with their paths, operations and edges") {
  Network network;
  Tape tape;
  Var x = tape.variable(ones({5, 3}));
  tape.backward(sum(network(x)));
  std::string dot = tape.dot();
  CHECK(mentions(dot, "digraph tape {"));
  CHECK(mentions(dot, "label=\"first.weight\\n[4, 3]\""));
  CHECK(mentions(dot, "label=\"second.bias\\n[2]\""));
  CHECK(mentions(dot, "label=\"tanh\\n[5, 4]\""));
  CHECK(mentions(dot, "label=\"variable\\n[5, 3]\""));
  CHECK(mentions(dot, "n0 -> n3;"));
  CHECK(std::count(dot.begin(), dot.end(), '>') == 3 + 1 + 3 + 1);
}

TEST_CASE("check_finite names the operation, the module and the ranges, forward") {
  Network network;
  Tensor weight = network.second.weight.value();
  network.second.weight.mutable_value().mutable_data<float>()[3] =
      std::numeric_limits<float>::infinity();
  Tape tape{{.check_finite = true}};
  std::string message = message_of([&] { network(Var(ones({5, 3}))); });
  CHECK(mentions(message, "check_finite: linear"));
  CHECK(mentions(message, "in second"));
  CHECK(mentions(message, "[2, 4] in ["));
  CHECK(mentions(message, "with NaN or infinity"));
}

TEST_CASE("check_finite names what comes after a module, and the inputs' ranges") {
  Network network;
  Tape tape{{.check_finite = true}};
  Var y = network(Var(ones({5, 3})));
  std::string message = message_of([&] { log(y * 0.0 - 2.0); });
  CHECK(mentions(message, "check_finite: log"));
  CHECK(mentions(message, "after second"));
  CHECK(mentions(message, "[5, 2] in [-2, -2]"));
}

TEST_CASE("check_finite finds the first bad gradient") {
  Tape tape{{.check_finite = true}};
  Var x = tape.variable(tensor({0, 1}));
  Var y = sum(sqrt(x));
  std::string message = message_of([&] { tape.backward(y); });
  CHECK(mentions(message, "backward of sqrt"));
  CHECK(mentions(message, "(step 0, leaf)"));
}

TEST_CASE("without check_finite a NaN passes through") {
  Tape tape;
  Var x = tape.variable(tensor({-1}));
  Gradients gradients = tape.backward(sum(log(x)));
  CHECK(std::isfinite(gradients[x].item()));
  CHECK(std::isnan(log(Var(tensor({-1}))).item()));
}

TEST_CASE("gradients that only add up to infinity are found, and named by the leaf") {
  Parameter w(full({1, 2}, 1e-200, DType::f64));
  w.set_name("decoder.out.weight");
  Tape tape{{.check_finite = true}};
  Var x = tape.variable(full({1, 2}, 1e200, DType::f64));
  Var h = linear(x, w);
  CHECK_THROWS_WITH_AS(tape.backward(sum(h * 1e150)), doctest::Contains("decoder.out.weight"),
                       Error);
  Tape second{{.check_finite = true}};
  Var y = second.variable(scalar(1e-300, DType::f64));
  CHECK_THROWS_WITH_AS(second.backward(y * 1.7e308 + y * 1.7e308), doctest::Contains("adds up to"),
                       Error);
  Tape third{{.check_finite = true}};
  Var z = third.variable(ones({3}));
  CHECK_THROWS_WITH_AS(third.backward(slice(z, 0, 0, 2), tensor({NAN, 1})),
                       doctest::Contains("check_finite"), Error);
}

TEST_CASE("the module named is one that leads to the step") {
  Parameter w(tensor({1, 2}, DType::f64));
  w.set_name("decoder.out.weight");
  Tape tape{{.check_finite = true}};
  Var x = tape.variable(tensor({1, 2}, DType::f64));
  Var unrelated = exp(Var(w));
  try {
    log(neg(square(x)));
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("decoder") == std::string::npos);
  }
}
