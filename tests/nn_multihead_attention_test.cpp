#include <cmath>
#include <limits>
#include <set>

#include <doctest/doctest.h>

#include "autograd/gradcheck.h"
#include "nn/multihead_attention.h"
#include "tests/layer_golden.h"

namespace regrad {
namespace {

using namespace testing;

constexpr DType both[] = {DType::f32, DType::f64};
const Lengths source({5, 2, 4}, 5);

Tensor draw(const Shape& shape, std::uint64_t seed) {
  Rng rng(seed);
  return normal(shape, 0, 1, rng, DType::f64);
}

// Weights [B, H, T, S] with zeros for padded queries.
Var of_valid_queries(const Var& weights, const Lengths& lengths) {
  return permute(masked_fill(permute(weights, {2, 0, 1, 3}), lengths, 0), {1, 2, 0, 3});
}

struct Result {
  Tensor output, weights;
  std::vector<Tensor> gradients;  // of x and the parameters
};

// Self-attention and its gradients at valid positions.
Result self_attention(const MultiheadAttention& layer, const Tensor& input, const Lengths& lengths,
                      bool causal) {
  Tape tape;
  const Var x = tape.variable(input);
  const MultiheadOutput y = layer(x, lengths, {.causal = causal});
  const Var output = masked_fill(y.output, lengths, 0);
  const Gradients gradients = tape.backward(sum(square(output)) + sum(square(y.weights)));
  Result result{output.value(), y.weights.value(), {gradients[x]}};
  for (const Parameter& p : parameter_list(layer)) result.gradients.push_back(gradients[p]);
  return result;
}

}  // namespace

TEST_CASE("multi-head attention agrees with PyTorch: self, causal, cross, other sizes") {
  for (const DType dtype : both) {
    for (const std::string kind : {"self", "causal", "cross", "sizes"}) {
      CAPTURE(kind);
      const LayerGolden golden("multihead_" + kind, dtype);
      Rng rng(1);
      const bool sizes = kind == "sizes", self = kind == "self" || kind == "causal";
      const MultiheadAttention layer(8, 2, rng, dtype,
                                     {.key_size = sizes ? 6 : 0, .value_size = sizes ? 5 : 0});
      golden.load(layer);
      Tape tape;
      Named inputs{{"x", tape.variable(golden["x"])}};
      if (self) {
        const MultiheadOutput y = layer(inputs["x"], source, {.causal = kind == "causal"});
        golden.check(tape, layer, inputs,
                     {{"output", masked_fill(y.output, source, 0)},
                      {"weights", of_valid_queries(y.weights, source)}});
      } else {
        inputs["key"] = tape.variable(golden["key"]);
        inputs["value"] = tape.variable(golden["value"]);
        const MultiheadOutput y = layer(inputs["x"], inputs["key"], inputs["value"], source);
        golden.check(tape, layer, inputs, {{"output", y.output}, {"weights", y.weights}});
      }
    }
  }
}

TEST_CASE("multi-head attention has PyTorch's parameters") {
  Rng rng(1);
  const auto paths = [](const Module& module) {
    std::set<std::string> result;
    for (const NamedParameter& named : parameters(module)) {
      result.insert(named.path + to_string(named.parameter.shape()));
    }
    return result;
  };
  using Paths = std::set<std::string>;
  CHECK(paths(MultiheadAttention(4, 2, rng)) == Paths{"in_proj_weight[12, 4]", "in_proj_bias[12]",
                                                      "out_proj.weight[4, 4]", "out_proj.bias[4]"});
  CHECK(paths(MultiheadAttention(4, 2, rng, DType::f32,
                                 {.key_size = 3, .value_size = 5, .bias = Bias::no})) ==
        Paths{"q_proj_weight[4, 4]", "k_proj_weight[4, 3]", "v_proj_weight[4, 5]",
              "out_proj.weight[4, 4]"});
}

TEST_CASE("gradients of multi-head attention are right: parameters and inputs") {
  Rng rng(2);
  const Lengths uneven({3, 0, 1}, 3), one({2}, 2);
  for (const Lengths& lengths : {uneven, one}) {
    for (const bool causal : {false, true}) {
      const MultiheadAttention layer(4, 2, rng, DType::f64);
      const Tensor x = draw({lengths.time(), lengths.batch(), 4}, 3);
      const auto f = [&](const Var& input) {
        const MultiheadOutput y = layer(input, lengths, {.causal = causal});
        return concat({reshape(y.output, {-1}), reshape(y.weights, {-1})}, 0);
      };
      auto report = gradcheck([&] { return f(x); }, parameter_list(layer));
      CHECK_MESSAGE(report.passed, report.to_string());
      report = gradcheck([&](std::span<const Var> v) { return f(v[0]); }, {x});
      CHECK_MESSAGE(report.passed, report.to_string());
    }
  }
  const MultiheadAttention cross(4, 2, rng, DType::f64, {.key_size = 3, .value_size = 5});
  const auto report =
      gradcheck([&](std::span<const Var> v) { return cross(v[0], v[1], v[2], uneven).output; },
                {draw({2, 3, 4}, 4), draw({3, 3, 3}, 5), draw({3, 3, 5}, 6)});
  CHECK_MESSAGE(report.passed, report.to_string());
}

TEST_CASE("what stands in the padding changes not one bit of attention") {
  Rng rng(1);
  const MultiheadAttention layer(8, 2, rng, DType::f64);
  const Lengths lengths({5, 0, 2}, 5);
  const Tensor x = draw({5, 3, 8}, 2);
  for (const bool causal : {false, true}) {
    const Result clean = self_attention(layer, x, lengths, causal);
    for (const double garbage : {1e3, std::nan("")}) {
      const Result dirty =
          self_attention(layer, with_padding(x, lengths, garbage), lengths, causal);
      CHECK(identical(dirty.output, clean.output));
      CHECK(identical(dirty.weights, clean.weights));
      for (std::size_t i = 0; i < clean.gradients.size(); ++i) {
        CHECK(identical(dirty.gradients[i], clean.gradients[i]));
      }
    }
  }
}

TEST_CASE("a sentence attends alone as among others") {
  Rng rng(1);
  const MultiheadAttention layer(8, 4, rng, DType::f64);
  const Tensor x = draw({5, 3, 8}, 2);
  const Var together = layer(x, source).output;
  for (Index b = 0; b < 3; ++b) {
    const Index length = source[b];
    const Var own = slice(slice(Var(x), 1, b, b + 1), 0, 0, length);
    const Var alone = layer(own, Lengths::full(length, 1)).output;
    CHECK(difference(alone.value(), slice(slice(together, 1, b, b + 1), 0, 0, length).value()) <
          1e-12);
  }
}

TEST_CASE(
    "weights sum to 1 over what is seen; nothing seen gives zeros; later keys weigh nothing") {
  const Lengths lengths({3, 0, 1}, 3);
  const Var q = draw({4, 3, 6}, 1), keys = draw({3, 3, 6}, 2), values = draw({3, 3, 6}, 3);
  for (const bool causal : {false, true}) {
    const HeadsOutput y =
        scaled_dot_product_attention(q, keys, values, 3, lengths, {.causal = causal});
    for (Index b = 0; b < 3; ++b) {
      for (Index t = 0; t < 4; ++t) {
        const Index seen = std::min(lengths[b], causal ? t : 3);  // there is a query more than keys
        for (Index h = 0; h < 3; ++h) {
          double total = 0;
          for (Index s = 0; s < 3; ++s) {
            const double weight = y.weights.value().at({b, h, t, s});
            CHECK((weight > 0) == (s < seen));
            total += weight;
          }
          CHECK(total == doctest::Approx(seen > 0 ? 1 : 0));
          if (seen == 0) CHECK(y.context.value().at({t, b, 2 * h}) == 0);
          if (seen == 1) {
            CHECK(y.context.value().at({t, b, 2 * h}) ==
                  doctest::Approx(values.value().at({0, b, 2 * h})));
          }
        }
      }
    }
  }
}

TEST_CASE("a weight of 0 takes nothing of NaN, another weight does") {
  const Lengths lengths({3}, 3);
  const Var weights = tensor({0, 0.5, 0.5, 0, 1, 0}, DType::f64).reshape({1, 1, 2, 3});
  for (const double bad : {std::nan(""), HUGE_VAL}) {
    const Var values = tensor({bad, 1, 2, 3, bad, 5}, DType::f64).reshape({3, 1, 2});
    const Tensor y = head_sums(weights, values, lengths).value();
    CHECK(y.at({0, 0, 1}) == 0.5 * 3 + 0.5 * 5);
    CHECK(y.at({1, 0, 0}) == 2);
    CHECK(y.at({1, 0, 1}) == 3);
    CHECK((std::isnan(bad) ? std::isnan(y.at({0, 0, 0})) : y.at({0, 0, 0}) == bad));
  }
}

TEST_CASE("keys in another order give the weights in that order") {
  const Var q = draw({2, 1, 4}, 1), keys = draw({3, 1, 4}, 2), values = draw({3, 1, 4}, 3);
  const Lengths lengths = Lengths::full(3, 1);
  const HeadsOutput y = scaled_dot_product_attention(q, keys, values, 2, lengths);
  const HeadsOutput z =
      scaled_dot_product_attention(q, flip(keys, {0}), flip(values, {0}), 2, lengths);
  CHECK(difference(flip(z.weights, {3}).value(), y.weights.value()) < 1e-14);
  CHECK(difference(z.context.value(), y.context.value()) < 1e-14);
}

TEST_CASE("large scores stay finite") {
  for (const DType dtype : both) {
    const Var q = full({2, 1, 4}, 1e4, dtype);
    const Tensor keys =
        concat({full({1, 1, 4}, 1e4, dtype), full({1, 1, 4}, -1e4, dtype)}, 0).value();
    const HeadsOutput y = scaled_dot_product_attention(q, keys, keys, 1, Lengths::full(2, 1));
    CHECK(y.weights.value().to_vector() == std::vector<double>{1, 0, 1, 0});
  }
}

TEST_CASE("dropout acts on the weights in training only and keeps the expectation") {
  Rng rng(1);
  const MultiheadAttention layer(4, 2, rng, DType::f64, {.dropout = 0.3});
  const Tensor x = draw({3, 2, 4}, 2);
  const Lengths lengths({3, 2}, 3);
  const Tensor evaluated = layer(x, lengths).output.value();
  CHECK(identical(layer(x, lengths).output.value(), evaluated));
  Rng first(5), second(5), draws(6);
  const Tensor trained = layer(x, lengths, {.rng = &first}).output.value();
  CHECK_FALSE(identical(trained, evaluated));
  CHECK(identical(layer(x, lengths, {.rng = &second}).output.value(), trained));
  Var mean = zeros(evaluated.shape(), DType::f64);
  for (int i = 0; i < 4000; ++i) mean += layer(x, lengths, {.rng = &draws}).output / 4000.0;
  CHECK(difference(mean.value(), evaluated) < 0.1);
}

TEST_CASE("attention without steps is empty") {
  Rng rng(1);
  const MultiheadAttention layer(4, 2, rng);
  CHECK(layer(zeros({0, 2, 4}), Lengths::full(0, 2)).output.shape() == Shape{0, 2, 4});
  const Var y =
      layer(zeros({2, 2, 4}), zeros({0, 2, 4}), zeros({0, 2, 4}), Lengths::full(0, 2)).output;
  CHECK(y.value().to_vector() == std::vector<double>(16, 0.0));  // the bias of out_proj is zero
}

TEST_CASE("errors of attention name what does not fit") {
  Rng rng(1);
  CHECK(contains(message_of([&] { MultiheadAttention(6, 4, rng); }),
                 "size 6 does not fall into 4 equal heads"));
  CHECK(contains(message_of([&] { MultiheadAttention(6, 0, rng); }), "0 equal heads"));
  CHECK(contains(message_of([&] { MultiheadAttention(0, 1, rng); }), "size must be at least 1"));
  CHECK(contains(message_of([&] { MultiheadAttention(4, 2, rng, DType::f32, {.key_size = -1}); }),
                 "key_size must be at least 1, not -1"));
  CHECK(contains(message_of([&] { MultiheadAttention(4, 2, rng, DType::f32, {.value_size = -2}); }),
                 "value_size must be at least 1, not -2"));
  const MultiheadAttention layer(4, 2, rng);
  const Lengths lengths = Lengths::full(3, 2);
  CHECK(contains(message_of([&] {
                   layer(zeros({3, 2, 5}), lengths);
                 }),
                 "the input must be [time, 2, 4], not [3, 2, 5]"));
  CHECK(contains(message_of([&] { layer(zeros({2, 2, 4}), lengths); }), "head_weights"));
  const Var x = zeros({3, 2, 4}), odd = zeros({3, 2, 3});
  CHECK(contains(message_of([&] { layer(odd, x, x, lengths); }), "the query must be"));
  CHECK(contains(message_of([&] { layer(x, odd, x, lengths); }), "the key must be"));
  CHECK(contains(message_of([&] { layer(x, x, odd, lengths); }), "the value must be"));
}

TEST_CASE("errors of the functions over heads name what does not fit") {
  const Lengths lengths = Lengths::full(3, 2);
  const Var x = zeros({3, 2, 4}), w = zeros({2, 2, 3, 3});
  const auto message = [](auto f) { return message_of(f); };
  CHECK(contains(message([&] { head_scores(x, x, 3, lengths); }), "3 equal heads"));
  CHECK(contains(message([&] { head_scores(zeros({3, 4}), x, 2, lengths); }), "[3, 4]"));
  CHECK(contains(message([&] {
                   head_scores(x, zeros({3, 1, 4}), 2, lengths);
                 }),
                 "keys [3, 1, 4] do not fit queries [3, 2, 4]"));
  CHECK(contains(message([&] {
                   head_weights(x, zeros({3, 2, 4}, DType::f64), 2, lengths);
                 }),
                 "f64"));
  CHECK(contains(message([&] { head_sums(x, x, lengths); }), "are not [batch, heads"));
  CHECK(contains(message([&] { head_sums(zeros({2, 3, 3, 3}), x, lengths); }), "3 equal heads"));
  CHECK(contains(message([&] {
                   head_sums(w, zeros({2, 2, 4}), lengths);
                 }),
                 "values [2, 2, 4] do not fit weights"));
  CHECK(contains(message([&] { head_sums(w, x, Lengths::full(2, 2)); }), "lengths"));
  CHECK(contains(message([&] {
                   head_spread(w, zeros({2, 2, 4}), lengths);
                 }),
                 "[2, 2, 4] does not fit weights"));
}

}  // namespace regrad
