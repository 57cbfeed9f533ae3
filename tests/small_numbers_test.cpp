#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "nn/layer_norm.h"
#include "nn/optimizer.h"
#include "nn_check.h"

// Numbers that f32 holds as 0, or with a few digits only.
using namespace regrad;
using namespace regrad::testing;

namespace {

using doctest::Approx;
constexpr double no_number = NAN;

Gradients gradient_of(const Parameter& parameter, double factor) {
  Tape tape;
  return tape.backward(sum(Var(parameter) * factor));
}

}  // namespace

TEST_CASE("gradients are scaled by factors that f32 does not hold") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Parameter parameter(tensor({1, 2, 3, 4}, dtype));
    const double huge = dtype == DType::f32 ? 1e38 : 1e300;
    for (const double factor : {1e-3, 1e-39, 1e-45, 1e-60}) {
      const double wanted = factor * huge;
      const Gradients clipped = clip_norm(gradient_of(parameter, huge), 2 * wanted);
      CHECK(clipped[parameter].at({3}) == Approx(wanted).epsilon(1e-6));
      for (const double sign : {1.0, -1.0}) {
        Gradients scaled = gradient_of(parameter, huge);
        scaled.scale(sign * factor);
        CHECK(scaled[parameter].at({3}) == Approx(sign * wanted).epsilon(1e-6));
      }
    }
    Gradients none = gradient_of(parameter, huge);
    none.scale(0);
    CHECK(identical(none[parameter], zeros({4}, dtype)));
  }
}

TEST_CASE("smooth_l1 with a beta whose inverse f32 does not hold is the distance") {
  for (const double beta : {1e-40, 1e-300}) {
    Tape tape;
    const Var x = tape.variable(tensor({-2, 0, 3}));
    const Var loss = smooth_l1(x, Var(zeros({3})), {.beta = beta, .mean = false});
    CHECK(loss.item() == 5);
    CHECK(identical(tape.backward(loss)[x], tensor({-1, 0, 1})));
  }
}

TEST_CASE("an epsilon that f32 holds as 0 is an error, as 0 is") {
  const Tensor x = ones({2, 3}), wide = ones({2, 3}, DType::f64);
  CHECK(message_of([&] { (void)layer_norm(x, 1e-80); }) ==
        "layer_norm: epsilon 1e-80 is not above 0 and finite in f32");
  CHECK(message_of([] { LayerNorm(3, DType::f32, 1e-80); }) ==
        "layer_norm: epsilon 1e-80 is not above 0 and finite in f32");
  CHECK(message_of([&] { (void)cosine_similarity(x, x, 1e-50); }) ==
        "cosine_similarity: epsilon 1e-50 is not above 0 and finite in f32");
  CHECK(identical(layer_norm(wide, 1e-80).value(), zeros({2, 3}, DType::f64)));
  CHECK(identical(layer_norm(x, 1e-45).value(), zeros({2, 3})));
  CHECK(message_of([] { LayerNorm(3, DType::f64, 1e-80); }) == "");
  CHECK(cosine_similarity(wide, wide, 1e-50).value().at({0}) == Approx(1));
}

TEST_CASE("an optimizer's epsilon must be above 0 in the type of every parameter") {
  for (const double epsilon : {0.0, 1e-50, no_number, HUGE_VAL}) {
    const std::vector<NamedParameter> parameters{{"a", Parameter(ones({2}, DType::f64))},
                                                 {"b", Parameter(ones({2}))}};
    const auto message = [&](const char* optimizer) {
      return fmt::format("{}: epsilon {} is not above 0 and finite in {}", optimizer, epsilon,
                         epsilon == 1e-50 ? "f32" : "f64");
    };
    CHECK(message_of([&] { Adam(parameters, {.epsilon = epsilon}); }) == message("adam"));
    CHECK(message_of([&] { AdamW(parameters, {.epsilon = epsilon}); }) == message("adam"));
    CHECK(message_of([&] { Adadelta(parameters, {.epsilon = epsilon}); }) == message("adadelta"));
  }
  for (const DType dtype : {DType::f32, DType::f64}) {  // zeros are divided by it
    const double least = dtype == DType::f32 ? 1e-45 : 1e-300;
    const Parameter a(ones({2}, dtype)), b(ones({2}, dtype));
    Adam(std::vector<NamedParameter>{{"a", a}}, {.epsilon = least}).step(gradient_of(a, 0));
    Adadelta(std::vector<NamedParameter>{{"b", b}}, {.epsilon = least}).step(gradient_of(b, 0));
    CHECK(identical(a.value(), ones({2}, dtype)));
    CHECK(identical(b.value(), ones({2}, dtype)));
  }
}

TEST_CASE("sparsemax and entmax hide no NaN from the gradient, and none gets into padding") {
  const Lengths lengths({2, 3}, 3);
  const auto masked_sparsemax = [&](const Var& x) { return sparsemax(x, lengths); };
  const auto masked_entmax = [&](const Var& x) { return entmax(x, lengths); };
  const auto check = [](const auto& f, bool masked) {
    Tape tape;
    const Var x = tape.variable(
        tensor(std::vector<double>{1, no_number, 0, 0.5, 0.4, -9}, {2, 3}, DType::f64));
    const Var factors = tensor({{1, 2, 3}, {4, 6, 9}}, DType::f64);
    const Tensor gradient = tape.backward(sum(f(x) * factors))[x];
    CHECK(std::isnan(gradient.at({0, 0})));
    CHECK(std::isnan(gradient.at({0, 1})));
    CHECK(masked == (gradient.at({0, 2}) == 0));
    CHECK(gradient.at({1, 0}) < -0.4);
    CHECK(gradient.at({1, 1}) > 0.4);
    CHECK(gradient.at({1, 2}) == 0);
  };
  check([](const Var& x) { return sparsemax(x); }, false);
  check([](const Var& x) { return entmax(x); }, false);
  check(masked_sparsemax, true);
  check(masked_entmax, true);
}
