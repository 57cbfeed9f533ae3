#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "nn_check.h"

using namespace regrad;
using namespace regrad::testing;

namespace {

using doctest::Approx;
constexpr double no_number = NAN, infinity = INFINITY;

Tensor f64(std::initializer_list<detail::Number> values) { return tensor(values, DType::f64); }

bool all_zero(const Tensor& x) {
  for (double value : x.to_vector()) {
    if (value != 0) return false;
  }
  return true;
}

const Lengths lengths({3, 0, 1}, 3);
const Ids labels(std::vector<std::int32_t>{1, 99, 0, 3, 99, -7, 2, 99, 99}, {3, 3});
// What holds padding in `labels` is valid here: the labels of positions 0, 2, 3 and 6.
constexpr Index valid_positions[] = {0, 2, 3, 6};

}  // namespace

TEST_CASE_TEMPLATE("cross_entropy by its definition, with everything", T, float, double) {
  Rng rng(1);
  DType dtype = dtype_of<T>();
  Tensor logits = normal({3, 3, 4}, 0, 2, rng, dtype);
  Tensor weights = tensor({1, 0.25, 0, 3}, dtype);
  for (double smoothing : {0.0, 0.3}) {
    double total = 0, weight = 0;
    for (Index i : valid_positions) {
      if (labels[i] == 2) continue;
      double normaliser = 0;
      for (Index v = 0; v < 4; ++v) normaliser += std::exp(logits.at({i / 3, i % 3, v}));
      for (Index v = 0; v < 4; ++v) {
        double q = smoothing / 4 + (v == labels[i] ? 1 - smoothing : 0);
        double log_p = logits.at({i / 3, i % 3, v}) - std::log(normaliser);
        total -= q * weights.at({v}) * log_p;
      }
      weight += weights.at({labels[i]});
    }
    CrossEntropyOptions options{
        .label_smoothing = smoothing, .ignore_index = 2, .class_weights = weights};
    CHECK(cross_entropy(logits, labels, lengths, options).item() == Approx(total / weight));
    options.mean = false;
    CHECK(cross_entropy(logits, labels, lengths, options).item() == Approx(total));
  }
}

TEST_CASE("nll of log_softmax is cross_entropy, values and gradients") {
  Rng rng(1);
  Tensor logits = normal({3, 3, 4}, 0, 2, rng, DType::f64);
  for (std::optional<std::int32_t> ignored : {std::optional<std::int32_t>{}, {3}}) {
    for (const Tensor& weights : {Tensor(), f64({1, 0.5, 0, 3})}) {
      for (bool mean : {true, false}) {
        Tape tape;
        Var x = tape.variable(logits), y = tape.variable(logits);
        CrossEntropyOptions options{
            .mean = mean, .ignore_index = ignored, .class_weights = weights};
        Var a = cross_entropy(x, labels, lengths, options);
        Var b = nll(log_softmax(y), labels, lengths, {mean, ignored, weights});
        CHECK(a.item() == Approx(b.item()).epsilon(1e-12));
        Gradients gradients = tape.backward(a + b);
        CHECK(difference(gradients[x], gradients[y]) < 1e-12);
      }
    }
  }
}

TEST_CASE("cross_entropy is pulled back again and again, and then in the place of its logits") {
  Rng rng(11);
  const Tensor x0 = normal({2, 3}, 0, 1, rng, DType::f64),
               w0 = normal({5, 3}, 0, 1, rng, DType::f64);
  const Ids labels{4, 1};
  Tape reference;
  const Var x1 = reference.variable(x0), w1 = reference.variable(w0), kept = linear(x1, w1);
  const Tensor logits = kept.value().clone();
  const Gradients wanted = reference.backward(cross_entropy(kept, labels));
  CHECK(identical(kept.value(), logits));  // somebody holds them

  Tape tape;
  const Var x = tape.variable(x0), w = tape.variable(w0);
  const Var loss = cross_entropy(linear(x, w), labels);
  for (int again = 0; again < 2; ++again)
    CHECK(identical(gradients(loss, {x})[0].value(), wanted[x1]));
  const Gradients found = tape.backward(loss);
  CHECK(identical(found[x], wanted[x1]));
  CHECK(identical(found[w], wanted[w1]));
}

