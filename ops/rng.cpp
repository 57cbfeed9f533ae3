#include "ops/rng.h"

#include <cmath>
#include <numbers>

namespace regrad {
namespace {

std::array<std::uint32_t, 4> philox(std::uint64_t counter, std::uint64_t stream,
                                    std::uint64_t seed) {
  auto low = [](std::uint64_t v) { return static_cast<std::uint32_t>(v); };
  auto high = [](std::uint64_t v) { return static_cast<std::uint32_t>(v >> 32); };
  std::array<std::uint32_t, 4> c{low(counter), high(counter), low(stream), high(stream)};
  std::uint32_t k0 = low(seed), k1 = high(seed);
  for (int round = 0; round < 10; ++round) {
    std::uint64_t a = std::uint64_t{0xD2511F53} * c[0], b = std::uint64_t{0xCD9E8D57} * c[2];
    c = {high(b) ^ c[1] ^ k0, low(b), high(a) ^ c[3] ^ k1, low(a)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c;
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
  std::uint64_t index = state_.position / 4;
  if (index != block_index_) {
    block_ = philox(index, state_.stream, state_.seed);
    block_index_ = index;
  }
  return block_[state_.position++ % 4];
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
