// What fusing layer_norm saves over its composed twin: forward and backward of [1280, 512] floats,
// with weight and bias. Prints milliseconds, the median of many runs.
#include <algorithm>
#include <chrono>
#include <vector>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "nn/composed.h"

using namespace regrad;

namespace {

template <class F>
double milliseconds(const F& f) {
  Rng rng(1);
  Tensor x = normal({1280, 512}, 0, 1, rng), weight = ones({512}), bias = zeros({512});
  std::vector<double> times;
  for (int run = 0; run < 120; ++run) {
    auto begin = std::chrono::steady_clock::now();
    Tape tape;
    Var y = f(tape.variable(x), tape.variable(weight), tape.variable(bias));
    Gradients gradients = tape.backward(y, x);
    std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    if (run >= 20) times.push_back(time.count());
  }
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
  return times[times.size() / 2] * 1e3;
}

}  // namespace

int main() {
  fmt::print("fused {:.2f} ms\n", milliseconds([](const Var& x, const Var& w, const Var& b) {
               return layer_norm(x, w, b);
             }));
  fmt::print("composed {:.2f} ms\n", milliseconds([](const Var& x, const Var& w, const Var& b) {
               return layer_norm_composed(x, w, b);
             }));
}