TEST_CASE("what is padded or ignored is not read: the same bits whatever it holds") {
  Rng rng(1);
  Ids ignoring = labels;
  ignoring.at(1, 0) = -100;
  std::vector<Tensor> results;
  for (double garbage : {0.0, 1e3, infinity, no_number}) {
    Tensor clean = normal({3, 3, 4}, 0, 2, rng);
    rng = Rng(1);
    Tensor dirty = with_padding(clean, lengths, garbage);
    for (Index v = 0; v < 4; ++v) {
      dirty.mutable_data<float>()[(1 * 3 + 0) * 4 + v] = static_cast<float>(garbage);
    }
    Tape tape;
    Var x = tape.variable(dirty), y = tape.variable(dirty);
    Var loss = cross_entropy(x, ignoring, lengths, {.label_smoothing = 0.1, .ignore_index = -100}) +
               nll(y, ignoring, lengths, {.ignore_index = -100});
    Gradients gradients = tape.backward(loss);
    for (const Tensor& result : {loss.value(), gradients[x], gradients[y]}) {
      results.push_back(result);
    }
  }
  for (std::size_t i = 3; i < results.size(); ++i) CHECK(identical(results[i], results[i % 3]));
}

TEST_CASE("a label of weight 0 is not read, as if it were ignored") {
  Rng rng(1);
  const Tensor clean = normal({4, 3}, 0, 2, rng), weights = tensor({0.5, 0, 2});
  const Ids some{2, 1, 0, 1};
  for (double garbage : {0.0, infinity, no_number}) {
    Tensor dirty = clean.clone();
    for (Index i : {3, 4, 5, 9, 10, 11}) {
      dirty.mutable_data<float>()[i] = static_cast<float>(garbage);
    }
    Tape tape;
    Var x = tape.variable(dirty), y = tape.variable(clean);
    Var loss = cross_entropy(x, some, {.class_weights = weights});
    Var ignoring = cross_entropy(y, some, {.ignore_index = 1, .class_weights = weights});
    CHECK(identical(loss.value(), ignoring.value()));
    Gradients gradients = tape.backward(loss + ignoring);
    CHECK(identical(gradients[x], gradients[y]));
  }
  // Smoothing has something to learn of it all the same, as in PyTorch.
  const CrossEntropyOptions smooth{.label_smoothing = 0.3, .mean = false, .class_weights = weights};
  const Var row = select(clean, 0, 1);
  CHECK(cross_entropy(unsqueeze(row, 0), Ids{1}, smooth).item() ==
        Approx(-0.1 * dot(log_softmax(row), weights).item()));
}

TEST_CASE("elementwise losses do not read padding: the same bits whatever it holds") {
  Rng rng(1);
  Tensor input = normal({3, 3, 2}, 0, 1, rng), target = uniform({3, 3, 2}, 0, 1, rng);
  std::vector<Tensor> results;
  for (double garbage : {0.0, 1e3, infinity, no_number}) {
    Tape tape;
    Var x = tape.variable(with_padding(input, lengths, garbage));
    Var t = tape.variable(with_padding(target, lengths, garbage));
    Var loss = mse(x, t, lengths) + smooth_l1(x, t, lengths) + bce_with_logits(x, t, lengths) +
               kl_div(x, t, lengths) + kl_div(x, t, lengths, {.log_target = true});
    Gradients gradients = tape.backward(loss);
    for (const Tensor& result : {loss.value(), gradients[x], gradients[t]}) {
      results.push_back(result);
    }
  }
  for (std::size_t i = 3; i < results.size(); ++i) CHECK(identical(results[i], results[i % 3]));
}

TEST_CASE("a loss over nothing is 0 with zero gradients") {
  Lengths none({0}, 2);
  Ids ignored(Shape{2, 1}, 5);
  auto check = [](auto loss, double garbage) {
    Tape tape;
    Var x = tape.variable(full({2, 1, 3}, garbage)), t = tape.variable(full({2, 1, 3}, garbage));
    Var y = loss(x, t);
    CHECK(y.item() == 0);
    Gradients gradients = tape.backward(y + 0 * sum(masked_fill(t, Lengths({0}, 2), 0)));
    CHECK(all_zero(gradients[x]));
    CHECK(all_zero(gradients[t]));
  };
  Tensor no_weights = zeros({3});
  check([&](auto& x, auto&) { return cross_entropy(x, ignored, none); }, no_number);
  check([&](auto& x, auto&) { return cross_entropy(x, ignored, {.ignore_index = 5}); }, no_number);
  check(
      [&](auto& x, auto&) {
        return cross_entropy(x, Ids(Shape{2, 1}, 1), {.class_weights = no_weights});
      },
      1);
  check([&](auto& x, auto&) { return nll(x, ignored, none); }, no_number);
  check([&](auto& x, auto&) { return nll(x, ignored, {.ignore_index = 5}); }, no_number);
  check(
      [&](auto& x, auto&) {
        return nll(x, Ids(Shape{2, 1}, 1), {.class_weights = no_weights});
      },
      no_number);
  check([&](auto& x, auto& t) { return mse(x, t, none); }, no_number);
  check([&](auto& x, auto& t) { return smooth_l1(x, t, none); }, no_number);
  check([&](auto& x, auto& t) { return bce_with_logits(x, t, none); }, no_number);
  check([&](auto& x, auto& t) { return kl_div(x, t, none); }, no_number);
  CHECK(mse(zeros({0, 2}), zeros({0, 2})).item() == 0);
  CHECK(kl_div(zeros({0, 2}), zeros({0, 2})).item() == 0);
  CHECK(cross_entropy(zeros({0, 2}), Ids(Shape{0})).item() == 0);
}

