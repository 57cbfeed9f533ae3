#include <functional>
#include <optional>

#include <doctest/doctest.h>

#include "autograd/gradcheck.h"
#include "autograd/tape.h"
#include "nn/composed.h"
#include "tests/nn_check.h"

namespace regrad {
namespace {

using testing::difference;
using testing::with_padding;
using Inputs = std::vector<Var>;
using Function = std::function<Var(const Inputs&)>;

// Values, and the gradients of a random projection, of a fused operation and its twin.
void compare(const Function& fused, const Function& composed, const std::vector<Tensor>& inputs) {
  Rng rng(7);
  std::vector<Tensor> values;
  std::vector<std::vector<Tensor>> gradients;
  for (const Function* function : {&fused, &composed}) {
    Tape tape;
    Inputs leaves;
    for (const Tensor& input : inputs) leaves.push_back(tape.variable(input));
    const Var y = (*function)(leaves);
    values.push_back(y.value());
    Rng same(3);
    const Gradients result = tape.backward(sum(y * Var(normal(y.shape(), 0, 1, same, DType::f64))));
    gradients.emplace_back();
    for (const Var& leaf : leaves) gradients.back().push_back(result[leaf]);
  }
  CHECK(difference(values[0], values[1]) < 1e-12);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    CAPTURE(i);
    CHECK(difference(gradients[0][i], gradients[1][i]) < 1e-12);
  }
}

const std::vector<Lengths> all_lengths{Lengths({4, 2, 3}, 4), Lengths({0, 3, 1}, 3),
                                       Lengths({5}, 5), Lengths({1}, 1), Lengths({0}, 2)};

Tensor draw(const Shape& shape, Rng& rng) { return normal(shape, 0, 1, rng, DType::f64); }

}  // namespace

TEST_CASE("fused scores and weighted sums equal the composed ones") {
  Rng rng(1);
  for (const Lengths& lengths : all_lengths) {
    const Index batch = lengths.batch(), time = lengths.time();
    const Tensor keys = with_padding(draw({time, batch, 5}, rng), lengths, 1e3);
    const Tensor query = draw({batch, 5}, rng);
    compare([&](const Inputs& v) { return additive_score(v[0], v[1], v[2], lengths); },
            [&](const Inputs& v) { return additive_score_composed(v[0], v[1], v[2], lengths); },
            {query, keys, draw({5}, rng)});
    compare([&](const Inputs& v) { return dot_score(v[0], v[1], lengths); },
            [&](const Inputs& v) { return dot_score_composed(v[0], v[1], lengths); },
            {query, keys});
    compare([&](const Inputs& v) { return weighted_sum(v[0], v[1], lengths); },
            [&](const Inputs& v) { return weighted_sum_composed(v[0], v[1], lengths); },
            {draw({batch, time}, rng), keys});
  }
}

TEST_CASE("the masked softmax equals the composed one, also with more axes and at extremes") {
  Rng rng(1);
  for (const Lengths& lengths : all_lengths) {
    const Index batch = lengths.batch(), time = lengths.time();
    for (const Shape& shape :
         {Shape{batch, time}, Shape{2, batch, time}, Shape{2, 3, batch, time}}) {
      for (const double scale : {1.0, 300.0}) {
        const Tensor x = normal(shape, 0, scale, rng, DType::f64);
        compare([&](const Inputs& v) { return softmax(v[0], lengths); },
                [&](const Inputs& v) { return softmax_composed(v[0], lengths); }, {x});
      }
    }
  }
}

