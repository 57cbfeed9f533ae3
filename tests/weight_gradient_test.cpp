#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "autograd/functions.h"
#include "autograd/tape.h"

using namespace regrad;

TEST_CASE("weight gradients gathered into one product equal the naive sum") {
  Rng rng(7);
  Parameter weight(normal({4, 3}, 0, 1, rng, DType::f64));
  std::vector<Tensor> inputs, factors;
  for (int t = 0; t < 6; ++t) {
    inputs.push_back(normal({2, 3}, 0, 1, rng, DType::f64));
    factors.push_back(normal({2, 4}, 0, 1, rng, DType::f64));
  }
  auto loss = [&](auto apply) {
    Var total = scalar(0, DType::f64);
    for (std::size_t t = 0; t < inputs.size(); ++t) {
      total = total + sum(apply(Var(inputs[t])) * Var(factors[t]));
    }
    return total;
  };
  Tape gathered;
  Tensor one = gathered.backward(loss([&](const Var& x) { return linear(x, weight); }))[weight];
  Tape naive;
  Tensor many =
      naive.backward(loss([&](const Var& x) { return matmul(x, weight, NoTrans, Trans); }))[weight];
  for (std::size_t i = 0; i < 12; ++i) {
    CHECK(one.to_vector()[i] == doctest::Approx(many.to_vector()[i]).epsilon(1e-12));
  }
}

namespace {

// 24 terms of 64 rows, 256 kB and more each: more than are kept until the end.
void check_large_terms(Index outputs, Index inputs) {
  CAPTURE(outputs);
  Rng rng(8);
  Parameter weight(normal({outputs, inputs}, 0, 1, rng));
  const Tensor x = normal({24 * 64, inputs}, 0, 1, rng);
  const Tensor factor = normal({24 * 64, outputs}, 0, 1, rng);
  Tape stepwise;
  std::vector<Var> products;
  for (Index t = 0; t < 24; ++t) {
    products.push_back(linear(Var(x.narrow(64 * t, 64 * (t + 1))), weight));
  }
  const Tensor gradient = stepwise.backward(sum(concat(products, 0) * Var(factor)))[weight];
  Tape whole;
  const Tensor wanted = whole.backward(sum(linear(Var(x), weight) * Var(factor)))[weight];
  for (Index i = 0; i < wanted.size(); ++i) {
    CHECK(std::abs(gradient.data<float>()[i] - wanted.data<float>()[i]) < 1e-3);
  }
}

}  // namespace

TEST_CASE("large terms of a weight's gradient are multiplied as they come, and sum up to it") {
  check_large_terms(1024, 24);
  check_large_terms(24, 1024);
}

// As of the energies of an attention: what a term keeps is nearly all input.
TEST_CASE("the inputs of a narrow product are free again before the walk ends") {
  constexpr Index steps = 64, rows = 64, inputs = 1024;
  Rng rng(10);
  Parameter weight(normal({1, inputs}, 0, 1, rng));
  Tape tape;
  Var total = tape.variable(zeros({1}));
  Var x = tape.variable(normal({rows, inputs}, 0, 1, rng));
  for (Index t = 0; t < steps; ++t) {
    x = x * 0.5;
    total = total + sum(linear(x, weight));
  }
  x = Var();
  release_pool();  // the peak begins here
  const std::int64_t before = pool_stats().bytes_in_use;
  (void)tape.backward(sum(total));
  constexpr std::int64_t all = steps * rows * inputs * 4;
  CHECK(before > all);
  CHECK(pool_stats().peak_bytes_in_use < before + all / 2);
}

TEST_CASE("what a product keeps of its input is free before the gradient of that input comes") {
  constexpr Index rows = 4096, outputs = 128, inputs = 512;
  Rng rng(9);
  Tape tape;
  const Var x = tape.variable(normal({rows, inputs}, 0, 1, rng));
  const Var weight = tape.variable(normal({outputs, inputs}, 0, 1, rng));
  Var y;
  {
    const Var features = x * 2;  // only the product needs their values
    y = sum(linear(features, weight));
  }
  release_pool();  // the peak begins here
  const std::int64_t before = pool_stats().bytes_in_use;
  const Gradients gradients = tape.backward(y);
  CHECK(gradients[x].size() == rows * inputs);
  const std::int64_t bytes_of_features = rows * inputs * 4;
  // The gradients of features and of x, less the features.
  CHECK(pool_stats().peak_bytes_in_use < before + bytes_of_features * 5 / 4);
}
