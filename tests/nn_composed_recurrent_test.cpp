#include <functional>

#include <doctest/doctest.h>

#include "autograd/tape.h"
#include "nn/composed_recurrent.h"
#include "tests/nn_check.h"

namespace regrad {
namespace {

using testing::difference;
using testing::with_padding;
using Inputs = std::vector<Var>;
using Function = std::function<std::vector<Var>(const Inputs&)>;

// Values, and the gradients of random projections, of a fused operation and its twin.
void compare(const Function& fused, const Function& composed, const std::vector<Tensor>& inputs) {
  std::vector<std::vector<Tensor>> values, gradients;
  for (const Function* function : {&fused, &composed}) {
    Tape tape;
    Inputs leaves;
    for (const Tensor& input : inputs) leaves.push_back(tape.variable(input));
    Var loss = zeros({}, DType::f64);
    Rng rng(3);
    values.emplace_back();
    for (const Var& y : (*function)(leaves)) {
      values.back().push_back(y.value());
      loss += sum(y * Var(normal(y.shape(), 0, 1, rng, DType::f64)));
    }
    const Gradients result = tape.backward(loss);
    gradients.emplace_back();
    for (const Var& leaf : leaves) gradients.back().push_back(result[leaf]);
  }
  REQUIRE(values[0].size() == values[1].size());
  for (std::size_t i = 0; i < values[0].size(); ++i) {
    CHECK(difference(values[0][i], values[1][i]) < 1e-12);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    CAPTURE(i);
    CHECK(difference(gradients[0][i], gradients[1][i]) < 1e-12);
  }
}

Tensor draw(const Shape& shape, Rng& rng) { return normal(shape, 0, 1, rng, DType::f64); }

// f(lengths, direction, from_input, h0, weight_hh, bias_hh) for every kind of sequences.
template <class F>
void each_sequence(Index blocks, const F& f) {
  constexpr Index size = 5;
  Rng rng(1);
  for (const Lengths& lengths : {Lengths({4, 2, 3}, 4), Lengths({0, 3, 1}, 3), Lengths({5}, 5),
                                 Lengths({1}, 1), Lengths({0}, 2)}) {
    const Index batch = lengths.batch(), time = lengths.time();
    for (const Direction direction : {Direction::forward, Direction::backward}) {
      for (const double padding : {0.0, 1e3}) {
        f(lengths, direction,
          std::vector<Tensor>{
              with_padding(draw({time, batch, blocks * size}, rng), lengths, padding),
              draw({batch, size}, rng), draw({blocks * size, size}, rng),
              draw({blocks * size}, rng), draw({batch, size}, rng)});
      }
    }
  }
}

constexpr Nonlinearity both[] = {Nonlinearity::tanh, Nonlinearity::relu};

}  // namespace

TEST_CASE("fused gates equal the composed ones") {
  Rng rng(1);
  for (const Index batch : {1, 3}) {
    for (const Nonlinearity f : both) {
      compare([f](const Inputs& x) { return Inputs{rnn_gates(x[0], x[1], f)}; },
              [f](const Inputs& x) { return Inputs{rnn_gates_composed(x[0], x[1], f)}; },
              {draw({batch, 5}, rng), draw({batch, 5}, rng)});
    }
    compare([](const Inputs& x) { return lstm_gates(x[0], x[1], x[2]); },
            [](const Inputs& x) { return lstm_gates_composed(x[0], x[1], x[2]); },
            {draw({batch, 20}, rng), draw({batch, 20}, rng), draw({batch, 5}, rng)});
    compare([](const Inputs& x) { return Inputs{gru_gates(x[0], x[1], x[2])}; },
            [](const Inputs& x) { return Inputs{gru_gates_composed(x[0], x[1], x[2])}; },
            {draw({batch, 15}, rng), draw({batch, 15}, rng), draw({batch, 5}, rng)});
  }
}

TEST_CASE("the fused rnn equals the composed one, both directions and nonlinearities") {
  for (const Nonlinearity f : both) {
    each_sequence(1, [f](const Lengths& lengths, Direction direction, std::vector<Tensor> inputs) {
      inputs.pop_back();
      compare(
          [&](const Inputs& x) {
            return Inputs{rnn(x[0], x[1], x[2], x[3], lengths, direction, f)};
          },
          [&](const Inputs& x) {
            return Inputs{rnn_composed(x[0], x[1], x[2], x[3], lengths, direction, f)};
          },
          inputs);
    });
  }
}

TEST_CASE("the fused lstm equals the composed one, both directions") {
  each_sequence(4, [](const Lengths& lengths, Direction direction,
                      const std::vector<Tensor>& inputs) {
    compare([&](const Inputs& x) { return lstm(x[0], x[1], x[4], x[2], x[3], lengths, direction); },
            [&](const Inputs& x) {
              return lstm_composed(x[0], x[1], x[4], x[2], x[3], lengths, direction);
            },
            inputs);
  });
}

TEST_CASE("the fused gru equals the composed one, both directions") {
  each_sequence(3, [](const Lengths& lengths, Direction direction, std::vector<Tensor> inputs) {
    inputs.pop_back();
    compare(
        [&](const Inputs& x) { return Inputs{gru(x[0], x[1], x[2], x[3], lengths, direction)}; },
        [&](const Inputs& x) {
          return Inputs{gru_composed(x[0], x[1], x[2], x[3], lengths, direction)};
        },
        inputs);
  });
}

}  // namespace regrad
