// What fusing a recurrent sequence saves over its composed twin: forward and backward of 30 steps
// of 64 sequences, 128 units, in floats. Prints milliseconds, the median of many runs.
#include <algorithm>
#include <chrono>
#include <vector>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "nn/composed.h"

using namespace regrad;

namespace {

constexpr Index time_steps = 30, batch = 64, size = 128;

struct Inputs {
  Var from_input, h0, c0, weight_hh, bias_hh;
};

template <class F>
double milliseconds(Index blocks, const F& f) {
  Rng rng(1);
  const auto draw = [&](const Shape& shape) { return uniform(shape, -0.1, 0.1, rng); };
  const Tensor x = draw({time_steps, batch, blocks * size}), h0 = draw({batch, size});
  const Tensor weight = draw({blocks * size, size}), bias = draw({blocks * size});
  std::vector<double> times;
  for (int run = 0; run < 30; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    Tape tape;
    const Var y = f(Inputs{tape.variable(x), tape.variable(h0), h0, tape.variable(weight),
                           tape.variable(bias)});
    const Gradients gradients = tape.backward(sum(y));
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    if (run >= 5) times.push_back(time.count());
  }
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
  return times[times.size() / 2] * 1e3;
}

template <class Fused, class Composed>
void compare(const char* name, Index blocks, const Fused& fused, const Composed& composed) {
  fmt::print("{}: fused {:.2f} ms, composed {:.2f} ms\n", name, milliseconds(blocks, fused),
             milliseconds(blocks, composed));
}

}  // namespace

int main() {
  const Lengths lengths = Lengths::full(time_steps, batch);
  const Direction forward = Direction::forward;
  compare(
      "rnn", 1,
      [&](const Inputs& in) {
        return rnn(in.from_input, in.h0, in.weight_hh, in.bias_hh, lengths, forward);
      },
      [&](const Inputs& in) {
        return rnn_composed(in.from_input, in.h0, in.weight_hh, in.bias_hh, lengths, forward);
      });
  compare(
      "gru", 3,
      [&](const Inputs& in) {
        return gru(in.from_input, in.h0, in.weight_hh, in.bias_hh, lengths, forward);
      },
      [&](const Inputs& in) {
        return gru_composed(in.from_input, in.h0, in.weight_hh, in.bias_hh, lengths, forward);
      });
  compare(
      "lstm", 4,
      [&](const Inputs& in) {
        return lstm(in.from_input, in.h0, in.c0, in.weight_hh, in.bias_hh, lengths, forward)[0];
      },
      [&](const Inputs& in) {
        return lstm_composed(in.from_input, in.h0, in.c0, in.weight_hh, in.bias_hh, lengths,
                             forward)[0];
      });
}
