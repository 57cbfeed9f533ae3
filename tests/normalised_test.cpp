#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "nn_check.h"

using namespace regrad;
using namespace regrad::testing;

namespace {

using Values = std::vector<double>;
constexpr double no_number = NAN, infinity = INFINITY;

bool all_finite(const Tensor& x) {
  for (double value : x.to_vector()) {
    if (!std::isfinite(value)) return false;
  }
  return true;
}

// The value of f, and its gradient by x for the gradient g.
struct Results {
  Tensor value, gradient;
};
template <class F>
Results run(const F& f, const Tensor& x, const Tensor& g) {
  Tape tape;
  Var leaf = tape.variable(x);
  Var y = f(leaf);
  return {y.value(), tape.backward(y, g)[leaf]};
}

// x [..., B, S] with `value` behind the first lengths[b] entries of each row.
Tensor with_tails(const Tensor& x, const Lengths& lengths, double value) {
  Values values = x.to_vector();
  for (Index i = 0; i < x.size(); ++i) {
    Index b = i / lengths.time() % lengths.batch();
    if (!lengths.valid(i % lengths.time(), b)) values[static_cast<std::size_t>(i)] = value;
  }
  return tensor(values, x.shape(), x.dtype());
}

}  // namespace

TEST_CASE_TEMPLATE("log_softmax is the logarithm of softmax, also masked", T, float, double) {
  Rng rng(1);
  DType dtype = dtype_of<T>();
  const double tolerance = dtype == DType::f32 ? 1e-5 : 1e-13;
  Lengths lengths({4, 0, 1, 3}, 4);
  Var x = normal({2, 4, 4}, 0, 3, rng, dtype);
  CHECK(difference(exp(log_softmax(x)).value(), softmax(x).value()) < tolerance);
  Tensor p = softmax(x, lengths).value(), log_p = log_softmax(x, lengths).value();
  Tensor causal = causal_softmax(x).value(), causal_log = causal_log_softmax(x).value();
  for (Index i = 0; i < x.size(); ++i) {
    auto at = static_cast<std::size_t>(i);
    bool valid = lengths.valid(i % 4, i / 4 % 4), seen = i % 4 <= i / 4 % 4;
    double e = p.to_vector()[at], c = causal.to_vector()[at];
    CHECK(log_p.to_vector()[at] == doctest::Approx(valid ? std::log(e) : 0).epsilon(1e-4));
    CHECK(causal_log.to_vector()[at] == doctest::Approx(seen ? std::log(c) : 0).epsilon(1e-4));
    if (!valid) CHECK(e == 0);
    if (!seen) CHECK(c == 0);
  }
}

TEST_CASE("garbage behind a row changes no bit of softmax and log_softmax") {
  Rng rng(1);
  Lengths lengths({4, 0, 1}, 4);
  Tensor x = normal({2, 3, 4}, 0, 3, rng), g = with_tails(normal({2, 3, 4}, 0, 1, rng), lengths, 0);
  auto masked = [&](const Var& v) { return softmax(v, lengths); };
  auto masked_log = [&](const Var& v) { return log_softmax(v, lengths); };
  Results wanted = run(masked, x, g), wanted_log = run(masked_log, x, g);
  for (double garbage : {1e3, 1e30, infinity, -infinity, no_number}) {
    Tensor dirty = with_tails(x, lengths, garbage);
    Results result = run(masked, dirty, g);
    CHECK(identical(result.value, wanted.value));
    CHECK(identical(result.gradient, wanted.gradient));
    // The gradient that comes in is not read behind the row either.
    result = run(masked_log, dirty, with_tails(g, lengths, garbage));
    CHECK(identical(result.value, wanted_log.value));
    CHECK(identical(result.gradient, wanted_log.gradient));
  }
}

