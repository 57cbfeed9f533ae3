#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "autograd/functions.h"
#include "autograd/gradcheck.h"
#include "autograd/tape.h"
#include "nn/alignment.h"
#include "nn/composed_attention.h"
#include "tests/nn_check.h"

namespace regrad {
namespace {

using testing::contains;
using testing::difference;
using testing::message_of;
using testing::with_padding;

constexpr double infinity = std::numeric_limits<double>::infinity();
const Lengths uneven({4, 0, 3}, 4);

Tensor draw(const Shape& shape, Rng& rng) { return normal(shape, 0, 1, rng, DType::f64); }

AttentionMemory memory_of(const Lengths& lengths) { return {{}, {}, lengths}; }

AttentionState state_of(const Tensor& weights, double step = 0) {
  return {weights, full({weights.shape()[0]}, step, DType::f64)};
}

// What an alignment needs besides scores, where it is neither a query nor a state.
Aligned align(const char* name, const Var& scores, const Lengths& lengths, Rng* rng,
              const AttentionOptions& options = {}) {
  Rng unused(1);
  const auto alignment = make_alignment(name, options, unused, DType::f64);
  return (*alignment)(scores, {}, memory_of(lengths), {}, rng);
}

}  // namespace

TEST_CASE("the fused monotonic alignment equals the composed one") {
  Rng rng(1);
  for (const Lengths& lengths : {uneven, Lengths({5}, 5), Lengths({0, 0}, 2)}) {
    for (const double scale : {1.0, 30.0}) {
      const Shape shape{lengths.batch(), lengths.time()};
      const Tensor logits = normal(shape, 0, scale, rng, DType::f64);
      const Tensor previous = uniform(shape, 0, 1, rng, DType::f64), projection = draw(shape, rng);
      std::vector<std::vector<Tensor>> found;
      for (const auto& f : {monotonic_alignment, monotonic_alignment_composed}) {
        Tape tape;
        const Var e = tape.variable(logits), a = tape.variable(previous);
        const Var y = f(e, a, lengths);
        const Gradients gradients = tape.backward(sum(y * Var(projection)));
        found.push_back({y.value(), gradients[e], gradients[a]});
      }
      for (std::size_t i = 0; i < 3; ++i) CHECK(difference(found[0][i], found[1][i]) < 1e-12);
    }
  }
}

TEST_CASE("monotonic: the expected weights are the mean of the hard ones") {
  constexpr Index n = 100'000;
  Rng rng(1);
  const Lengths lengths = Lengths::full(4, n);
  const Var logits = expand(draw({1, 4}, rng), {n, 4});
  const Var previous = expand(tensor({{0.2, 0.5, 0, 0.2}}, DType::f64), {n, 4});
  const Var u = uniform({n, 4}, 0, 1, rng, DType::f64);
  const Tensor decided =
      where(less(u, sigmoid(logits)), infinity, Var(full({n, 4}, -infinity, DType::f64))).value();
  const Var hard = monotonic_alignment(decided, previous, lengths);
  const Var expected = select(monotonic_alignment(logits, previous, lengths), 0, 0);
  const Var error = mean(hard, {0}) - expected;
  const Var standard_error = standard_deviation(hard, {0}) / std::sqrt(n);
  CHECK(max(abs(error) / standard_error).item() < 4);
}

TEST_CASE("monotonic: decoding stops at the first position above one half and never goes back") {
  Rng rng(1);
  AttentionOptions options;
  options.monotonic_offset = 0;
  const auto alignment = make_alignment("monotonic", options, rng, DType::f64);
  const auto step = [&](const std::vector<double>& scores, const Var& before) {
    const Var row = tensor(scores, {1, 4}, DType::f64);
    const AttentionState state = state_of(before.value());
    return (*alignment)(row, {}, memory_of(Lengths::full(4, 1)), state, nullptr).weights;
  };
  const Var first = step({-1, 2, 3, -1}, tensor({{1, 0, 0, 0}}, DType::f64));
  CHECK(identical(first.value(), tensor({{0, 1, 0, 0}}, DType::f64)));
  const Var second = step({5, -1, -1, 1}, first);
  CHECK(identical(second.value(), tensor({{0, 0, 0, 1}}, DType::f64)));
  const Var third = step({5, 5, 5, -1}, second);  // past the end
  CHECK(identical(third.value(), zeros({1, 4}, DType::f64)));
  CHECK(identical(step({5, 5, 5, 5}, third).value(), zeros({1, 4}, DType::f64)));
}

TEST_CASE("local-m looks at the window around its step, at the end where there is no more") {
  Rng rng(1);
  AttentionOptions options;
  options.window = 1;
  const auto alignment = make_alignment("local-m", options, rng, DType::f64);
  const Lengths lengths({5, 2, 0}, 5);
  const auto at = [&](double step) {
    const AttentionState state = state_of(zeros({3, 5}, DType::f64), step);
    return (*alignment)(zeros({3, 5}, DType::f64), {}, memory_of(lengths), state, nullptr)
        .weights.value();
  };
  const double third = 1.0 / 3;
  CHECK(difference(at(0), tensor({{0.5, 0.5, 0, 0, 0}, {0.5, 0.5, 0, 0, 0}, {0, 0, 0, 0, 0}},
                                 DType::f64)) < 1e-15);
  CHECK(
      difference(at(2), tensor({{0, third, third, third, 0}, {0.5, 0.5, 0, 0, 0}, {0, 0, 0, 0, 0}},
                               DType::f64)) < 1e-15);
  CHECK(difference(at(9), tensor({{0, 0, 0, 0.5, 0.5}, {0.5, 0.5, 0, 0, 0}, {0, 0, 0, 0, 0}},
                                 DType::f64)) < 1e-15);
}

TEST_CASE("hard alignments draw from the softmax in training and take the best in evaluation") {
  constexpr Index n = 100'000;
  Rng rng(1);
  const Lengths lengths({3}, 4);
  const Tensor row = tensor({{0.5, -1, 1, 9}}, DType::f64);  // the 9 is padding
  std::vector<std::int32_t> threes(n, 3);
  const Lengths many(threes, 4);
  const Var scores = expand(row, {n, 4});
  for (const char* name : {"hard-reinforce", "hard-gumbel"}) {
    CHECK(identical(align(name, row, lengths, nullptr).weights.value(),
                    tensor({{0, 0, 1, 0}}, DType::f64)));
    const Var weights = align(name, scores, many, &rng).weights;
    const Var p = select(softmax(Var(row), lengths), 0, 0);
    const Var standard_error = sqrt(p * (1 - p) / static_cast<double>(n)) + 1e-12;
    CHECK(max(abs(mean(weights, {0}) - p) / standard_error).item() < 4);
    CHECK(identical(sum(weights, {1}).value(), ones({n}, DType::f64)));
    CHECK(identical(max(weights, {1}).value(), ones({n}, DType::f64)));
  }
}

TEST_CASE("hard-reinforce gives the log-probability of what it drew, and the entropy") {
  Rng rng(1);
  const Tensor scores = draw({3, 4}, rng);
  const Aligned y = align("hard-reinforce", scores, uneven, &rng);
  const Var log_p = log_softmax(Var(scores), uneven);
  CHECK(difference(y.log_probability.value(), sum(y.weights * log_p, {1}).value()) < 1e-15);
  const Var entropy = -sum(softmax(Var(scores), uneven) * log_p, {1});
  CHECK(difference(y.entropy.value(), entropy.value()) < 1e-15);
  Tape tape;
  const Var sure = tape.variable(tensor({{1e4, -infinity, -1e4}}, DType::f64));
  const Aligned z = align("hard-reinforce", sure, Lengths({3}, 3), &rng);
  CHECK(z.entropy.item() == 0);
  const Gradients gradients = tape.backward(sum(z.entropy + z.log_probability));
  CHECK(identical(gradients[sure], zeros({1, 3}, DType::f64)));
}

TEST_CASE("hard-gumbel has the gradient of the relaxed softmax with the same noise") {
  const double temperature = 0.7;
  Rng rng(1);
  const Tensor start = draw({3, 4}, rng), projection = draw({3, 4}, rng);
  std::vector<double> noise(12);
  Rng same(5), again(5);
  for (double& value : noise) value = -std::log(-std::log((same.bits() + 0.5) * 0x1p-32));
  AttentionOptions options;
  options.temperature = temperature;
  Tape tape;
  const Var a = tape.variable(start), b = tape.variable(start);
  const Var hard = align("hard-gumbel", a, uneven, &again, options).weights;
  const Var soft = softmax((b + Var(tensor(noise, {3, 4}, DType::f64))) / temperature, uneven);
  const Gradients gradients = tape.backward(sum((hard + soft) * Var(projection)));
  CHECK(difference(gradients[a], gradients[b]) < 1e-15);
  CHECK(max(abs(Var(gradients[a]))).item() > 0.01);
}

TEST_CASE("a NaN score does not hide in a one-hot row") {
  Rng rng(1);
  const Tensor scores = tensor({{1, std::nan(""), 3}}, DType::f64);
  for (const char* name : {"hard-reinforce", "hard-gumbel"}) {
    for (Rng* given : {static_cast<Rng*>(nullptr), &rng}) {
      const Var weights = align(name, scores, Lengths({3}, 3), given).weights;
      CHECK(std::isnan(sum(weights).item()));
    }
  }
}

TEST_CASE("where no score is above -infinity no alignment looks anywhere, nor has a gradient") {
  Rng rng(1);
  const Tensor scores = tensor({{-infinity, -infinity, 9}, {-infinity, 2, 1}}, DType::f64);
  const Lengths lengths({2, 3}, 3);
  for (const char* name : {"soft", "sparsemax", "entmax", "hard-reinforce", "hard-gumbel"}) {
    CAPTURE(name);
    for (Rng* given : {static_cast<Rng*>(nullptr), &rng}) {
      Tape tape;
      const Var x = tape.variable(scores);
      const Aligned y = align(name, x, lengths, given);
      CHECK(identical(y.weights.value()[0], zeros({3}, DType::f64)));
      CHECK(sum(Var(y.weights.value()[1])).item() == doctest::Approx(1));
      CHECK(y.weights.value().at({1, 0}) == 0);
      Var loss = sum(y.weights * Var(tensor({1, 2, 3}, DType::f64)));
      if (y.entropy.size() > 0) loss = loss + sum(y.entropy + y.log_probability);
      if (!loss.watched()) continue;
      CHECK(identical(tape.backward(loss)[x][0], zeros({3}, DType::f64)));
    }
  }
}

TEST_CASE("marginal_log_likelihood sums alignments out") {
  Rng rng(1);
  const Tensor log_p = log_softmax(Var(draw({2, 4, 3}, rng))).value();  // [2, S, B]
  const Var log_weights = log_softmax(Var(draw({2, 3, 4}, rng)), uneven);
  const Var y = marginal_log_likelihood(log_weights, log_p, uneven);
  for (Index i = 0; i < 2; ++i) {
    for (Index b = 0; b < 3; ++b) {
      double p = 0;
      for (Index s = 0; s < uneven[b]; ++s) {
        p += std::exp(log_weights.value().at({i, b, s}) + log_p.at({i, s, b}));
      }
      CHECK(y.value().at({i, b}) == doctest::Approx(b == 1 ? 0 : std::log(p)).epsilon(1e-13));
    }
  }
  const auto report = gradcheck(
      [](std::span<const Var> x) {
        return marginal_log_likelihood(log_softmax(x[0], uneven), x[1], uneven);
      },
      {draw({3, 4}, rng), draw({4, 3}, rng)});
  CHECK_MESSAGE(report.passed, report.to_string());
}

TEST_CASE("marginal_log_likelihood: extremes, and NaN in padding") {
  Rng rng(1);
  const Tensor clean = draw({4, 3}, rng), weights = draw({3, 4}, rng);
  std::vector<Tensor> expected;
  for (const double garbage : {0.0, std::nan("")}) {
    Tape tape;
    const Var log_p = tape.variable(with_padding(clean, uneven, garbage));
    const Var scores = tape.variable(weights);
    const Var y = marginal_log_likelihood(log_softmax(scores, uneven), log_p, uneven);
    const Gradients gradients = tape.backward(sum(y));
    const std::vector<Tensor> found{y.value(), gradients[log_p], gradients[scores]};
    if (expected.empty()) expected = found;
    for (std::size_t i = 0; i < 3; ++i) CHECK(identical(found[i], expected[i]));
  }
  const Var far = full({2, 1}, -1e5, DType::f64), half = full({1, 2}, std::log(0.5), DType::f64);
  CHECK(marginal_log_likelihood(half, far, Lengths({2}, 2)).item() == -1e5);
  CHECK(contains(message_of([] {
                   marginal_log_likelihood(zeros({2, 3}), zeros({2, 3}), Lengths({3, 3}, 3));
                 }),
                 "log_weights [2, 3] [..., batch, time] do not fit log_p [2, 3]"));
}

TEST_CASE("monotonic_alignment of tensors that do not fit is a named error") {
  CHECK(message_of([] {
          monotonic_alignment(zeros({3, 4}), zeros({3, 5}), uneven);
        }) == "monotonic_alignment: weights [3, 5] are not [batch, time] = [3, 4]");
  CHECK(contains(message_of([] {
                   monotonic_alignment(zeros({4, 3}), zeros({3, 4}), uneven);
                 }),
                 "weights [4, 3] are not"));
  CHECK(contains(message_of([] {
                   monotonic_alignment(zeros({3, 4}), zeros({3, 4}, DType::f64), uneven);
                 }),
                 "f32 [3, 4] with f64 [3, 4]"));
}

TEST_CASE("straight_through of another shape is a named error") {
  CHECK(contains(message_of([] { straight_through(zeros({2}), zeros({3})); }),
                 "straight_through: shapes [2] and [3] differ"));
}

}  // namespace regrad
