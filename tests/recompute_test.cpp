#include "autograd/recompute.h"

#include <algorithm>
#include <span>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "autograd/functions.h"
#include "nn/gru.h"

using namespace regrad;

namespace {

struct Chain {
  Rng rng{3};
  GRUCell cell{8, 16, rng, DType::f64};
  Tensor x = normal({4, 8}, 0, 1, rng, DType::f64);
  Tensor h0 = normal({4, 16}, 0, 1, rng, DType::f64);

  Var steps(Var h, int count) const {
    for (int i = 0; i < count; ++i) h = cell(Var(x), h);
    return h;
  }
  Var whole(const Var& h, int count) const { return steps(h, count); }
  Var in_pieces(Var h, int pieces, int length) const {
    for (int i = 0; i < pieces; ++i) {
      h = recompute(
          [this, length](std::span<const Var> inputs) { return steps(inputs[0], length); }, {h});
    }
    return h;
  }
};

struct Outcome {
  std::vector<std::vector<double>> gradients;
  double value;
  std::int64_t peak;
};

template <class F>
Outcome differentiate(const Chain& chain, const F& f) {
  release_pool();
  std::int64_t before = pool_stats().bytes_in_use;
  Tape tape;
  Var h0 = tape.variable(chain.h0);
  Var loss = mean(square(f(h0)));
  Gradients gradients = tape.backward(loss);
  Outcome outcome{{gradients[h0].to_vector()}, loss.item(), 0};
  for (const Parameter& p : parameter_list(chain.cell)) {
    outcome.gradients.push_back(gradients[p].to_vector());
  }
  outcome.peak = pool_stats().peak_bytes_in_use - before;
  return outcome;
}

}  // namespace

TEST_CASE("recompute: the same value and gradients, parameters' too, in a fraction of the memory") {
  Chain chain;
  Outcome whole = differentiate(chain, [&](const Var& h) { return chain.whole(h, 1000); });
  Outcome pieces = differentiate(chain, [&](const Var& h) { return chain.in_pieces(h, 32, 31); });
  Outcome same = differentiate(chain, [&](const Var& h) { return chain.whole(h, 32 * 31); });
  CHECK(pieces.value == same.value);
  for (std::size_t i = 0; i < same.gradients.size(); ++i) {
    double largest = 0, difference = 0;
    for (std::size_t k = 0; k < same.gradients[i].size(); ++k) {
      largest = std::max(largest, std::abs(same.gradients[i][k]));
      difference = std::max(difference, std::abs(same.gradients[i][k] - pieces.gradients[i][k]));
    }
    CHECK(difference <= 1e-12 * std::max(largest, 1e-3));
  }
  MESSAGE("peak memory with recompute over peak without: " << static_cast<double>(pieces.peak) /
                                                                  static_cast<double>(whole.peak));
  CHECK(static_cast<double>(pieces.peak) <= 0.15 * static_cast<double>(whole.peak));
}

TEST_CASE("recompute nests, and without a tape it just computes") {
  Parameter w(scalar(1.5, DType::f64));
  auto inner = [&](std::span<const Var> x) { return x[0] * Var(w); };
  auto outer = [&](std::span<const Var> x) {
    return recompute(inner, {x[0]}) * recompute(inner, {x[0]});
  };
  CHECK(recompute(outer, {Var(scalar(2, DType::f64))}).item() == 9);
  Tape tape;
  Var x = tape.variable(scalar(2, DType::f64));
  Gradients gradients = tape.backward(recompute(outer, {x}));
  CHECK(gradients[x].item() == 9);
  CHECK(gradients[w].item() == 12);
}

TEST_CASE("recompute: several inputs, some of them constant") {
  Tape tape;
  Var x = tape.variable(tensor({1, 2}, DType::f64)), y = tape.variable(tensor({3, 4}, DType::f64));
  Var constant(tensor({5, 6}, DType::f64));
  Var z = recompute([](std::span<const Var> v) { return v[0] * v[1] * v[2]; }, {x, constant, y});
  Gradients gradients = tape.backward(sum(z));
  CHECK(gradients[x].to_vector() == std::vector<double>{15, 24});
  CHECK(gradients[y].to_vector() == std::vector<double>{5, 12});
}

