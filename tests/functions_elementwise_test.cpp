#include "gradient_of.h"

// Values and gradients where functions are steep, flat, bent or not defined.
using namespace regrad;
using namespace regrad::testing;

namespace {

struct Case {
  const char* name;
  Var (*f)(const Var& x);
  std::vector<double> x, y, gradient;
};

const double log2 = std::log(2.0);

const Case cases[] = {
    {"abs", abs, {-inf, -2, -0.0, 0, 3}, {inf, 2, 0, 0, 3}, {-1, -1, 0, 0, 1}},
    {"sqrt", sqrt, {-1, 0, 4, inf}, {NAN, 0, 2, inf}, {NAN, inf, 0.25, 0}},
    {"rsqrt", rsqrt, {-1, 0, 4, inf}, {NAN, inf, 0.5, 0}, {NAN, -inf, -1. / 16, 0}},
    {"reciprocal",
     reciprocal,
     {0, -0.0, -4, inf},
     {inf, -inf, -0.25, 0},
     {-inf, -inf, -1. / 16, 0}},
    {"expm1", expm1, {-inf, -1e4, 1e-9, 0}, {-1, -1, 1e-9, 0}, {0, 0, 1, 1}},
    {"log1p", log1p, {-1, 1e-9, 0, inf}, {-inf, 1e-9, 0, inf}, {inf, 1, 1, 0}},
    {"erf",
     erf,
     {-inf, -1e4, 0, 1e-9, 1e4},
     {-1, -1, 0, 1.1283791670955126e-9, 1},
     {0, 0, 1.1283791670955126, 1.1283791670955126, 0}},
    {"tanh", tanh, {-inf, -1e4, 0, 1e4}, {-1, -1, 0, 1}, {0, 0, 1, 0}},
    {"sigmoid", sigmoid, {-1e4, 0, 1e4, inf}, {0, 0.5, 1, 1}, {0, 0.25, 0, 0}},
    {"log_sigmoid", log_sigmoid, {-inf, -1e4, 0, 1e4}, {-inf, -1e4, -log2, 0}, {1, 1, 0.5, 0}},
    {"softplus", softplus, {-1e4, 0, 1e4, inf}, {0, log2, 1e4, inf}, {0, 0.5, 1, 1}},
    {"relu", relu, {-inf, -1, -0.0, 0, 2, NAN}, {0, 0, 0, 0, 2, NAN}, {0, 0, 0, 0, 1, 0}},
    {"gelu", gelu, {-1e4, 0, 1e4}, {0, 0, 1e4}, {0, 0.5, 1}},
    {"silu", silu, {-1e4, 0, 1e4}, {0, 0, 1e4}, {0, 0.5, 1}},
    {"leaky_relu",
     [](const Var& x) { return leaky_relu(x, 0.25); },
     {-inf, -4, 0, 2, NAN},
     {-inf, -1, 0, 2, NAN},
     {0.25, 0.25, 0.25, 1, 0.25}},
    {"elu",
     [](const Var& x) { return elu(x, 2); },
     {-inf, -1e4, 0, 1e4, inf},
     {-2, -2, 0, 1e4, inf},
     {0, 0, 2, 1, 1}},
    {"clamp",
     [](const Var& x) { return clamp(x, -1, 2); },
     {-inf, -1, 0, 2, 1e4, NAN},
     {-1, -1, 0, 2, 2, NAN},
     {0, 1, 1, 1, 0, 0}},
    {"clamp from below",
     [](const Var& x) { return clamp(x, 0, inf); },
     {-1, 0, inf},
     {0, 0, inf},
     {0, 1, 1}},
    {"minimum",
     [](const Var& x) { return minimum(x, 1); },
     {-inf, 1, 2, NAN},
     {-inf, 1, 1, NAN},
     {1, 0.5, 0, 1}},
    {"maximum",
     [](const Var& x) { return maximum(x, 1); },
     {-inf, 1, 2, NAN},
     {1, 1, 2, NAN},
     {0, 0.5, 1, 1}},
    {"pow 2", [](const Var& x) { return pow(x, 2); }, {-3, 0, inf}, {9, 0, inf}, {-6, 0, inf}},
    {"pow 0",
     [](const Var& x) { return pow(x, 0); },
     {-3, 0, inf, NAN},
     {1, 1, 1, 1},
     {0, 0, 0, 0}},
    {"pow 1", [](const Var& x) { return pow(x, 1); }, {-3, 0, inf}, {-3, 0, inf}, {1, 1, 1}},
    {"pow ½", [](const Var& x) { return pow(x, 0.5); }, {-3, 0, 4}, {NAN, 0, 2}, {NAN, inf, 0.25}},
    {"pow -1", [](const Var& x) { return pow(x, -1); }, {-4, 0}, {-0.25, inf}, {-1. / 16, -inf}}};

}  // namespace