TEST_CASE("causal: a query sees the keys up to its own place, counted from the end") {
  CHECK(causal_softmax(zeros({2, 2})).value().to_vector() == Values{1, 0, 0.5, 0.5});
  CHECK(causal_softmax(zeros({1, 2})).value().to_vector() == Values{0.5, 0.5});
  CHECK(causal_softmax(zeros({3, 1})).value().to_vector() == Values{0, 0, 1});
  CHECK(causal_log_softmax(zeros({3, 1})).value().to_vector() == Values{0, 0, 0});
  CHECK(causal_softmax(zeros({2, 0})).shape() == Shape{2, 0});
  // What lies in the future changes nothing, though it be NaN.
  Rng rng(1);
  Tensor x = normal({2, 3, 3}, 0, 1, rng), g = normal({2, 3, 3}, 0, 1, rng);
  Values dirty = x.to_vector();
  for (std::size_t i = 0; i < dirty.size(); ++i) {
    if (i % 3 > i / 3 % 3) dirty[i] = no_number;
  }
  for (auto* f : {causal_softmax, causal_log_softmax}) {
    Results clean = run(f, x, g), result = run(f, tensor(dirty, x.shape()), g);
    CHECK(identical(result.value, clean.value));
    CHECK(identical(result.gradient, clean.gradient));
  }
}

TEST_CASE("softmax and log_softmax at extremes") {
  for (DType dtype : {DType::f32, DType::f64}) {
    Tensor x = tensor({1e4, -1e4, 1e4}, dtype);
    Results p = run([](const Var& v) { return softmax(v); }, x, ones({3}, dtype));
    CHECK(p.value.to_vector() == Values{0.5, 0, 0.5});
    Results log_p = run([](const Var& v) { return log_softmax(v); }, x, ones({3}, dtype));
    CHECK(log_p.value.at({0}) == doctest::Approx(-std::log(2)));
    CHECK(log_p.value.at({1}) == doctest::Approx(-2e4 - std::log(2)).epsilon(1e-7));
    CHECK(all_finite(log_p.gradient));
    Tensor nothing = full({2}, -infinity, dtype);
    CHECK(softmax(nothing).value().to_vector() == Values{0, 0});
    Results none = run([](const Var& v) { return log_softmax(v); }, nothing, ones({2}, dtype));
    CHECK(none.value.to_vector() == Values{-infinity, -infinity});
    CHECK(all_finite(none.gradient));
  }
}

TEST_CASE("the masked softmaxes name what does not fit") {
  CHECK(message_of([] {
          (void)log_softmax(ones({2, 3}), Lengths({1, 1}, 4));
        }) == "log_softmax: lengths are of 2 sequences of up to 4 steps, the input of 2 of 3");
  CHECK(message_of([] { (void)causal_softmax(ones({3})); }) ==
        "causal_softmax: shape [3] has no rows [..., queries, keys]");
  CHECK_THROWS_AS((void)log_softmax(ones({3}), Lengths({3}, 3)), Error);
  CHECK_THROWS_AS((void)log_softmax(ones({})), Error);
}

TEST_CASE("layer_norm: values, far from 0 and at any scale") {
  for (DType dtype : {DType::f32, DType::f64}) {
    const double largest = dtype == DType::f32 ? 1e30 : 1e200;
    const double tolerance = dtype == DType::f32 ? 1e-5 : 1e-9;
    const double root = std::sqrt(1.5);
    const Tensor wanted = tensor({-root, 0, root}, dtype);
    for (double scale : {1.0, 1e4, largest}) {
      Results result = run([](const Var& x) { return layer_norm(x); },
                           tensor({-scale, 0, scale}, dtype), ones({3}, dtype));
      CHECK(difference(result.value, wanted) < tolerance + 1e-5 / (scale * scale));
      CHECK(all_finite(result.gradient));
    }
    Tensor far = tensor({1e4 - 1, 1e4, 1e4 + 1}, dtype);
    CHECK(difference(layer_norm(far).value(), wanted) < 2e-5);
    Var tilted = layer_norm(far, tensor({1, 2, 3}, dtype), tensor({1, 1, 1}, dtype));
    CHECK(tilted.value().at({2}) == doctest::Approx(1 + 3 * root).epsilon(1e-4));
  }
  // Rows that are all alike are zeros, and so is their gradient of a constant.
  Results flat = run([](const Var& x) { return layer_norm(x); }, full({2, 3}, 7), ones({2, 3}));
  CHECK(flat.value.to_vector() == Values(6, 0));
  CHECK(flat.gradient.to_vector() == Values(6, 0));
  CHECK(layer_norm(zeros({0, 3})).shape() == Shape{0, 3});
}

