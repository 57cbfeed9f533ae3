#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "nn/attention.h"
#include "nn/decoding.h"
#include "nn/embedding.h"
#include "nn/gru.h"
#include "nn/linear.h"
#include "tests/nn_check.h"

namespace regrad {
namespace {

using testing::contains;
using testing::difference;
using testing::message_of;
using Tokens = std::vector<std::int32_t>;

constexpr std::int32_t bos = 2, eos = 3;
constexpr Index classes = 6;

std::vector<Tokens> tokens_of(const std::vector<Hypothesis>& hypotheses) {
  std::vector<Tokens> tokens;
  for (const Hypothesis& found : hypotheses) tokens.push_back(found.tokens);
  return tokens;
}

std::vector<bool> finished_of(const std::vector<Hypothesis>& hypotheses) {
  std::vector<bool> finished;
  for (const Hypothesis& found : hypotheses) finished.push_back(found.finished);
  return finished;
}

// Gives fixed logits [B, V] at every step, whatever came before.
DecoderStep constant_step(const Tensor& logits) {
  return [logits](const Ids&, DecoderState&) { return DecoderOutput{logits, {}}; };
}

// Counts its steps in the state and ends sentence b after ends[b] tokens; token 4 + b before.
DecoderStep counting_step(std::vector<Index> ends) {
  return [ends](const Ids& previous, DecoderState& state) {
    const auto step = static_cast<Index>(state[0].item());
    std::vector<double> logits(ends.size() * classes);
    for (std::size_t b = 0; b < ends.size(); ++b) {
      const auto token = step < ends[b] ? 4 + static_cast<Index>(b) % 2 : eos;
      logits[b * classes + static_cast<std::size_t>(token)] = 10;
      CHECK(previous[static_cast<Index>(b)] >= bos);
    }
    state[0] = state[0] + 1;
    return DecoderOutput{tensor(logits, {static_cast<Index>(ends.size()), classes}), {}};
  };
}

// A small decoder with attention whose weights are random.
struct Model : Module {
  explicit Model(Rng& rng)
      : embedding(classes, 3, rng, DType::f64),
        cell(3, 4, rng, DType::f64),
        attention("additive", "soft", {.query_size = 4, .key_size = 4, .attention_size = 5}, rng,
                  DType::f64),
        output(8, classes, rng, DType::f64) {
    output.weight.assign((Var(output.weight) * 3).value());
  }
  void visit(Visitor& visitor) const override {
    visitor("embedding", embedding);
    visitor("cell", cell);
    visitor("attention", attention);
    visitor("output", output);
  }
  std::vector<Hypothesis> decode(const Tensor& annotations, const Lengths& lengths,
                                 const std::vector<Index>& limits) const {
    const AttentionMemory memory = attention.prepare(annotations, lengths);
    const DecoderStep step = [&](const Ids& previous, DecoderState& state) {
      const AttentionOutput attended = attention(state[0], memory, attention.start(memory));
      state[0] = cell(embedding(previous), state[0]);
      return DecoderOutput{output(concat({state[0], attended.context}, 1)), attended.weights};
    };
    const Var start = zeros({lengths.batch(), 4}, DType::f64);
    return greedy(step, {start}, lengths, {bos, eos, limits});
  }
  Embedding embedding;
  GRUCell cell;
  Attention attention;
  Linear output;
};

}  // namespace

TEST_CASE("greedy takes the likeliest token and adds up log probabilities, <eos> included") {
  Tensor first = tensor({{0, 0, 0, 0, 5, 1}, {0, 0, 0, 9, 0, 0}});
  const DecoderStep step = [&](const Ids& previous, DecoderState&) {
    const bool start = previous[0] == bos;
    return DecoderOutput{start ? first : Tensor(tensor({{0, 0, 0, 7, 0, 0}, {1, 1, 1, 1, 9, 1}})),
                         {}};
  };
  const std::vector<Hypothesis> result = greedy(step, {}, Lengths::full(1, 2), {bos, eos, {5, 5}});
  CHECK(tokens_of(result) == std::vector<Tokens>{{4}, {}});
  CHECK(finished_of(result) == std::vector<bool>{true, true});
  CHECK(result[0].attention.shape() == Shape{0});
  const double step_one = std::log(std::exp(5.0) / (std::exp(5.0) + std::exp(1.0) + 4));
  const double step_two = std::log(std::exp(7.0) / (std::exp(7.0) + 5));
  CHECK(result[0].log_probability == doctest::Approx(step_one + step_two));
  CHECK(result[1].log_probability ==
        doctest::Approx(std::log(std::exp(9.0) / (std::exp(9.0) + 5))));
}

TEST_CASE("equal logits give the lowest id") {
  const std::vector<Hypothesis> result =
      greedy(constant_step(tensor({{1, 2, 2, 0, 2, 1}, {3, 3, 3, 3, 3, 3}})), {},
             Lengths::full(1, 2), {bos, eos, {2, 1}});
  CHECK(tokens_of(result) == std::vector<Tokens>{{1, 1}, {0}});
}

TEST_CASE("equal logits are equally likely, however large") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const DecoderStep step = [&](const Ids&, DecoderState&) {
      return DecoderOutput{full({1, 6}, 1e20, dtype), {}};
    };
    const std::vector<Hypothesis> result = greedy(step, {}, Lengths::full(1, 1), {bos, eos, {2}});
    CHECK(result[0].log_probability == doctest::Approx(-2 * std::log(6)));
  }
}