TEST_CASE("recompute: a value from outside that is no input is an error") {
  Tape tape;
  Var x = tape.variable(scalar(2));
  CHECK_THROWS_WITH_AS(recompute([&](std::span<const Var> v) { return v[0] * x; }, {x}),
                       doctest::Contains("another tape"), Error);
}

TEST_CASE("a parameter written after recompute keeps its old value for backward") {
  Parameter w(scalar(3, DType::f64));
  Tape tape;
  Var x = tape.variable(scalar(2, DType::f64));
  Var y = recompute([&](auto inputs) { return inputs[0] * Var(w); }, {x});
  w.mutable_value().mutable_data<double>()[0] = 100;
  Gradients gradients = tape.backward(y);
  CHECK(gradients[x].item() == 3);
  CHECK(gradients[w].item() == 2);
  CHECK(w.value().item() == 100);
}

TEST_CASE("so do those of nested pieces and of what f computes aside") {
  Parameter w(scalar(3, DType::f64));
  auto inner = [&](std::span<const Var> inputs) { return inputs[0] * Var(w); };
  auto outer = [&](std::span<const Var> inputs) {
    Var y = recompute(inner, {inputs[0]}) * Var(w);
    const Paused paused;
    const Var aside = w;
    CHECK(aside.item() == 3);
    return y;
  };
  Tape tape;
  Var x = tape.variable(scalar(2, DType::f64));
  Var y = recompute(outer, {x});
  w.assign(scalar(100, DType::f64));
  Gradients gradients = tape.backward(y);
  CHECK(gradients[x].item() == 9);
  CHECK(gradients[w].item() == 12);
}

TEST_CASE("backward leaves the parameters alone while it runs") {
  Parameter w(scalar(3, DType::f64));
  std::vector<double> seen;
  Tape tape;
  Var x = tape.variable(scalar(2, DType::f64));
  Var y = recompute(
      [&](auto inputs) {
        seen.push_back(w.value().item());
        return inputs[0] * Var(w);
      },
      {x});
  w.assign(scalar(100, DType::f64));
  CHECK(tape.backward(y)[x].item() == 3);
  CHECK(seen == std::vector<double>{3, 100});
}

TEST_CASE("threads that share a module recompute side by side") {
  const Chain chain;
  const auto pieces = [&] {
    Tape tape;
    Var h0 = tape.variable(chain.h0);
    Gradients gradients = tape.backward(sum(square(chain.in_pieces(h0, 8, 3))));
    std::vector<Tensor> result{gradients[h0]};
    for (const Parameter& p : parameter_list(chain.cell)) result.push_back(gradients[p]);
    return result;
  };
  const std::vector<Tensor> alone = pieces();
  const auto same = [&] {
    const std::vector<Tensor> result = pieces();
    return std::equal(result.begin(), result.end(), alone.begin(), alone.end(), identical);
  };
  bool all_same[3] = {};
  std::vector<std::thread> threads;
  for (bool& result : all_same) {
    threads.emplace_back([&] {
      result = true;
      for (int again = 0; again < 100; ++again) result = same() && result;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const bool result : all_same) CHECK(result);
}

TEST_CASE("a function that draws anew is an error") {
  Rng rng(1);
  Tape tape;
  Var x = tape.variable(ones({50}));
  Var y = recompute([&](auto inputs) { return dropout(inputs[0], 0.5, rng); }, {x});
  CHECK_THROWS_WITH_AS(tape.backward(sum(y)), doctest::Contains("another value"), Error);
}

TEST_CASE("check_finite sees into a recomputed function") {
  Tape tape{{.check_finite = true}};
  Var x = tape.variable(zeros({2}));
  CHECK_THROWS_WITH_AS(recompute([](auto inputs) { return exp(log(inputs[0])); }, {x}),
                       doctest::Contains("check_finite: log"), Error);
}