TEST_CASE("layer_norm names what does not fit, and its twin for second derivatives") {
  CHECK(message_of([] {
          (void)layer_norm(ones({2, 0}));
        }) == "layer_norm: shape [2, 0] has nothing along its last axis");
  CHECK(message_of([] {
          (void)layer_norm(ones({2, 3}), ones({2}));
        }) == "layer_norm: weight [2] does not fit the last axis of input [2, 3]");
  CHECK(message_of([] {
          (void)layer_norm(ones({2, 3}), ones({3}), ones({1, 3}));
        }) == "layer_norm: bias [1, 3] does not fit the last axis of input [2, 3]");
  CHECK(message_of([] {
          (void)layer_norm(ones({2, 3}), 0.0);
        }) == "layer_norm: epsilon 0 is not above 0 and finite in f32");
  CHECK_THROWS_AS((void)layer_norm(ones({})), Error);
  CHECK_THROWS_AS((void)layer_norm(ones({2, 3}), ones({3}, DType::f64)), Error);
  Tape tape;
  Var x = tape.variable(tensor({1, 2, 4}));
  Var g = gradients(sum(square(layer_norm(x))), {x})[0];
  CHECK(contains(message_of([&] { (void)gradients(sum(g), {x}); }), "nn/composed.h"));
}

TEST_CASE("cosine_similarity: values, zeros, huge and tiny vectors") {
  for (DType dtype : {DType::f32, DType::f64}) {
    const double huge = dtype == DType::f32 ? 1e30 : 1e200;
    auto cosine = [&](Tensor a, Tensor b) { return cosine_similarity(a, b).item(); };
    Tensor x = tensor({3, 4}, dtype);
    CHECK(cosine(x, tensor({4, 3}, dtype)) == doctest::Approx(24.0 / 25));
    CHECK(cosine(x, tensor({-6, -8}, dtype)) == doctest::Approx(-1));
    CHECK(cosine(x, tensor({3 * huge, 4 * huge}, dtype)) == doctest::Approx(1));
    CHECK(cosine(x, tensor({huge, 1e-30}, dtype)) == doctest::Approx(0.6));
    CHECK(cosine(x, tensor({0, 0}, dtype)) == 0);
    // A length below epsilon counts as epsilon.
    CHECK(cosine(x, tensor({3e-9, 4e-9}, dtype)) == doctest::Approx(0.5));
    for (const Tensor& other : {zeros({2}, dtype), full({2}, huge, dtype), x}) {
      Tape tape;
      Var a = tape.variable(other), b = tape.variable(x);
      Gradients gradients = tape.backward(cosine_similarity(a, b));
      CHECK(all_finite(gradients[a]));
      CHECK(all_finite(gradients[b]));
    }
  }
  CHECK(cosine_similarity(ones({2, 1, 3}), ones({4, 3})).shape() == Shape{2, 4});
  CHECK(message_of([] { (void)cosine_similarity(ones({3}), ones({1})); }) ==
        "cosine_similarity: the last axes of shapes [3] and [1] differ");
  CHECK(message_of([] { (void)cosine_similarity(ones({3}), ones({3}), 0); }) ==
        "cosine_similarity: epsilon 0 is not above 0 and finite in f32");
  CHECK_THROWS_AS((void)cosine_similarity(ones({}), ones({})), Error);
}
