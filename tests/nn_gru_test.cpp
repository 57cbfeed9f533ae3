#include <doctest/doctest.h>

#include "autograd/gradcheck.h"
#include "autograd/tape.h"
#include "nn/gru.h"
#include "tests/nn_check.h"

namespace regrad {
namespace {

using testing::contains;
using testing::difference;
using testing::message_of;
using testing::with_padding;

constexpr Index inputs = 3, hidden = 2;

struct Case {
  Index layers;
  bool bidirectional;
  Lengths lengths;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Index layers : {1, 2}) {
    for (const bool bidirectional : {false, true}) {
      for (const Lengths& lengths : {Lengths({4, 2, 3}, 4), Lengths({0, 3, 1}, 3), Lengths({5}, 5),
                                     Lengths({1}, 1), Lengths({2}, 4), Lengths({0, 0}, 2)}) {
        all.push_back({layers, bidirectional, lengths});
      }
    }
  }
  return all;
}

GRU make(const Case& c, Rng& rng) {
  return GRU(inputs, hidden, rng, DType::f64,
             {.layers = c.layers, .bidirectional = c.bidirectional});
}

Tensor input_for(const Lengths& lengths, Rng& rng) {
  return normal({lengths.time(), lengths.batch(), inputs}, 0, 1, rng, DType::f64);
}

Tensor initial_for(const Case& c, Rng& rng) {
  return normal({c.layers * (c.bidirectional ? 2 : 1), c.lengths.batch(), hidden}, 0, 1, rng,
                DType::f64);
}

// Outputs and final states in one, so that a projection covers both.
Var flat(const GRUOutput& y) {
  return concat({reshape(y.outputs, {y.outputs.size()}), reshape(y.final, {y.final.size()})}, 0);
}

// Gradients of a fixed nonlinear function of valid outputs and final states.
Gradients gradients_of(const GRU& gru, Tape& tape, const Var& x, const Lengths& lengths) {
  const GRUOutput y = gru(x, lengths);
  return tape.backward(sum(square(masked_fill(y.outputs, lengths, 0))) + sum(exp(y.final)));
}

}  // namespace

TEST_CASE("gru: every gradient, layers, directions, lengths and batches") {
  Rng rng(1);
  for (const Case& c : cases()) {
    CAPTURE(c.layers);
    CAPTURE(c.bidirectional);
    CAPTURE(c.lengths.time());
    const GRU gru = make(c, rng);
    name_parameters(gru);
    std::vector<Parameter> all = parameter_list(gru);
    const Parameter x(input_for(c.lengths, rng)), initial(initial_for(c, rng));
    all.push_back(x);
    all.push_back(initial);
    const auto report = gradcheck([&] { return flat(gru(x, initial, c.lengths)); }, all);
    CHECK_MESSAGE(report.passed, report.to_string());
  }
}

TEST_CASE("gru cell: every gradient, one sequence and several") {
  Rng rng(1);
  for (const Index batch : {1, 3}) {
    const GRUCell cell(inputs, hidden, rng, DType::f64);
    std::vector<Parameter> all = parameter_list(cell);
    const Parameter x(normal({batch, inputs}, 0, 1, rng, DType::f64));
    const Parameter h(normal({batch, hidden}, 0, 1, rng, DType::f64));
    all.push_back(x);
    all.push_back(h);
    const auto report = gradcheck([&] { return cell(x, h); }, all);
    CHECK_MESSAGE(report.passed, report.to_string());
  }
}

