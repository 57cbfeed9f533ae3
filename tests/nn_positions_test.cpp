#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "autograd/functions.h"
#include "autograd/gradcheck.h"
#include "nn/layer_norm.h"
#include "nn/positions.h"
#include "tests/nn_check.h"

namespace regrad {
namespace {

using testing::contains;
using testing::difference;
using testing::message_of;

}  // namespace

TEST_CASE("sinusoidal positions are those of the paper") {
  for (const Index size : {6, 5, 1}) {
    const Tensor table = sinusoidal(40, size, DType::f64);
    CHECK(table.shape() == Shape{40, size});
    for (Index t = 0; t < 40; ++t) {
      for (Index column = 0; column < size; ++column) {
        const double i = static_cast<double>(column / 2);
        const double angle =
            static_cast<double>(t) / std::pow(10000, 2 * i / static_cast<double>(size));
        CHECK(table.at({t, column}) ==
              doctest::Approx(column % 2 == 0 ? std::sin(angle) : std::cos(angle)).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("positions of later steps are a part of all") {
  Rng rng(1);
  const Tensor x = normal({6, 2, 4}, 0, 1, rng, DType::f64);
  for (const char* name : {"sinusoidal", "learned"}) {
    const auto positions = make_positions(name, 6, 4, rng, DType::f64);
    const Var all = (*positions)(x);
    CHECK_FALSE(identical(all.value(), x));
    CHECK(identical((*positions)(slice(Var(x), 0, 2, 5), 2).value(), slice(all, 0, 2, 5).value()));
    CHECK((*positions)(slice(Var(x), 0, 0, 0)).shape() == Shape{0, 2, 4});
  }
}

TEST_CASE("gradients of learned positions are right, each added up over the batch") {
  Rng rng(1);
  const LearnedPositions positions(5, 3, rng, DType::f64);
  const Tensor x = normal({3, 2, 3}, 0, 1, rng, DType::f64);
  const auto report = gradcheck([&] { return tanh(positions(x, 1)); }, parameter_list(positions));
  CHECK_MESSAGE(report.passed, report.to_string());
  CHECK(parameter_list(SinusoidalPositions()).empty());
}

TEST_CASE("errors of positions name the step") {
  Rng rng(1);
  const LearnedPositions learned(4, 3, rng);
  CHECK(contains(message_of([&] {
                   learned(zeros({5, 1, 3}));
                 }),
                 "5 steps from 0 on are not among the 4 learned ones"));
  CHECK(contains(message_of([&] { learned(zeros({1, 1, 3}), 4); }), "from 4 on"));
  CHECK(contains(message_of([&] { learned(zeros({1, 1, 3}), -1); }), "from -1 on"));
  const Index last = std::numeric_limits<Index>::max();
  CHECK(contains(message_of([&] { learned(zeros({2, 1, 3}), last); }), "2 steps from 9223372"));
  CHECK(contains(message_of([&] { sinusoidal(2, 3, DType::f32, last); }), "are no positions"));
  CHECK(contains(message_of([&] {
                   SinusoidalPositions()(zeros({2, 1, 3}), last);
                 }),
                 "2 steps from 9223372036854775807 on"));
  CHECK(contains(message_of([&] { learned(zeros({2, 1, 5})); }), "[2, 1, 5] does not fit"));
  CHECK(contains(message_of([&] { SinusoidalPositions()(zeros({2, 5})); }), "[T, B, E]"));
  CHECK(contains(message_of([&] { LearnedPositions(0, 3, rng); }), "longest must be at least 1"));
  CHECK(contains(message_of([&] { LearnedPositions(3, 0, rng); }), "size must be at least 1"));
  CHECK(contains(message_of([&] { sinusoidal(2, 0); }), "size must be at least 1"));
  CHECK(contains(message_of([&] { sinusoidal(-1, 2); }), "no positions"));
  CHECK(contains(message_of([&] { sinusoidal(1, 2, DType::f32, -1); }), "no positions"));
  CHECK(contains(message_of([&] { make_positions("rotary", 4, 3, rng); }),
                 "unknown kind `rotary`; known: learned, sinusoidal"));
}

TEST_CASE("the layer norm is the function's, with PyTorch's names") {
  Rng rng(1);
  const LayerNorm norm(3, DType::f64, 0.1);
  const auto named = parameters(norm);
  REQUIRE(named.size() == 2);
  CHECK((named[0].path == "weight" && named[1].path == "bias"));
  norm.weight.assign(tensor({2, -1, 0.5}, DType::f64));
  norm.bias.assign(tensor({1, 0, -3}, DType::f64));
  const Tensor x = normal({2, 2, 3}, 0, 1, rng, DType::f64);
  CHECK(identical(norm(x).value(), layer_norm(x, norm.weight, norm.bias, 0.1).value()));
  const auto report = gradcheck([&] { return norm(x); }, parameter_list(norm));
  CHECK_MESSAGE(report.passed, report.to_string());
  CHECK(contains(message_of([] { LayerNorm(0); }), "size must be at least 1"));
  CHECK(contains(message_of([] { LayerNorm(3, DType::f32, 0); }), "epsilon 0 is not above 0"));
}

}  // namespace regrad
