#include "ops/rng.h"

#include <cmath>
#include <numbers>

#include "ops/simd/kernels.h"

namespace regrad {
namespace {

void draw_ahead(const Rng::State& state, std::uint64_t index, std::uint32_t* out) {
  ops::simd::kernels<float>().philox(state.seed, state.stream, index * ops::simd::philox_blocks,
                                     out);
}

template <class Draw>
Tensor draw_tensor(const Shape& shape, DType dtype, const Draw& draw) {
  Tensor result(shape, dtype);
  visit(dtype, [&](auto zero) {
    auto* values = result.mutable_data<decltype(zero)>();
    for (Index i = 0; i < result.size(); ++i) values[i] = static_cast<decltype(zero)>(draw());
  });
  return result;
}

}  // namespace

std::uint32_t Rng::bits() {
  static_assert(ahead == 4 * ops::simd::philox_blocks);
  const std::uint64_t index = state_.position / ahead;
  if (index != drawn_index_) {
    draw_ahead(state_, index, drawn_.data());
    drawn_index_ = index;
  }
  return drawn_[state_.position++ % ahead];
}

void Rng::bits(std::span<std::uint32_t> out) {
  while (!out.empty()) {
    if (state_.position % ahead == 0 && out.size() >= ahead) {
      draw_ahead(state_, state_.position / ahead, out.data());
      state_.position += ahead;
      out = out.subspan(ahead);
    } else {
      out.front() = bits();
      out = out.subspan(1);
    }
  }
}

std::uint64_t Rng::below(std::uint64_t bound) {
  if (bound == 0) fail("Rng::below: there is no number below 0");
  std::uint64_t last = ~std::uint64_t{0};
  std::uint64_t reject_above = last - (last % bound + 1) % bound;
  std::uint64_t value;
  do {
    value = std::uint64_t{bits()} << 32;
    value |= bits();
  } while (value > reject_above);
  return value % bound;
}

double Rng::uniform() {
  std::uint64_t value = std::uint64_t{bits()} << 32;
  value |= bits();
  return static_cast<double>(value >> 11) * 0x1p-53;
}

double Rng::normal() {  // Box and Muller (1958)
  double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

Tensor uniform(const Shape& shape, double low, double high, Rng& rng, DType dtype) {
  return draw_tensor(shape, dtype, [&] { return low + (high - low) * rng.uniform(); });
}

Tensor normal(const Shape& shape, double mean, double deviation, Rng& rng, DType dtype) {
  return draw_tensor(shape, dtype, [&] { return mean + deviation * rng.normal(); });
}

}  // namespace regrad
