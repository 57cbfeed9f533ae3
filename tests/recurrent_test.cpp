#include "ops/recurrent.h"

#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "ops/elementwise.h"
#include "ops/matmul.h"
#include "ops/movement.h"
#include "ops_check.h"

namespace regrad::ops {
namespace {

using namespace regrad::testing;

struct Inputs {
  Tensor from_input, h0, weight_hh, bias_hh;
};

Inputs random_inputs(Index time, Index batch, Index size, DType dtype) {
  return {random_tensor({time, batch, 3 * size}, dtype, 1), random_tensor({batch, size}, dtype, 2),
          random_tensor({3 * size, size}, dtype, 3), random_tensor({3 * size}, dtype, 4)};
}

Gru run(const Inputs& in, const Lengths& lengths, bool backward) {
  return gru(in.from_input, in.h0, in.weight_hh, in.bias_hh, lengths, backward);
}

// States [T, B, H] at the time of their step: without h0.
Tensor outputs(const Gru& result, bool backward) {
  Index time = result.kept.shape()[0];
  return backward ? result.states.narrow(0, time) : result.states.narrow(1, time + 1);
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// The formula, one number at a time.
Tensor naive_gru(const Inputs& in, const Lengths& lengths, bool backward) {
  Index batch = lengths.batch(), size = in.h0.shape()[1];
  Tensor result(Shape{lengths.time(), batch, size}, in.h0.dtype());
  std::vector<double> h = in.h0.to_vector(), all(static_cast<std::size_t>(result.size()));
  for (Index i = 0; i < lengths.time(); ++i) {
    Index t = backward ? lengths.time() - 1 - i : i;
    std::vector<double> previous = h;
    for (Index b = 0; b < batch; ++b) {
      for (Index k = 0; k < size; ++k) {
        auto hidden = [&](Index gate) {
          double sum = in.bias_hh.at({gate * size + k});
          for (Index j = 0; j < size; ++j) {
            sum += in.weight_hh.at({gate * size + k, j}) *
                   previous[static_cast<std::size_t>(b * size + j)];
          }
          return sum;
        };
        auto input = [&](Index gate) { return in.from_input.at({t, b, gate * size + k}); };
        double& state = h[static_cast<std::size_t>(b * size + k)];
        if (lengths.valid(t, b)) {
          double r = sigmoid(input(0) + hidden(0)), z = sigmoid(input(1) + hidden(1));
          state = (1 - z) * std::tanh(input(2) + r * hidden(2)) + z * state;
        }
        all[static_cast<std::size_t>((t * batch + b) * size + k)] = state;
      }
    }
  }
  return tensor(all, result.shape(), in.h0.dtype());
}

const Lengths some_lengths({4, 1, 0, 3}, 4);

TEST_CASE_TEMPLATE("gru computes its formula in both directions", T, float, double) {
  for (Index size : {1, 5, 16}) {
    Inputs in = random_inputs(4, 4, size, dtype_of<T>());
    for (const Lengths& lengths : {some_lengths, Lengths::full(4, 4)}) {
      for (bool backward : {false, true}) {
        Gru result = run(in, lengths, backward);
        CHECK(difference(outputs(result, backward), naive_gru(in, lengths, backward)) <
              (sizeof(T) == 4 ? 1e-5 : 1e-13));
        CHECK(identical(result.states[backward ? 4 : 0], in.h0));
      }
    }
  }
}

TEST_CASE("gru over nothing") {
  for (bool backward : {false, true}) {
    Inputs in = random_inputs(0, 3, 2, DType::f32);
    Gru result = run(in, Lengths::full(0, 3), backward);
    CHECK(identical(result.states[0], in.h0));
    GruGradient gradient =
        gru_backward(zeros({0, 3, 2}), result, in.weight_hh, Lengths::full(0, 3), backward);
    CHECK(gradient.h0.shape() == Shape{3, 2});
    Lengths none = Lengths::full(2, 0);
    result = run(random_inputs(2, 0, 2, DType::f32), none, backward);
    CHECK(gru_backward(zeros({2, 0, 2}), result, in.weight_hh, none, backward).h0.size() == 0);
    CHECK(run(random_inputs(2, 3, 0, DType::f32), Lengths::full(2, 3), backward).states.size() ==
          0);
  }
}

// <states, g> as a number, to be differentiated.
double projection(const Inputs& in, const Lengths& lengths, bool backward, const Tensor& g) {
  return inner_product(outputs(run(in, lengths, backward), backward), g);
}

// d projection / d one of the inputs, by central differences.
Tensor numeric_gradient(Inputs in, Tensor Inputs::*member, const Lengths& lengths, bool backward,
                        const Tensor& g) {
  const double step = 1e-5;
  Tensor result(Shape((in.*member).shape()), DType::f64);
  for (Index i = 0; i < result.size(); ++i) {
    double& x = (in.*member).mutable_data<double>()[i];
    double before = x;
    x = before + step;
    double above = projection(in, lengths, backward, g);
    (in.*member).mutable_data<double>()[i] = before - step;
    double below = projection(in, lengths, backward, g);
    (in.*member).mutable_data<double>()[i] = before;
    result.mutable_data<double>()[i] = (above - below) / (2 * step);
  }
  return result;
}

TEST_CASE("gru_backward is the gradient") {
  for (const Lengths& lengths : {some_lengths, Lengths::full(4, 4)}) {
    for (bool backward : {false, true}) {
      Inputs in = random_inputs(4, 4, 3, DType::f64);
      Tensor g = random_tensor({4, 4, 3}, DType::f64, 9);
      Gru saved = run(in, lengths, backward);
      GruGradient gradient = gru_backward(g, saved, in.weight_hh, lengths, backward);
      auto numeric = [&](Tensor Inputs::*member) {
        return numeric_gradient(in, member, lengths, backward, g);
      };
      CHECK(difference(gradient.from_input, numeric(&Inputs::from_input)) < 1e-8);
      CHECK(difference(gradient.h0, numeric(&Inputs::h0)) < 1e-8);
      // The weight's gradient is the outer product with the states before each step.
      Tensor before = backward ? saved.states.narrow(1, 5) : saved.states.narrow(0, 4);
      OuterProduct product{gradient.from_hidden, before};
      CHECK(difference(sum_outer_products({&product, 1}), numeric(&Inputs::weight_hh)) < 1e-8);
      CHECK(difference(sum_to(gradient.from_hidden, {9}), numeric(&Inputs::bias_hh)) < 1e-8);
    }
  }
}

TEST_CASE_TEMPLATE("garbage in padding changes no bit of gru", T, float, double) {
  Inputs in = random_inputs(4, 4, 5, dtype_of<T>());
  Tensor g = random_tensor({4, 4, 5}, dtype_of<T>(), 9);
  for (bool backward : {false, true}) {
    Gru clean = run(in, some_lengths, backward);
    GruGradient wanted = gru_backward(g, clean, in.weight_hh, some_lengths, backward);
    for (double garbage : {1e3, static_cast<double>(NAN)}) {
      Inputs spoilt = in;
      spoilt.from_input = with_padding(in.from_input, some_lengths, garbage);
      Gru result = run(spoilt, some_lengths, backward);
      CHECK(identical(result.states, clean.states));
      result.kept = with_padding(result.kept, some_lengths, garbage);
      GruGradient gradient = gru_backward(g, result, in.weight_hh, some_lengths, backward);
      CHECK(identical(gradient.from_input, wanted.from_input));
      CHECK(identical(gradient.from_hidden, wanted.from_hidden));
      CHECK(identical(gradient.h0, wanted.h0));
    }
    CHECK(identical(masked_fill(wanted.from_input, some_lengths, 0), wanted.from_input));
  }
}

TEST_CASE("a sequence is the same alone and among others") {
  Inputs in = random_inputs(4, 4, 5, DType::f64);
  for (bool backward : {false, true}) {
    Tensor together = outputs(run(in, some_lengths, backward), backward);
    for (Index b = 0; b < 4; ++b) {
      Index length = some_lengths[b];
      Inputs alone = in;
      alone.from_input = slice(in.from_input.narrow(0, length), 1, b, b + 1).clone();
      alone.h0 = in.h0.narrow(b, b + 1);
      Tensor states = outputs(run(alone, Lengths::full(length, 1), backward), backward);
      CHECK(difference(slice(together.narrow(0, length), 1, b, b + 1), states) < 1e-13);
    }
  }
}

TEST_CASE_TEMPLATE("gru_gates is one step, and its gradient", T, float, double) {
  const double tolerance = sizeof(T) == 4 ? 1e-5 : 1e-13;
  Inputs in = random_inputs(1, 3, 5, dtype_of<T>());
  Lengths lengths = Lengths::full(1, 3);
  Gru sequence = run(in, lengths, false);
  Tensor from_hidden = linear(in.h0, in.weight_hh, &in.bias_hh);
  GruGates step = gru_gates(in.from_input[0], from_hidden, in.h0);
  CHECK(difference(step.h, sequence.states[1]) < tolerance);
  CHECK(difference(step.kept, sequence.kept[0]) < tolerance);
  Tensor g = random_tensor({1, 3, 5}, dtype_of<T>(), 9);
  GruGradient wanted = gru_backward(g, sequence, in.weight_hh, lengths, false);
  GruGatesGradient gradient = gru_gates_backward(g[0], step.kept, in.h0);
  CHECK(difference(gradient.from_input, wanted.from_input[0]) < tolerance);
  CHECK(difference(gradient.from_hidden, wanted.from_hidden[0]) < tolerance);
  accumulate(gradient.h, matmul(gradient.from_hidden, in.weight_hh));
  CHECK(difference(gradient.h, wanted.h0) < tolerance);
}

TEST_CASE("inputs of gru that do not fit are errors") {
  Lengths lengths = Lengths::full(2, 3);
  auto message = [&](auto change) {
    Inputs in{zeros({2, 3, 12}), zeros({3, 4}), zeros({12, 4}), zeros({12})};
    change(in);
    return message_of([&] { run(in, lengths, false); });
  };
  CHECK(message([](Inputs&) {}) == "");
  CHECK(message([](Inputs& in) {
          in.from_input = zeros({2, 3, 4});
        }) == "gru: the input part of the gates has shape [2, 3, 4], not [2, 3, 12]");
  CHECK(message([](Inputs& in) { in.h0 = zeros({4}); }) ==
        "gru: the initial state has shape [4], not [3, 4]");
  CHECK(message([](Inputs& in) { in.weight_hh = zeros({12}); }) ==
        "gru: weight_hh has shape [12], not [3H, H]");
  CHECK(message([](Inputs& in) {
          in.weight_hh = zeros({8, 4});
        }) == "gru: weight_hh has shape [8, 4], not [12, 4]");
  CHECK(message([](Inputs& in) { in.bias_hh = zeros({4}); }) ==
        "gru: bias_hh has shape [4], not [12]");
  CHECK(message([](Inputs& in) {
          in.h0 = zeros({3, 4}, DType::f64);
        }) == "gru: f32 [2, 3, 12] with f64 [3, 4]; convert one of them with to()");
}

TEST_CASE("inputs of gru_gates that do not fit are errors") {
  Tensor gates = zeros({3, 12}), h = zeros({3, 4});
  auto message = [&](const Tensor& x, const Tensor& y, const Tensor& state) {
    return message_of([&] { gru_gates(x, y, state); });
  };
  CHECK(message(gates, gates, h) == "");
  CHECK(message(gates, gates, zeros({4})) ==
        "gru_gates: the state has shape [4], not [batch, size]");
  CHECK(message(zeros({3, 4}), gates, h) ==
        "gru_gates: the input part of the gates has shape [3, 4], not [3, 12]");
  CHECK(message(gates, zeros({2, 12}), h) ==
        "gru_gates: the hidden part of the gates has shape [2, 12], not [3, 12]");
  CHECK(message(gates, gates, zeros({3, 4}, DType::f64)) ==
        "gru_gates: f32 [3, 12] with f64 [3, 4]; convert one of them with to()");
  CHECK(message(gates, zeros({3, 12}, DType::f64), h) != "");
}

}  // namespace
}  // namespace regrad::ops