TEST_CASE("gru: the sequence is the cell, step by step") {
  Rng rng(1);
  const GRU gru(inputs, hidden, rng, DType::f64, {.bidirectional = true});
  const Lengths lengths = Lengths::full(4, 2);
  const Tensor x = input_for(lengths, rng);
  const GRUOutput y = gru(x, lengths);
  Var forward = zeros({2, hidden}, DType::f64), backward = forward;
  for (Index t = 0; t < 4; ++t) {
    forward = gru.cells[0](x[t], forward);
    CHECK(difference(slice(select(y.outputs, 0, t), 1, 0, hidden).value(), forward.value()) <
          1e-14);
    backward = gru.cells[1](x[3 - t], backward);
    CHECK(difference(slice(select(y.outputs, 0, 3 - t), 1, hidden).value(), backward.value()) <
          1e-14);
  }
  CHECK(difference(y.final.value()[0], forward.value()) < 1e-14);
  CHECK(difference(y.final.value()[1], backward.value()) < 1e-14);
}

TEST_CASE("gru: all biases are used also without an initial state") {
  Rng rng(1);
  const GRU gru(inputs, hidden, rng, DType::f64, {.layers = 2, .bidirectional = true});
  const Lengths lengths({1, 1}, 1);
  Tape tape;
  const Gradients gradients = gradients_of(gru, tape, input_for(lengths, rng), lengths);
  for (const NamedParameter& named : parameters(gru)) {
    if (contains(named.path, "weight_hh")) continue;  // multiplies the state 0
    CAPTURE(named.path);
    for (const double value : gradients[named.parameter].to_vector()) CHECK(value != 0);
  }
}

TEST_CASE("gru: garbage and NaN in padding change not one bit") {
  Rng rng(1);
  for (const Case& c : cases()) {
    const GRU gru = make(c, rng);
    const Tensor clean = with_padding(input_for(c.lengths, rng), c.lengths, 0);
    Tape first;
    const Var x = first.variable(clean);
    const GRUOutput y = gru(x, c.lengths);
    const Gradients expected = gradients_of(gru, first, x, c.lengths);
    for (const double garbage : {1e3, std::nan("")}) {
      Tape second;
      const Var z = second.variable(with_padding(clean, c.lengths, garbage));
      const GRUOutput other = gru(z, c.lengths);
      CHECK(identical(other.outputs.value(), y.outputs.value()));
      CHECK(identical(other.final.value(), y.final.value()));
      const Gradients gradients = gradients_of(gru, second, z, c.lengths);
      CHECK(identical(gradients[z], expected[x]));
      for (const Parameter& parameter : parameter_list(gru)) {
        CHECK(identical(gradients[parameter], expected[parameter]));
      }
    }
  }
}

TEST_CASE("gru: a sentence alone equals the same among others, values and gradients") {
  Rng rng(1);
  for (const Index layers : {1, 2}) {
    const GRU gru(inputs, hidden, rng, DType::f64, {.layers = layers, .bidirectional = true});
    const Lengths lengths({4, 2, 3, 1}, 4);
    const Tensor x = input_for(lengths, rng);
    Tape tape;
    const Var batch = tape.variable(x);
    const GRUOutput y = gru(batch, lengths);
    const Gradients together = gradients_of(gru, tape, batch, lengths);
    Gradients added;
    for (Index b = 0; b < lengths.batch(); ++b) {
      CAPTURE(b);
      const Index steps = lengths[b];
      const Lengths own = Lengths::full(steps, 1);
      const Var sentence = slice(slice(x, 0, 0, steps), 1, b, b + 1);
      Tape own_tape;
      const Var leaf = own_tape.variable(sentence.value());
      const GRUOutput alone = gru(leaf, own);
      CHECK(difference(alone.outputs.value(),
                       slice(slice(y.outputs.value(), 0, 0, steps), 1, b, b + 1).value()) < 1e-13);
      CHECK(difference(alone.final.value(), slice(y.final.value(), 1, b, b + 1).value()) < 1e-13);
      const Gradients gradients = gradients_of(gru, own_tape, leaf, own);
      CHECK(difference(gradients[leaf],
                       slice(slice(together[batch], 0, 0, steps), 1, b, b + 1).value()) < 1e-13);
      added.add(gradients);
    }
    for (const Parameter& parameter : parameter_list(gru)) {
      CHECK(difference(added[parameter], together[parameter]) < 1e-12);
    }
  }
}

