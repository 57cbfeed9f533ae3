#include <algorithm>

#include <doctest/doctest.h>

#include "autograd/gradcheck.h"
#include "autograd/tape.h"
#include "nn/gru.h"
#include "nn/lstm.h"
#include "nn/rnn.h"
#include "tests/nn_check.h"

// What holds of every recurrent layer.
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

// So short that no relu's kink lies in between.
constexpr GradcheckOptions short_step{.step = 1e-5};

// f(layer, lengths) for every kind, number of layers and directions, and lengths.
template <class F>
void each_case(const F& f) {
  for (const std::string_view name : recurrent_names()) {
    Rng rng(1);
    for (const Case& c : cases()) {
      CAPTURE(name);
      CAPTURE(c.layers);
      CAPTURE(c.bidirectional);
      CAPTURE(c.lengths.time());
      const auto layer = make_recurrent(name, inputs, hidden, rng, DType::f64,
                                        {.layers = c.layers, .bidirectional = c.bidirectional});
      f(*layer, c.lengths, rng);
    }
  }
}

// f(layer, rng) for every kind.
template <class F>
void each_kind(const RecurrentOptions& options, const F& f) {
  for (const std::string_view name : recurrent_names()) {
    CAPTURE(name);
    Rng rng(1);
    const auto layer = make_recurrent(name, inputs, hidden, rng, DType::f64, options);
    f(*layer, rng);
  }
}

Tensor input_for(const Lengths& lengths, Rng& rng) {
  return normal({lengths.time(), lengths.batch(), inputs}, 0, 1, rng, DType::f64);
}

// Random states of the shapes of these.
std::vector<Parameter> random_like(const RecurrentState& states, Rng& rng) {
  std::vector<Parameter> all;
  for (const Var& state : states) all.emplace_back(normal(state.shape(), 0, 1, rng, DType::f64));
  return all;
}

RecurrentState state_of(const std::vector<Parameter>& parameters) {
  return RecurrentState(parameters.begin(), parameters.end());
}

// All in one, so that a projection covers all.
Var flat(std::vector<Var> parts) {
  for (Var& part : parts) part = reshape(part, {part.size()});
  return concat(parts, 0);
}

Var flat(const RecurrentOutput& y) {
  std::vector<Var> parts = y.final;
  parts.push_back(y.outputs);
  return flat(parts);
}

// Gradients of a fixed nonlinear function of valid outputs and final states.
Gradients gradients_of(const Recurrent& layer, Tape& tape, const Var& x, const Lengths& lengths) {
  const RecurrentOutput y = layer(x, lengths);
  return tape.backward(sum(square(masked_fill(y.outputs, lengths, 0))) + sum(exp(flat(y.final))));
}

}  // namespace

TEST_CASE("recurrent layers: every gradient, layers, directions, lengths and batches") {
  each_case([](const Recurrent& layer, const Lengths& lengths, Rng& rng) {
    name_parameters(layer);
    std::vector<Parameter> all = parameter_list(layer);
    const Parameter x(input_for(lengths, rng));
    const auto initial = random_like(layer.initial_state(lengths.batch()), rng);
    all.push_back(x);
    all.insert(all.end(), initial.begin(), initial.end());
    const auto report =
        gradcheck([&] { return flat(layer(x, state_of(initial), lengths)); }, all, short_step);
    CHECK_MESSAGE(report.passed, report.to_string());
  });
}

TEST_CASE("recurrent cells: every gradient, one sequence and several") {
  for (const std::string_view name : recurrent_names()) {
    CAPTURE(name);
    Rng rng(1);
    for (const Index batch : {1, 3}) {
      const auto cell = make_cell(name, inputs, hidden, rng, DType::f64);
      std::vector<Parameter> all = parameter_list(*cell);
      const Parameter x(normal({batch, inputs}, 0, 1, rng, DType::f64));
      const auto state = random_like(cell->zero_state(batch), rng);
      all.push_back(x);
      all.insert(all.end(), state.begin(), state.end());
      const auto report =
          gradcheck([&] { return flat((*cell)(x, state_of(state))); }, all, short_step);
      CHECK_MESSAGE(report.passed, report.to_string());
    }
  }
}

TEST_CASE("recurrent layers: the sequence is the cell, step by step") {
  each_kind({.bidirectional = true}, [](const Recurrent& layer, Rng& rng) {
    const Lengths lengths = Lengths::full(4, 2);
    const Tensor x = input_for(lengths, rng);
    const RecurrentOutput y = layer(x, lengths);
    RecurrentState forward = layer.cell(0).zero_state(2), backward = forward;
    for (Index t = 0; t < 4; ++t) {
      forward = layer.cell(0)(x[t], forward);
      CHECK(difference(slice(select(y.outputs, 0, t), 1, 0, hidden).value(), forward[0].value()) <
            1e-14);
      backward = layer.cell(1)(x[3 - t], backward);
      CHECK(difference(slice(select(y.outputs, 0, 3 - t), 1, hidden).value(), backward[0].value()) <
            1e-14);
    }
    for (std::size_t k = 0; k < forward.size(); ++k) {
      CHECK(difference(y.final[k].value()[0], forward[k].value()) < 1e-14);
      CHECK(difference(y.final[k].value()[1], backward[k].value()) < 1e-14);
    }
  });
}

