#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "nn_check.h"

using namespace regrad;
using namespace regrad::testing;

namespace {

// Σ_k Σ_c W[o, c, k] x[t stride + k - padding, b, c] + b[o], term by term.
Tensor by_definition(const Tensor& x, const Tensor& weight, const Tensor& bias,
                     const Conv1dOptions& options) {
  const Index out = weight.shape()[0], in = weight.shape()[1], kernel = weight.shape()[2];
  const Index steps = (x.shape()[0] + 2 * options.padding - kernel) / options.stride + 1;
  std::vector<double> y;
  for (Index t = 0; t < steps; ++t) {
    for (Index b = 0; b < x.shape()[1]; ++b) {
      for (Index o = 0; o < out; ++o) {
        double sum = bias.at({o});
        for (Index k = 0; k < kernel; ++k) {
          const Index from = t * options.stride + k - options.padding;
          if (from < 0 || from >= x.shape()[0]) continue;
          for (Index c = 0; c < in; ++c) sum += weight.at({o, c, k}) * x.at({from, b, c});
        }
        y.push_back(sum);
      }
    }
  }
  return tensor(y, {steps, x.shape()[1], out}, x.dtype());
}

}  // namespace

TEST_CASE("conv1d equals its definition") {
  Rng rng(1);
  for (DType dtype : {DType::f32, DType::f64}) {
    for (Index steps : {1, 4, 7}) {
      for (Index kernel : {1, 2, 3}) {
        for (const Conv1dOptions options : {Conv1dOptions{1, 0}, {1, 1}, {2, 1}, {3, 2}, {2, 5}}) {
          if (kernel > steps + 2 * options.padding) continue;
          Tensor x = normal({steps, 2, 3}, 0, 1, rng, dtype);
          Tensor weight = normal({4, 3, kernel}, 0, 1, rng, dtype);
          Tensor bias = normal({4}, 0, 1, rng, dtype);
          const double tolerance = dtype == DType::f32 ? 1e-5 : 1e-13;
          CHECK(difference(conv1d(x, weight, bias, options).value(),
                           by_definition(x, weight, bias, options)) < tolerance);
          CHECK(difference(conv1d(x, weight, options).value(),
                           by_definition(x, weight, zeros({4}, dtype), options)) < tolerance);
        }
      }
    }
  }
}

TEST_CASE("conv1d of one step, one sequence, one channel; and of none") {
  CHECK(conv1d(full({1, 1, 1}, 3), full({1, 1, 1}, 2), full({1}, 1)).item() == 7);
  CHECK(conv1d(ones({0, 2, 1}), ones({3, 1, 3}), {.padding = 2}).value().to_vector() ==
        std::vector<double>(2 * 2 * 3, 0.0));
  CHECK(conv1d(ones({4, 0, 2}), ones({3, 2, 3})).shape() == Shape{2, 0, 3});
}

TEST_CASE("conv1d over sequences: filled with zeros before, padding changes nothing") {
  Rng rng(1);
  const Lengths lengths({4, 0, 2}, 4);
  const Tensor clean = with_padding(normal({4, 3, 2}, 0, 1, rng), lengths, 0);
  const Tensor weight = normal({2, 2, 3}, 0, 1, rng), bias = normal({2}, 0, 1, rng);
  std::vector<Tensor> results;
  for (const double garbage : {0.0, 1e3, double(NAN)}) {
    Tape tape;
    const Var x = tape.variable(with_padding(clean, lengths, garbage));
    const Var w = tape.variable(weight), b = tape.variable(bias);
    const Var y = conv1d(masked_fill(x, lengths, 0), w, b, {.padding = 1});
    const Gradients gradients = tape.backward(sum(square(masked_fill(y, lengths, 0))));
    for (const Tensor& result : {y.value(), gradients[x], gradients[w], gradients[b]}) {
      results.push_back(result);
    }
  }
  for (std::size_t i = 4; i < results.size(); ++i) CHECK(identical(results[i], results[i % 4]));
}

TEST_CASE("fold undoes unfold where windows do not overlap") {
  Rng rng(1);
  const Var x = normal({6, 2, 3}, 0, 1, rng);
  const Var windows = unfold(x, 2, {.stride = 2});
  CHECK(windows.shape() == Shape{3, 2, 2, 3});
  CHECK(windows.value().at({1, 0, 1, 2}) == x.value().at({3, 0, 2}));
  CHECK(identical(fold(windows, x.shape(), {.stride = 2}).value(), x.value()));
}

TEST_CASE("conv1d, unfold and fold name what does not fit") {
  const Var x = ones({3, 2, 4});
  CHECK(message_of([&] {
          (void)conv1d(x, ones({5, 3, 2}));
        }) ==
        "conv1d: input [3, 2, 4] and weight [5, 3, 2] do not fit; they are [time, batch, channels] "
        "and [channels out, channels in, kernel]");
  CHECK(message_of([&] {
          (void)conv1d(x, ones({5, 4, 6}), {.padding = 1});
        }) ==
        "conv1d: the kernel of 6 steps is longer than the 3 of shape [3, 2, 4] with padding 1");
  CHECK_THROWS_AS((void)conv1d(ones({3, 4}), ones({5, 4, 2})), Error);
  CHECK(message_of([&] {
          (void)conv1d(x, ones({5, 4, 2}), ones({4}));
        }) == "conv1d: bias [4] does not fit weight [5, 4, 2]; it is [channels out]");
  const Var wide = ones({5, 4, 2}, DType::f64), bias = ones({5}, DType::f64);
  CHECK(message_of([&] { (void)conv1d(x, wide); }).starts_with("conv1d: "));
  CHECK(message_of([&] { (void)conv1d(x, ones({5, 4, 2}), bias); }).starts_with("conv1d: "));
  CHECK_THROWS_AS((void)conv1d(x, ones({5, 4, 2}), {.stride = 0}), Error);
  CHECK_THROWS_AS((void)conv1d(x, ones({5, 4, 2}), {.padding = -1}), Error);
  CHECK_THROWS_AS((void)conv1d(x, ones({5, 4, 2}), {.padding = Index{1} << 62}), Error);
  CHECK_THROWS_AS((void)conv1d(x, ones({5, 4, 0})), Error);
  CHECK_THROWS_AS((void)unfold(ones({3, 4}), 2), Error);
  CHECK(message_of([&] {
          (void)fold(ones({3, 2, 2, 4}), {3, 2, 4});
        }) ==
        "fold: shape [3, 2, 2, 4] holds no windows of shape [3, 2, 4] with stride 1 and padding 0");
}
