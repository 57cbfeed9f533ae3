// What fusing scaled_dot_product_attention saves over its composed twin: forward and backward of 4
// heads over floats [50, 32, 256] of uneven lengths, causal. Prints milliseconds, the median of
// many runs.
#include <algorithm>
#include <chrono>
#include <vector>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "nn/composed_heads.h"

using namespace regrad;

namespace {

template <class F>
double milliseconds(const F& f) {
  Rng rng(1);
  const Tensor x = normal({50, 32, 256}, 0, 1, rng);
  std::vector<std::int32_t> sizes;
  for (std::int32_t b = 0; b < 32; ++b) sizes.push_back(19 + b);
  const Lengths lengths(sizes, 50);
  std::vector<double> times;
  for (int run = 0; run < 60; ++run) {
    auto begin = std::chrono::steady_clock::now();
    Tape tape;
    const Var y = f(tape.variable(x), tape.variable(x), tape.variable(x), lengths);
    Gradients gradients = tape.backward(y, x);
    std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    if (run >= 10) times.push_back(time.count());
  }
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
  return times[times.size() / 2] * 1e3;
}

}  // namespace

int main() {
  fmt::print("fused {:.2f} ms\n",
             milliseconds([](const Var& q, const Var& k, const Var& v, const Lengths& lengths) {
               return scaled_dot_product_attention(q, k, v, 4, lengths, {.causal = true}).context;
             }));
  fmt::print("composed {:.2f} ms\n",
             milliseconds([](const Var& q, const Var& k, const Var& v, const Lengths& lengths) {
               return scaled_dot_product_attention_composed(q, k, v, 4, lengths, true).context;
             }));
}
