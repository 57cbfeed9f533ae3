#include "autograd/gradcheck.h"

#include <string>

#include <doctest/doctest.h>

#include "autograd/functions.h"
#include "autograd/record.h"

using namespace regrad;

namespace {

// y = x², with a pullback of our choice.
template <class F>
auto square_with(F pullback) {
  return [pullback](std::span<const Var> x) {
    const Var& v = x[0];
    return record("square", square(v).value(),
                  Edge{v, [v, pullback](const Var& g) { return pullback(g, v); }});
  };
}

const Tensor point = tensor({0.5, -1.25, 2}, DType::f64);

}  // namespace

TEST_CASE("a right pullback passes, and the report says how near it was") {
  auto report =
      gradcheck(square_with([](const Var& g, const Var& v) { return g * v * 2; }), {point});
  CHECK(report.passed);
  CHECK(report.entries == 3);
  CHECK(report.worst_error < 1e-9);
}

TEST_CASE("a wrong pullback fails and names the worst entry with both values") {
  auto report =
      gradcheck(square_with([](const Var& g, const Var& v) { return g * v * 2.001; }), {point});
  CHECK_FALSE(report.passed);
  CHECK(report.input == "input 0");
  CHECK(report.analytic == doctest::Approx(report.numeric * 1.0005));
  CHECK(report.to_string().find("FAILED") != std::string::npos);
}

TEST_CASE("a gradient that is identically 0 where the numeric one is not fails") {
  CHECK_FALSE(
      gradcheck(square_with([](const Var& g, const Var&) { return g * 0.0; }), {point}).passed);
  CHECK_FALSE(
      gradcheck([](std::span<const Var> x) { return Var(square(x[0]).value()); }, {point}).passed);
}

TEST_CASE("a NaN gradient fails") {
  CHECK_FALSE(
      gradcheck(square_with([](const Var& g, const Var& v) { return (g - g) / (v - v); }), {point})
          .passed);
}

TEST_CASE("one wrong entry among many is found") {
  auto f = [](std::span<const Var> x) {
    const Var& v = x[0];
    return record("copy", v.value(), Edge{v, [](const Var& g) {
                                            Tensor wrong = g.value().clone();
                                            wrong.mutable_data<double>()[17] *= 1.01;
                                            return Var(wrong);
                                          }});
  };
  Rng rng(1);
  auto report = gradcheck(f, {normal({40}, 0, 1, rng, DType::f64)});
  CHECK_FALSE(report.passed);
  CHECK(report.index == 17);
}

TEST_CASE("a function that is not deterministic is an error") {
  Rng rng(1);
  auto noisy = [&](std::span<const Var> x) { return dropout(x[0], 0.5, rng); };
  CHECK_THROWS_WITH_AS(gradcheck(noisy, {ones({50}, DType::f64)}),
                       doctest::Contains("not deterministic"), Error);
}

TEST_CASE("f32 is an error") {
  CHECK_THROWS_WITH_AS(gradcheck([](std::span<const Var> x) { return x[0]; }, {ones({2})}),
                       doctest::Contains("need f64"), Error);
}

TEST_CASE("parameters are checked by name and restored") {
  Parameter a(tensor({1, 2}, DType::f64)), b(tensor({3, 4}, DType::f64));
  a.set_name("a");
  b.set_name("b");
  CHECK(gradcheck([&] { return Var(a) * Var(b); }, {a, b}).passed);
  auto forgets_b = [&] { return Var(a) * Var(b.value()); };
  auto report = gradcheck(forgets_b, {a, b});
  CHECK_FALSE(report.passed);
  CHECK(report.input == "b");
  CHECK(b.value().to_vector() == std::vector<double>{3, 4});
}

TEST_CASE("entries can be sampled") {
  auto f = [](std::span<const Var> x) { return tanh(x[0]); };
  CHECK(gradcheck(f, {ones({1000}, DType::f64)}, {.entries_per_input = 20}).entries == 20);
}