TEST_CASE("the fused cross-entropy equals the composed one") {
  Rng rng(1);
  const Ids labels(std::vector<std::int32_t>{0, 5, 2, 3, 3, 99, 1, -7, 99}, {3, 3});
  for (const Lengths& lengths : {Lengths({3, 2, 1}, 3), Lengths({3, 0, 1}, 3),
                                 Lengths({0, 0, 0}, 3), Lengths({1, 1, 1}, 3)}) {
    for (const double smoothing : {0.0, 0.1}) {
      for (const bool mean : {true, false}) {
        const CrossEntropyOptions options{.label_smoothing = smoothing, .mean = mean};
        const Tensor logits = with_padding(normal({3, 3, 6}, 0, 3, rng, DType::f64), lengths, 1e3);
        compare(
            [&](const Inputs& v) { return cross_entropy(v[0], labels, lengths, options); },
            [&](const Inputs& v) { return cross_entropy_composed(v[0], labels, lengths, options); },
            {logits});
      }
    }
  }
}

TEST_CASE(
    "the fused cross-entropy equals the composed one with an ignored label and class weights") {
  Rng rng(1);
  const Ids labels(std::vector<std::int32_t>{0, 5, 2, 3, 3, 99, 1, -7, 99}, {3, 3});
  const Lengths lengths({3, 2, 1}, 3);
  for (const double smoothing : {0.0, 0.1}) {
    for (const bool mean : {true, false}) {
      const CrossEntropyOptions options{.label_smoothing = smoothing,
                                        .mean = mean,
                                        .ignore_index = 3,
                                        .class_weights = uniform({6}, 0, 2, rng, DType::f64)};
      compare(
          [&](const Inputs& v) { return cross_entropy(v[0], labels, lengths, options); },
          [&](const Inputs& v) { return cross_entropy_composed(v[0], labels, lengths, options); },
          {with_padding(draw({3, 3, 6}, rng), lengths, 1e3)});
    }
  }
}

TEST_CASE("the fused layer norm equals the composed one") {
  Rng rng(1);
  for (const Shape& shape : {Shape{7}, Shape{1}, Shape{3, 1, 5}, Shape{2, 3, 16}, Shape{0, 4}}) {
    const Tensor x = draw(shape, rng), weight = draw({shape[-1]}, rng),
                 bias = draw({shape[-1]}, rng);
    compare([](const Inputs& v) { return layer_norm(v[0], 0.1); },
            [](const Inputs& v) { return layer_norm_composed(v[0], 0.1); }, {x});
    compare([](const Inputs& v) { return layer_norm(v[0], v[1]); },
            [](const Inputs& v) { return layer_norm_composed(v[0], v[1]); }, {x, weight});
    compare([](const Inputs& v) { return layer_norm(v[0], v[1], v[2]); },
            [](const Inputs& v) { return layer_norm_composed(v[0], v[1], v[2]); },
            {x, weight, bias});
  }
}

TEST_CASE("composed operations can be differentiated twice") {
  Rng rng(1);
  const Lengths lengths({3, 1}, 3);
  const Var h0 = draw({2, 2}, rng), weight = draw({6, 2}, rng), bias = draw({6}, rng);
  const Var query = draw({2, 2}, rng), v = draw({2}, rng);
  const auto everything = [&](const Var& x) {
    const Var states = gru_composed(x, h0, weight, bias, lengths, Direction::backward);
    const Var scores = additive_score_composed(query, states, v, lengths) +
                       dot_score_composed(query, states, lengths);
    const Var context = weighted_sum_composed(softmax_composed(scores, lengths), states, lengths);
    return sum(square(layer_norm_composed(context, v))) +
           cross_entropy_composed(states, Ids(Shape{3, 2}, 1), lengths, {.label_smoothing = 0.1});
  };
  const auto report = gradcheck(
      [&](std::span<const Var> inputs) {
        // gradcheck differentiates on its own tape and evaluates without one.
        std::optional<Tape> own;
        Var x = inputs[0];
        if (!Tape::active()) x = own.emplace().variable(x.value());
        const Var gradient = gradients(everything(x), {x})[0];
        return own ? gradient.detach() : gradient;
      },
      {draw({3, 2, 6}, rng)});
  CHECK_MESSAGE(report.passed, report.to_string());
}

}  // namespace regrad
