#include <doctest/doctest.h>

#include "ops/recurrent.h"
#include "ops_check.h"

// rnn and lstm: what does not fit, and sequences without steps; gru is in recurrent_test.cpp.
namespace regrad::ops {
namespace {

using namespace regrad::testing;

struct Inputs {
  Tensor from_input, h0, c0, weight_hh, bias_hh;
};

Inputs inputs_of(Index time, Index batch, Index size, Index blocks) {
  return {random_tensor({time, batch, blocks * size}), random_tensor({batch, size}),
          random_tensor({batch, size}), random_tensor({blocks * size, size}),
          random_tensor({blocks * size})};
}

TEST_CASE("inputs of lstm that do not fit are errors") {
  const Lengths lengths = Lengths::full(2, 3);
  const auto message = [&](auto change) {
    Inputs in = inputs_of(2, 3, 4, 4);
    change(in);
    return message_of(
        [&] { lstm(in.from_input, in.h0, in.c0, in.weight_hh, in.bias_hh, lengths, false); });
  };
  CHECK(message([](Inputs&) {}) == "");
  CHECK(message([](Inputs& in) {
          in.from_input = zeros({2, 3, 12});
        }) == "lstm: the input part of the gates has shape [2, 3, 12], not [2, 3, 16]");
  CHECK(message([](Inputs& in) { in.h0 = zeros({4}); }) ==
        "lstm: the initial state has shape [4], not [3, 4]");
  CHECK(message([](Inputs& in) { in.c0 = zeros({4}); }) ==
        "lstm: the initial cell has shape [4], not [3, 4]");
  CHECK(message([](Inputs& in) { in.weight_hh = zeros({16}); }) ==
        "lstm: weight_hh has shape [16], not [4H, H]");
  CHECK(message([](Inputs& in) { in.bias_hh = zeros({4}); }) ==
        "lstm: bias_hh has shape [4], not [16]");
  CHECK(message([](Inputs& in) {
          in.c0 = zeros({3, 4}, DType::f64);
        }) == "lstm: f32 [2, 3, 16] with f64 [3, 4]; convert one of them with to()");
}

TEST_CASE("inputs of rnn that do not fit are errors") {
  const Lengths lengths = Lengths::full(2, 3);
  const auto message = [&](auto change) {
    Inputs in = inputs_of(2, 3, 4, 1);
    change(in);
    return message_of([&] {
      rnn(Nonlinearity::tanh, in.from_input, in.h0, in.weight_hh, in.bias_hh, lengths, false);
    });
  };
  CHECK(message([](Inputs&) {}) == "");
  CHECK(message([](Inputs& in) {
          in.from_input = zeros({2, 3, 12});
        }) == "rnn: the input part of the gates has shape [2, 3, 12], not [2, 3, 4]");
  CHECK(message([](Inputs& in) {
          in.weight_hh = zeros({8, 4});
        }) == "rnn: weight_hh has shape [8, 4], not [4, 4]");
}

TEST_CASE("inputs of gates that do not fit are errors") {
  const Tensor gates = zeros({3, 16}), c = zeros({3, 4});
  CHECK(message_of([&] { lstm_gates(gates, gates, c); }) == "");
  CHECK(message_of([&] {
          lstm_gates(gates, zeros({3, 4}), c);
        }) == "lstm_gates: the hidden part of the gates has shape [3, 4], not [3, 16]");
  CHECK(message_of([&] { lstm_gates(gates, gates, zeros({4})); }) ==
        "lstm_gates: the state has shape [4], not [batch, size]");
  CHECK(message_of([&] { rnn_gates(Nonlinearity::relu, c, c); }) == "");
  CHECK(message_of([&] { rnn_gates(Nonlinearity::relu, c, gates); }) ==
        "rnn_gates: the hidden part of the gates has shape [3, 16], not [3, 4]");
}

TEST_CASE("rnn and lstm over nothing") {
  for (const bool backward : {false, true}) {
    for (const Index time : {0, 2}) {
      for (const Index batch : {0, 3}) {
        for (const Index size : {0, 2}) {
          const Lengths lengths = Lengths::full(time, batch);
          Inputs in = inputs_of(time, batch, size, 4);
          const Lstm y =
              lstm(in.from_input, in.h0, in.c0, in.weight_hh, in.bias_hh, lengths, backward);
          const Tensor g = random_tensor({time + 1, batch, size});
          const LstmGradient gradient = lstm_backward(g, y, in.weight_hh, lengths, backward);
          if (time == 0) {
            CHECK(identical(y.states[backward ? 0 : 1], in.c0));
            CHECK(identical(gradient.c0, g[0]));
          }
          in = inputs_of(time, batch, size, 1);
          const Tensor states = rnn(Nonlinearity::tanh, in.from_input, in.h0, in.weight_hh,
                                    in.bias_hh, lengths, backward);
          CHECK(identical(states[backward ? time : 0], in.h0));
          CHECK(rnn_backward(Nonlinearity::tanh, zeros({time, batch, size}), states, in.weight_hh,
                             lengths, backward)
                    .h0.shape() == in.h0.shape());
        }
      }
    }
  }
}

}  // namespace
}  // namespace regrad::ops