TEST_CASE("second derivatives, right and wrong") {
  auto cube = [](std::span<const Var> x) { return x[0] * x[0] * x[0]; };
  auto report = gradcheck(cube, {point}, {.order = 2});
  CHECK(report.passed);
  CHECK(report.entries == 3);
  CHECK(report.operation == "mul");
  // The right first derivative, computed from a constant: the second one is lost.
  auto detached = square_with([](const Var& g, const Var& v) { return g * v.detach() * 2; });
  CHECK(gradcheck(detached, {point}).passed);
  CHECK_FALSE(gradcheck(detached, {point}, {.order = 2}).passed);
  auto linear_in_x = [](std::span<const Var> x) { return x[0] * 3; };
  CHECK(gradcheck(linear_in_x, {point}, {.order = 2}).passed);
  CHECK_THROWS_WITH_AS(gradcheck(cube, {point}, {.order = 3}),
                       "gradcheck: order 3; it checks first (1) and second (2) derivatives", Error);
}

TEST_CASE("second derivatives by parameters") {
  Parameter a(tensor({1, 2}, DType::f64)), b(tensor({3, 4}, DType::f64));
  auto f = [&] { return square(Var(a)) * Var(b); };
  CHECK(gradcheck(f, {a, b}, {.order = 2}).passed);
  auto first_only = [&] {
    Var x(a);
    return record_fused("first_only", x.value(), {&x},
                        [](const Tensor& g, GradientSink& sink) { sink.add(0, g); });
  };
  CHECK(gradcheck(first_only, {a}).passed);
  CHECK_THROWS_AS(gradcheck(first_only, {a}, {.order = 2}), Error);
  CHECK(a.value().to_vector() == std::vector<double>{1, 2});
}

TEST_CASE("the report names operation, input, entry and both values") {
  auto report =
      gradcheck(square_with([](const Var& g, const Var& v) { return g * v * 3; }), {point});
  CHECK(
      report.to_string().starts_with("gradcheck of square FAILED: worst of 3 entries is input 0["));
  auto constant = [](std::span<const Var>) { return Var(ones({2}, DType::f64)); };
  CHECK(gradcheck(constant, {point}).operation == "constant");
}

TEST_CASE("tolerances decide, also when one of them is 0") {
  auto wrong = square_with([](const Var& g, const Var& v) { return g * v * 7; });
  for (const GradcheckOptions& options :
       {GradcheckOptions{.rtol = 0}, GradcheckOptions{.atol = 1e-6, .rtol = 0},
        GradcheckOptions{.atol = 0}, GradcheckOptions{.order = 2}}) {
    CHECK_FALSE(gradcheck(wrong, {point}, options).passed);
  }
  auto right = square_with([](const Var& g, const Var& v) { return g * v * 2; });
  CHECK(gradcheck(right, {point}, {.atol = 1e-6, .rtol = 0}).passed);
  for (const GradcheckOptions& options :
       {GradcheckOptions{.atol = -1}, GradcheckOptions{.rtol = -1},
        GradcheckOptions{.atol = 0, .rtol = 0}, GradcheckOptions{.step = 0}}) {
    CHECK_THROWS_AS(gradcheck(right, {point}, options), Error);
  }
}

TEST_CASE("a tape around a check is left alone") {
  auto f = [](std::span<const Var> x) { return square(x[0]); };
  Tape tape;
  CHECK(gradcheck(f, {point}).passed);
  CHECK(tape.size() == 0);
  tape.backward(square(tape.variable(scalar(1))));
  CHECK(gradcheck(f, {point}, {.order = 2}).passed);
}

TEST_CASE("parameters that are empty or given twice are errors") {
  Parameter w(tensor({1, 2}, DType::f64));
  auto f = [&] { return square(Var(w)); };
  CHECK_THROWS_WITH_AS(gradcheck(f, {w, w}), doctest::Contains("given twice"), Error);
  CHECK_THROWS_WITH_AS(gradcheck(f, {w, Parameter()}), doctest::Contains("holds nothing"), Error);
}