TEST_CASE("each sentence stops at its <eos> or its own limit") {
  const std::vector<Hypothesis> result = greedy(counting_step({2, 0, 9, 3}), {Var(scalar(0))},
                                                Lengths::full(1, 4), {bos, eos, {5, 5, 4, 3}});
  CHECK(tokens_of(result) == std::vector<Tokens>{{4, 4}, {}, {4, 4, 4, 4}, {5, 5, 5}});
  CHECK(finished_of(result) == std::vector<bool>{true, true, false, true});
}

TEST_CASE("limits of 0 and empty batches are fine") {
  const std::vector<Hypothesis> result =
      greedy(counting_step({2, 0}), {Var(scalar(0))}, Lengths::full(1, 2), {bos, eos, {0, 0}});
  CHECK(tokens_of(result) == std::vector<Tokens>{{}, {}});
  CHECK(finished_of(result) == std::vector<bool>{false, true});
  CHECK(greedy(counting_step({}), {}, Lengths::full(1, 0), {bos, eos, {}}).empty());
}

TEST_CASE("greedy records nothing") {
  Rng rng(1);
  const Linear output(1, classes, rng);
  Tape tape;
  const DecoderStep step = [&](const Ids&, DecoderState&) {
    CHECK(Tape::active() == nullptr);
    return DecoderOutput{output(ones({1, 1})), {}};
  };
  greedy(step, {}, Lengths::full(1, 1), {bos, eos, {4}});
  CHECK(tape.size() == 0);
  CHECK(Tape::active() == &tape);
}

TEST_CASE("a sentence decodes alone as it does among others") {
  Rng rng(3);
  for (int round = 0; round < 5; ++round) {
    const Model model(rng);
    const Lengths lengths({5, 1, 3, 0, 4}, 5);
    const Tensor annotations = normal({5, 5, 4}, 0, 2, rng, DType::f64);
    const std::vector<Index> limits{6, 3, 5, 2, 7};
    const std::vector<Hypothesis> all = model.decode(annotations, lengths, limits);
    for (std::size_t b = 0; b < limits.size(); ++b) {
      const auto index = static_cast<Index>(b);
      const Index steps = std::max<Index>(lengths[index], 1);
      const Tensor own = slice(slice(annotations, 0, 0, steps), 1, index, index + 1).value();
      const std::vector<Hypothesis> alone = model.decode(
          own, Lengths({static_cast<std::int32_t>(lengths[index])}, steps), {limits[b]});
      CHECK(alone[0].tokens == all[b].tokens);
      CHECK(alone[0].finished == all[b].finished);
      CHECK(alone[0].log_probability == doctest::Approx(all[b].log_probability).epsilon(1e-12));
      CHECK(difference(alone[0].attention, all[b].attention) < 1e-12);
      CHECK(all[b].attention.shape() ==
            Shape{static_cast<Index>(all[b].tokens.size()), lengths[index]});
    }
  }
}

TEST_CASE("logits that are not finite and shapes that do not fit are named errors") {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {std::nan(""), infinity}) {
    const DecoderStep step = constant_step(tensor({{1, 0, 0, 0, 0, 0}, {0, 0, 0, 0, bad, 0}}));
    const std::string message = message_of([&] {
      greedy(step, {}, Lengths::full(1, 2), {bos, eos, {3, 3}});
    });
    CHECK(contains(message, "sentence 1"));
    CHECK(contains(message, "not finite"));
  }
  // A forbidden token has the logit -infinity.
  const DecoderStep masked = constant_step(tensor({{-infinity, 0, 0, 1, 0, 0}}));
  CHECK(greedy(masked, {}, Lengths::full(1, 1), {bos, eos, {3}})[0].finished);
  const DecoderStep three = constant_step(zeros({3, classes}));
  CHECK(contains(message_of([&] {
                   greedy(three, {}, Lengths::full(1, 2), {bos, eos, {3, 3}});
                 }),
                 "[2, V], not [3, 6]"));
  CHECK(contains(message_of([&] {
                   greedy(three, {}, Lengths::full(1, 3), {bos, eos, {3}});
                 }),
                 "1 limits in max_length for 3 sentences"));
  const DecoderStep wide = [](const Ids&, DecoderState&) {
    return DecoderOutput{zeros({1, classes}), zeros({1, 7})};
  };
  CHECK(contains(message_of([&] {
                   greedy(wide, {}, Lengths::full(5, 1), {bos, eos, {3}});
                 }),
                 "weights must be [1, 5], not [1, 7]"));
  CHECK(message_of([&] {
          greedy({}, {}, Lengths::full(5, 1), {bos, eos, {3}});
        }) == "greedy: the decoder's step is an empty function");
}

}  // namespace regrad