TEST_CASE("means are over the elements, or rows, of valid positions") {
  Tensor x = full({3, 3, 2}, 3), t = ones({3, 3, 2});
  CHECK(mse(x, t).item() == 4);
  CHECK(mse(x, t, {.mean = false}).item() == 72);
  CHECK(mse(x, t, lengths).item() == 4);
  CHECK(mse(x, t, lengths, {.mean = false}).item() == 32);
  CHECK(smooth_l1(x, t, lengths).item() == 1.5);
  CHECK(bce_with_logits(zeros({3, 3, 2}), t, lengths).item() == Approx(std::log(2)));
  Tensor p = full({3, 3, 2}, 0.5), log_q = full({3, 3, 2}, std::log(0.25));
  CHECK(kl_div(log_q, p, lengths).item() == Approx(std::log(2)));
  CHECK(kl_div(log_q, p, lengths, {.mean = false}).item() == Approx(4 * std::log(2)));
  CHECK(kl_div(log_q, log(p), {.log_target = true}).item() == Approx(std::log(2)));
}

TEST_CASE("smooth_l1 within beta, at it and beyond") {
  auto loss = [](double d, double beta) {
    return smooth_l1(f64({d}), f64({0}), {.beta = beta}).item();
  };
  CHECK(loss(0.5, 1) == 0.125);
  CHECK(loss(-1, 1) == 0.5);
  CHECK(loss(-3, 2) == 2);
  CHECK(loss(-3, 0) == 3);
  CHECK(loss(1e4, 1e-4) == Approx(1e4));
  CHECK(loss(1e4, 1e8) == Approx(0.5));
  CHECK(loss(1e300, 1) == Approx(1e300));
  CHECK(message_of([&] { (void)loss(1, -1); }) == "smooth_l1: beta -1 is not 0 or above");
}

TEST_CASE_TEMPLATE("bce_with_logits is exact in both tails", T, float, double) {
  auto loss = [](double x, double t) {
    return bce_with_logits(full({1}, x, dtype_of<T>()), full({1}, t, dtype_of<T>())).item();
  };
  CHECK(loss(0, 1) == Approx(std::log(2)));
  CHECK(loss(2, 0.25) == Approx(0.25 * std::log1p(std::exp(-2)) + 0.75 * std::log1p(std::exp(2))));
  CHECK(loss(20, 1) == Approx(std::exp(-20.0)).epsilon(1e-5));
  CHECK(loss(-20, 0) == Approx(std::exp(-20.0)).epsilon(1e-5));
  CHECK(loss(1e4, 1) == 0);
  CHECK(loss(-1e4, 0) == 0);
  CHECK(loss(1e4, 0) == 1e4);
  CHECK(loss(-1e4, 1) == 1e4);
  Tape tape;
  Var x = tape.variable(tensor({1e4, -1e4, 1e4, -1e4}, dtype_of<T>()));
  Var y = bce_with_logits(x, tensor({1, 0, 0, 1}, dtype_of<T>()), {.mean = false});
  CHECK(tape.backward(y)[x].to_vector() == std::vector<double>{0, 0, 1, -1});
}

TEST_CASE("kl_div: nothing comes of a probability of 0") {
  Tensor p = f64({0.5, 0.5, 0});
  Tensor log_q = f64({std::log(0.25), std::log(0.75), -infinity});
  double wanted = 0.5 * std::log(2) + 0.5 * std::log(2.0 / 3);
  for (bool log_target : {false, true}) {
    Tape tape;
    Var q = tape.variable(log_q);
    Var t = tape.variable(log_target ? f64({std::log(0.5), std::log(0.5), -infinity}) : p);
    Var loss = kl_div(q, t, {.log_target = log_target});
    CHECK(loss.item() == Approx(wanted));
    Gradients gradients = tape.backward(loss);
    CHECK(gradients[q].at({0}) == Approx(-0.5));
    CHECK(gradients[q].at({2}) == 0);
    CHECK(gradients[t].at({0}) == Approx((std::log(2) + 1) * (log_target ? 0.5 : 1)));
    CHECK(gradients[t].at({2}) == 0);
  }
  CHECK(kl_div(log_q, f64({0, 0, 1})).item() == infinity);
  CHECK(kl_div(f64({-1e4, 0}), f64({1, 0})).item() == 1e4);
}

