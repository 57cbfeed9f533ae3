// What a recorded elementwise operation costs: a chain of 1,000 on 64 floats, forward and backward.
// Prints nanoseconds per operation, the median of many chains.
#include <algorithm>
#include <chrono>
#include <vector>

#include "autograd/functions.h"
#include "autograd/tape.h"

using namespace regrad;

namespace {

constexpr int operations = 1000;

template <class F>
double nanoseconds_per_operation(const F& f) {
  Rng rng(1);
  Tensor x0 = normal({64}, 0, 1, rng), y0 = normal({64}, 0, 1, rng);
  std::vector<double> times;
  for (int run = 0; run < 600; ++run) {
    auto begin = std::chrono::steady_clock::now();
    Tape tape;
    Var y = tape.variable(y0), z = tape.variable(x0);
    for (int i = 0; i < operations; ++i) z = f(z, y);
    Gradients gradients = tape.backward(sum(z));
    std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    if (run >= 100) times.push_back(time.count());
  }
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
  return times[times.size() / 2] / operations * 1e9;
}

}  // namespace

int main() {
  fmt::print("tanh {:.0f}\n",
             nanoseconds_per_operation([](const Var& x, const Var&) { return tanh(x); }));
  fmt::print("add {:.0f}\n",
             nanoseconds_per_operation([](const Var& x, const Var& y) { return x + y; }));
}