TEST_CASE("pullbacks in a gradient's storage spare the gradients that others hold") {
  Tape tape;
  const Var x = tape.variable(scalar(0.5, DType::f64)), y = tape.variable(scalar(2, DType::f64));
  const Tensor seed = scalar(3, DType::f64);
  const Gradients gradients = tape.backward(tanh(x) + sigmoid(y) + x * x + y * y + x + y, seed);
  const double t = std::tanh(0.5), s = 1 / (1 + std::exp(-2.0));
  CHECK(gradients[x].item() == doctest::Approx(3 * (1 - t * t + 2 * 0.5 + 1)).epsilon(1e-14));
  CHECK(gradients[y].item() == doctest::Approx(3 * (s * (1 - s) + 2 * 2 + 1)).epsilon(1e-14));
  CHECK(seed.item() == 3);
}

TEST_CASE("values and gradients at special points") {
  for (DType dtype : both_types) {
    for (const Case& c : cases) {
      INFO(c.name << " of " << to_string(dtype));
      Tensor x = tensor(c.x, {static_cast<Index>(c.x.size())}, dtype);
      check_values(c.f(x), x.shape(), c.y);
      check_values(gradient_of(c.f, x), c.gradient);
    }
  }
}

TEST_CASE("a power by both") {
  for (DType dtype : both_types) {
    Tensor a = tensor({0, 0, 0, -2, -2, 1e-40, 0, 3}, dtype);
    Tensor b = tensor({0, 2, -1, 3, 0, 0, 0.5, 2}, dtype);
    check_values(pow(Var(a), Var(b)), {8}, {1, 0, inf, -8, 1, 1, 0, 9});
    auto by_a = [&](const Var& x) { return pow(x, Var(b)); };
    check_values(gradient_of(by_a, a), {0, 0, -inf, 12, 0, 0, inf, 6});
    auto by_b = [&](const Var& x) { return pow(Var(a), x); };
    double tiny = std::log(dtype == DType::f32 ? double{1e-40f} : 1e-40);
    check_values(gradient_of(by_b, b), {0, 0, -inf, NAN, NAN, tiny, 0, 9 * std::log(3.)}, 1e-5);
  }
}

TEST_CASE("ties of minimum and maximum share the gradient") {
  Tensor a = tensor({1, 2, 3}), b = tensor({1, 3, 2});
  using F = Var (*)(const Var&, const Var&);
  for (F f : {F([](const Var&x, const Var&y) { return minimum(x, y); }),
              F([](const Var&x, const Var&y) { return -maximum(-x, -y); })}) {
    check_values(f(a, b), {3}, {1, 2, 2});
    check_values(gradient_of([&](const Var& x) { return f(x, b); }, a), {0.5, 1, 0});
    check_values(gradient_of([&](const Var& x) { return f(a, x); }, b), {0.5, 0, 1});
  }
  check_values(gradient_of([](const Var& x) { return maximum(x, x); }, a), {1, 1, 1});
}

TEST_CASE("what where does not take leaks neither into values nor into gradients") {
  Tensor x = tensor({-2, -1, 0, 1, 4});
  auto safe_root = [](const Var& v) {
    return where(greater(v, 0), sqrt(where(greater(v, 0), v, 1)), 0.);
  };
  check_values(safe_root(x), {5}, {0, 0, 0, 1, 2});
  check_values(gradient_of(safe_root, x), {0, 0, 0, 0.5, 0.25});
  Tensor spoilt = tensor({NAN, inf, -inf, 1, 4});
  auto choose = [&](const Var& v) { return where(tensor({0, 0, 0, 1, NAN}), v * 2, -v); };
  auto keep = [&](const Var& v) { return where(tensor({1, -3, 0.1, 0, 0}), x, v); };
  check_values(choose(spoilt), {5}, {NAN, -inf, inf, 2, 8});
  check_values(keep(spoilt), {5}, {-2, -1, 0, 1, 4});
  check_values(gradient_of(keep, spoilt), {0, 0, 0, 1, 1});
  auto weighted = [&](const Var& v) { return where(tensor({1, 0, 1, 0, 0}), v, 5.) * Var(spoilt); };
  check_values(gradient_of(weighted, x), {NAN, 0, -inf, 0, 0});
}

TEST_CASE("where a function has no finite derivative, where chooses what it is taken of") {
  const Tensor x = tensor({0, 2});
  const Tensor keeps = greater(x, 0);
  using Function = Var (*)(const Var&);
  const Function functions[] = {log, sqrt, rsqrt, reciprocal,
                                [](const Var& v) { return pow(v, 0.5); }};
  for (const Function f : functions) {
    const double slope = gradient_of(f, tensor({2}))[0];
    check_values(gradient_of([&](const Var& v) { return where(keeps, f(v), 0); }, x), {NAN, slope});
    check_values(
        gradient_of([&](const Var& v) { return where(keeps, f(where(keeps, v, 1)), 0); }, x),
        {0, slope});
  }
}