TEST_CASE("gru: a sentence of length 0 keeps its initial state and gives no gradient") {
  Rng rng(1);
  const GRU gru(inputs, hidden, rng, DType::f64, {.bidirectional = true});
  const Lengths lengths({0}, 3);
  const Tensor initial = normal({2, 1, hidden}, 0, 1, rng, DType::f64);
  const Tensor x = input_for(lengths, rng);
  CHECK(identical(gru(x, initial, lengths).final.value(), initial));
  Tape tape;
  const Gradients gradients = gradients_of(gru, tape, x, lengths);
  for (const Parameter& parameter : parameter_list(gru)) {
    if (!gradients.contains(parameter)) continue;
    CHECK(identical(gradients[parameter], zeros(parameter.shape(), DType::f64)));
  }
}

TEST_CASE("gru: dropout acts between layers, in training only") {
  Rng rng(1);
  const GRU gru(inputs, 8, rng, DType::f64, {.layers = 2, .dropout = 0.5});
  const Lengths lengths = Lengths::full(3, 2);
  const Tensor x = input_for(lengths, rng);
  const Tensor evaluated = gru(x, lengths).outputs.value();
  CHECK(identical(gru(x, lengths).outputs.value(), evaluated));
  Rng a(5), same(5), b(6);
  const Tensor trained = gru(x, lengths, &a).outputs.value();
  CHECK_FALSE(identical(trained, evaluated));
  CHECK(identical(gru(x, lengths, &same).outputs.value(), trained));
  CHECK_FALSE(identical(gru(x, lengths, &b).outputs.value(), trained));
  CHECK(identical(gru(x, lengths, &a).final.value()[0], gru(x, lengths).final.value()[0]));
}

TEST_CASE("gru: parameters are named and shaped as PyTorch's") {
  Rng rng(1);
  const GRU gru(inputs, hidden, rng, DType::f32, {.layers = 2, .bidirectional = true});
  std::vector<std::string> described;
  for (const NamedParameter& named : parameters(gru)) {
    described.push_back(named.path + " " + to_string(named.parameter.shape()));
  }
  CHECK(described ==
        std::vector<std::string>{
            "weight_ih_l0 [6, 3]", "weight_hh_l0 [6, 2]", "bias_ih_l0 [6]", "bias_hh_l0 [6]",
            "weight_ih_l0_reverse [6, 3]", "weight_hh_l0_reverse [6, 2]", "bias_ih_l0_reverse [6]",
            "bias_hh_l0_reverse [6]", "weight_ih_l1 [6, 4]", "weight_hh_l1 [6, 2]",
            "bias_ih_l1 [6]", "bias_hh_l1 [6]", "weight_ih_l1_reverse [6, 4]",
            "weight_hh_l1_reverse [6, 2]", "bias_ih_l1_reverse [6]", "bias_hh_l1_reverse [6]"});
}

TEST_CASE("gru: wrong inputs are named errors") {
  Rng rng(1);
  const GRU gru(inputs, hidden, rng);
  const Lengths lengths = Lengths::full(4, 2);
  CHECK(contains(message_of([&] { gru(zeros({4, 2, 5}), lengths); }), "[T, B, 3], not [4, 2, 5]"));
  CHECK(contains(message_of([&] { gru(zeros({4, 3}), lengths); }), "[T, B, 3], not [4, 3]"));
  CHECK(contains(message_of([&] { gru(zeros({5, 2, 3}), lengths); }), "lengths"));
  CHECK(contains(message_of([&] { gru(zeros({0, 2, 3}), Lengths::full(0, 2)); }), "no time step"));
  CHECK(contains(message_of([&] {
                   gru(zeros({4, 2, 3}), zeros({2, 2, 2}), lengths);
                 }),
                 "initial state"));
}

}  // namespace regrad
