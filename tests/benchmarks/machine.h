#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <vector>

#include "tests/benchmarks/workload.h"

// What one thread of this machine can do.
namespace bench {

// Median duration of a call of f in seconds, over samples of at least 0.2 ms that take about
// `budget` seconds together.
template <class F>
double seconds(const F& f, double budget = 0.2) {
  using Clock = std::chrono::steady_clock;
  const auto sample = [&f](int calls) {
    const auto begin = Clock::now();
    for (int i = 0; i < calls; ++i) {
      f();
      std::atomic_signal_fence(std::memory_order_seq_cst);  // a call may not stand for the next
    }
    return std::chrono::duration<double>(Clock::now() - begin).count() / calls;
  };
  sample(1);
  const double once = std::max(sample(1), 1e-9);
  const int calls = std::max(1, static_cast<int>(2e-4 / once));
  const auto count = static_cast<std::size_t>(std::max(5.0, budget / (once * calls)));
  std::vector<double> times(count);
  for (double& time : times) time = sample(calls);
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(count / 2);
  std::ranges::nth_element(times, middle);
  return *middle;
}

// Seconds per element of the fastest way known here, the operands in the first cache.
struct FunctionRates {
  double tanh, sigmoid, exp;
};
FunctionRates measure_functions();

// Seconds per number of operands that no cache holds.
struct MemoryRates {
  double stream;  // two numbers read and one written, a third of it each
  double read;
  double adam;  // one parameter
};
MemoryRates measure_memory();

// op(A) [m, k] times op(B) [k, n], `count` times.
struct Product {
  Index m, n, k;
  bool a_transposed, b_transposed;
  Index count;
};
// Seconds of one such product by OpenBLAS; of one row, by the faster of sgemm and sgemv.
double measure(const Product& product);

// Seconds of the products of greedy decoding, in the order in which they are needed, for sentences
// and outputs of w.time words.
double measure_decoding(const Workload& w, Index batch);

}  // namespace bench
