#pragma once

#include <string>
#include <utility>

#include <benchmark/benchmark.h>

#include "ops/rng.h"

namespace bench {

inline regrad::Tensor random(const regrad::Shape& shape) {
  regrad::Rng rng(1);
  return uniform(shape, -0.1, 0.1, rng);
}

// Makes `f()` a benchmark whose items, per second, are elements of its result, or operations.
template <class F>
void add(const std::string& name, regrad::Index items, F f) {
  benchmark::RegisterBenchmark(name.c_str(), [items, f](benchmark::State& state) mutable {
    for (auto _ : state) benchmark::DoNotOptimize(f());
    state.SetItemsProcessed(state.iterations() * items);
  });
}

// Forward and backward of fused functions, each beside its composed twin.
void add_fused();

}  // namespace bench