TEST_CASE("losses name what does not fit") {
  Var x = ones({2, 3});
  Ids two{0, 3};
  CHECK(message_of([&] { (void)cross_entropy(x, two); }) ==
        "cross_entropy: label 3 at position 1 of labels [2] is outside of the 3 classes");
  CHECK(message_of([&] {
          (void)nll(x, Ids{-1, 0});
        }) == "nll: label -1 at position 0 of labels [2] is outside of the 3 classes");
  CHECK(message_of([&] { (void)nll(x, Ids{0}); }) ==
        "nll: input [2, 3] does not fit labels [1]; its last axis holds the classes");
  CHECK(message_of([&] {
          (void)nll(x, Ids{0, 0}, {.class_weights = ones({2})});
        }) == "nll: class weights [2] for 3 classes");
  CHECK(message_of([&] {
          (void)cross_entropy(x, Ids{0, 0}, {.class_weights = tensor({1, -2, 1})});
        }) == "cross_entropy: class 1 of 3 has weight -2");
  CHECK_THROWS_AS((void)nll(x, Ids{0, 0}, {.class_weights = f64({1, 1, 1})}), Error);
  CHECK_THROWS_AS((void)nll(x, Ids{0, 0}, {.class_weights = tensor({1, no_number, 1})}), Error);
  CHECK_THROWS_AS((void)cross_entropy(x, Ids{0, 0}, {.label_smoothing = 1}), Error);
  CHECK_THROWS_AS((void)nll(x, Ids{0, 0}, Lengths({1}, 2)), Error);
  CHECK(message_of([&] { (void)mse(x, ones({3})); }) ==
        "mse: input [2, 3] and target [3] differ in shape");
  CHECK(message_of([&] {
          (void)mse(x, ones({2, 3}), Lengths({1, 1}, 2));
        }) == "mse: lengths are of 2 sequences of up to 2 steps, the input of 3 of 2");
  const Var wide = ones({2, 3}, DType::f64);
  CHECK(message_of([&] { (void)mse(x, wide); }).starts_with("mse: "));
  CHECK(message_of([&] { (void)smooth_l1(x, wide); }).starts_with("smooth_l1: "));
  CHECK(message_of([&] { (void)kl_div(x, wide); }).starts_with("kl_div: "));
  CHECK(message_of([&] { (void)bce_with_logits(x, wide); }).starts_with("bce_with_logits: "));
  CHECK(message_of([&] {
          (void)bce_with_logits(x, x, {.pos_weight = wide.value()});
        }).starts_with("bce_with_logits: "));
  CHECK_THROWS_AS((void)mse(ones({2}), ones({2}), Lengths({1, 1}, 2)), Error);
  CHECK(message_of([&] {
          (void)bce_with_logits(x, full({2, 3}, 1.5));
        }) == "bce_with_logits: the target at position 0 of shape [2, 3] is 1.5, no probability");
  CHECK(message_of([&] {
          (void)bce_with_logits(x, x, {.pos_weight = ones({4, 2, 3})});
        }) == "bce_with_logits: pos_weight [4, 2, 3] is larger than the input [2, 3]");
  CHECK_THROWS_AS((void)bce_with_logits(x, x, {.pos_weight = ones({2})}), Error);
  CHECK(message_of([&] {
          (void)kl_div(ones({3}), tensor({0.5, no_number, 0.5}));
        }) == "kl_div: the target at position 1 of shape [3] is nan, no probability");
  CHECK_THROWS_AS((void)kl_div(x, full({2, 3}, -0.5)), Error);
  CHECK_THROWS_AS((void)kl_div(ones({}), ones({})), Error);
}

TEST_CASE("weights and shapes that make no sense are errors") {
  const Tensor x = f64({0.2, 0.3});
  CHECK_THROWS_AS(bce_with_logits(x, x, {.pos_weight = f64({-3, 1})}), Error);
  const Tensor rows = ones({2, 3}, DType::f64);
  CHECK_THROWS_WITH_AS(kl_div(rows, rows, Lengths({1, 2, 1}, 2)),
                       doctest::Contains("[time, batch, classes]"), Error);
}