TEST_CASE("recurrent layers: all biases are used also without an initial state") {
  each_kind({.layers = 2, .bidirectional = true}, [](const Recurrent& layer, Rng& rng) {
    if (layer.cell(0).weight_hh.shape()[0] == hidden) return;  // a plain unit at 0 may be dead
    const Lengths lengths({1, 1}, 1);
    Tape tape;
    const Gradients gradients = gradients_of(layer, tape, input_for(lengths, rng), lengths);
    for (const NamedParameter& named : parameters(layer)) {
      if (!contains(named.path, "bias")) continue;
      CAPTURE(named.path);
      const std::vector<double> values = gradients[named.parameter].to_vector();
      CHECK(std::count(values.begin(), values.end(), 0.0) ==
            (values.size() == 4 * hidden ? hidden : 0));  // a forget gate multiplies the cell 0
    }
  });
}

TEST_CASE("recurrent layers: garbage and NaN in padding change not one bit") {
  each_case([](const Recurrent& layer, const Lengths& lengths, Rng& rng) {
    const Tensor clean = with_padding(input_for(lengths, rng), lengths, 0);
    Tape first;
    const Var x = first.variable(clean);
    const Tensor y = flat(layer(x, lengths)).value();
    const Gradients expected = gradients_of(layer, first, x, lengths);
    for (const double garbage : {1e3, std::nan("")}) {
      Tape second;
      const Var z = second.variable(with_padding(clean, lengths, garbage));
      CHECK(identical(flat(layer(z, lengths)).value(), y));
      const Gradients gradients = gradients_of(layer, second, z, lengths);
      CHECK(identical(gradients[z], expected[x]));
      for (const Parameter& parameter : parameter_list(layer)) {
        CHECK(identical(gradients[parameter], expected[parameter]));
      }
    }
  });
}

namespace {

// A sentence alone and its place in the batch: values and gradient; the parameters' are added up.
void compare_alone(const Recurrent& layer, const Tensor& x, const Lengths& lengths, Index b,
                   const RecurrentOutput& y, const Tensor& together, Gradients& added) {
  const Index steps = lengths[b];
  const auto place = [&](const Tensor& all) {
    return slice(slice(all, 0, 0, steps), 1, b, b + 1).value();
  };
  Tape tape;
  const Var leaf = tape.variable(place(x));
  const RecurrentOutput alone = layer(leaf, Lengths::full(steps, 1));
  CHECK(difference(alone.outputs.value(), place(y.outputs.value())) < 1e-13);
  for (std::size_t k = 0; k < y.final.size(); ++k) {
    CHECK(difference(alone.final[k].value(), slice(y.final[k].value(), 1, b, b + 1).value()) <
          1e-13);
  }
  const Gradients gradients = gradients_of(layer, tape, leaf, Lengths::full(steps, 1));
  CHECK(difference(gradients[leaf], place(together)) < 1e-13);
  added.add(gradients);
}

}  // namespace

TEST_CASE("recurrent layers: a sentence alone equals the same among others") {
  for (const Index layers : {1, 2}) {
    each_kind({.layers = layers, .bidirectional = true}, [](const Recurrent& layer, Rng& rng) {
      const Lengths lengths({4, 2, 3, 1}, 4);
      const Tensor x = input_for(lengths, rng);
      Tape tape;
      const Var batch = tape.variable(x);
      const RecurrentOutput y = layer(x, lengths);
      const Gradients together = gradients_of(layer, tape, batch, lengths);
      Gradients added;
      for (Index b = 0; b < lengths.batch(); ++b) {
        compare_alone(layer, x, lengths, b, y, together[batch], added);
      }
      for (const Parameter& parameter : parameter_list(layer)) {
        CHECK(difference(added[parameter], together[parameter]) < 1e-12);
      }
    });
  }
}

TEST_CASE("recurrent layers: a sentence of length 0 keeps its initial state, without gradient") {
  each_kind({.bidirectional = true}, [](const Recurrent& layer, Rng& rng) {
    const Lengths lengths({0}, 3);
    const RecurrentState initial = state_of(random_like(layer.initial_state(1), rng));
    const Tensor x = input_for(lengths, rng);
    const RecurrentOutput y = layer(x, initial, lengths);
    for (std::size_t k = 0; k < initial.size(); ++k) {
      CHECK(identical(y.final[k].value(), initial[k].value()));
    }
    Tape tape;
    const Gradients gradients = gradients_of(layer, tape, x, lengths);
    for (const Parameter& parameter : parameter_list(layer)) {
      if (!gradients.contains(parameter)) continue;
      CHECK(identical(gradients[parameter], zeros(parameter.shape(), DType::f64)));
    }
  });
}

TEST_CASE("recurrent layers: learned initial states start at zero and have gradients") {
  each_kind({.layers = 2, .bidirectional = true, .learned_initial = true},
            [](const Recurrent& layer, Rng& rng) {
              const Lengths lengths({3, 0, 1}, 3);
              const Parameter x(input_for(lengths, rng));
              const RecurrentState zero = layer.initial_state(3);
              for (const Var& state : zero)
                CHECK(identical(state.value(), zeros({4, 3, hidden}, DType::f64)));
              std::vector<std::string> names;
              for (const NamedParameter& named : parameters(layer)) {
                if (named.path.starts_with("initial")) names.push_back(named.path);
              }
              CHECK(names == (zero.size() == 2 ? std::vector<std::string>{"initial_h", "initial_c"}
                                               : std::vector<std::string>{"initial_h"}));
              for (const Parameter& state : layer.initial) {
                state.assign(normal(state.shape(), 0, 1, rng, DType::f64));
              }
              CHECK(identical(flat(layer(x, lengths)).value(),
                              flat(layer(x, layer.initial_state(3), lengths)).value()));
              const auto report =
                  gradcheck([&] { return flat(layer(x, lengths)); }, layer.initial, short_step);
              CHECK_MESSAGE(report.passed, report.to_string());
            });
}

}  // namespace regrad