TEST_CASE("comparisons give zeros and ones of the inputs' type, with broadcasting") {
  for (DType dtype : both_types) {
    Tensor a = tensor({{1, 2, NAN}, {-0.0, inf, 3}}, dtype), b = tensor({1, 3, NAN}, dtype);
    Tensor results[] = {greater(a, b),    greater_equal(a, b), less(a, b),
                        less_equal(a, b), equal(a, b),         not_equal(a, b)};
    const std::vector<double> expected[] = {{0, 0, 0, 0, 1, 0}, {1, 0, 0, 0, 1, 0},
                                            {0, 1, 0, 1, 0, 0}, {1, 1, 0, 1, 0, 0},
                                            {1, 0, 0, 0, 0, 0}, {0, 1, 1, 1, 1, 1}};
    for (int i = 0; i < 6; ++i) {
      INFO("comparison ", i);
      CHECK(results[i].dtype() == dtype);
      check_values(results[i], {2, 3}, expected[i]);
    }
    check_values(greater(a, 1), {2, 3}, {0, 1, 0, 0, 1, 1});
    check_values(greater_equal(a, 1), {2, 3}, {1, 1, 0, 0, 1, 1});
    check_values(less(a, 1), {2, 3}, {0, 0, 0, 1, 0, 0});
    check_values(less_equal(a, 1), {2, 3}, {1, 0, 0, 1, 0, 0});
    check_values(equal(a, 0), {2, 3}, {0, 0, 0, 1, 0, 0});
    check_values(not_equal(a, 0), {2, 3}, {1, 1, 1, 0, 1, 1});
  }
}

TEST_CASE("empty tensors go through everything elementwise") {
  Tensor none = zeros({0, 3}), row = ones({3});
  for (const Case& c : cases) CHECK(c.f(none).shape() == Shape{0, 3});
  CHECK(where(greater(none, 0), none, row).shape() == Shape{0, 3});
  CHECK(pow(Var(none), Var(row)).shape() == Shape{0, 3});
  CHECK(minimum(none, row).shape() == Shape{0, 3});
}

TEST_CASE("operators: numbers on either side, and assignment") {
  Tensor x = tensor({1, 2, 4});
  check_values(8 / Var(x), {3}, {8, 4, 2});
  check_values(gradient_of([](const Var& v) { return 8 / v; }, x), {-8, -2, -0.5});
  auto assigned = [](const Var& v) {
    Var y = v;
    y *= v;
    y += v;
    y -= 3;
    y /= v;
    y *= 2;
    y -= v;
    y += 1;
    y /= 4;
    return y;  // (2 (x + 1 - 3/x) - x + 1) / 4
  };
  check_values(assigned(x), {3}, {-0.5, 0.5, 1.375});
  check_values(gradient_of(assigned, x), {1.75, 0.625, 0.34375});
}

TEST_CASE("division by a number is exact") {
  CHECK((Var(tensor({49, 7}, DType::f64)) / 49.0).value().at({0}) == 1);
  CHECK((Var(scalar(7, DType::f64)) / 25.0).item() == 7.0 / 25);
  CHECK((Var(scalar(1e-310, DType::f64)) / 1e-310).item() == 1);
}

TEST_CASE("exp2 of whole numbers is exact") {
  for (int n = -126; n <= 127; ++n) CHECK(exp2(scalar(n)).item() == std::ldexp(1.0, n));
  for (int n = -1022; n <= 1023; n += 5) {
    CHECK(exp2(scalar(n, DType::f64)).item() == std::ldexp(1.0, n));
  }
}

TEST_CASE("errors name the operation and the shapes or types") {
  Tensor a = zeros({2, 3}), b = zeros({4}), d = zeros({2, 3}, DType::f64);
  CHECK_THROWS_WITH_AS(pow(Var(a), Var(b)),
                       "pow: shapes [2, 3] and [4] do not broadcast: 3 against 4 at axis -1",
                       Error);
  CHECK_THROWS_WITH_AS(maximum(a, d),
                       "maximum: f32 [2, 3] with f64 [2, 3]; convert one of them "
                       "with to()",
                       Error);
  CHECK_THROWS_WITH_AS(less_equal(a, b),
                       "less_equal: shapes [2, 3] and [4] do not broadcast: 3 against 4 at axis -1",
                       Error);
  CHECK_THROWS_WITH_AS(where(b, a, a),
                       "where: shapes [4] and [2, 3] do not broadcast: 4 against 3 at axis -1",
                       Error);
  CHECK_THROWS_WITH_AS(where(d, a, a),
                       "where: f64 [2, 3] with f32 [2, 3]; convert one of them with to()", Error);
  CHECK_THROWS_WITH_AS(where(a, a, d),
                       "where: f32 [2, 3] with f64 [2, 3]; convert one of them with to()", Error);
  CHECK_THROWS_WITH_AS(clamp(a, 2, 1), "clamp: 2 to 1 is no range", Error);
  CHECK_THROWS_WITH_AS(clamp(a, NAN, 1), "clamp: nan to 1 is no range", Error);
}
