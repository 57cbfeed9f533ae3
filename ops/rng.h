#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "ops/tensor.h"

namespace regrad {

// Counter-based random numbers, Philox4x32-10 (Salmon, Moraes, Dror and Shaw 2011): the n-th number
// of a (seed, stream) pair is a pure function of n, so that a state is three integers and two
// streams never touch. The caller owns it and passes it on.
class Rng {
 public:
  struct State {
    std::uint64_t seed = 0, stream = 0, position = 0;
    friend bool operator==(const State&, const State&) = default;
  };

  explicit Rng(std::uint64_t seed, std::uint64_t stream = 0) : state_{seed, stream, 0} {}
  explicit Rng(const State& state) : state_(state) {}

  std::uint32_t bits();                      // uniform on 32 bits
  void bits(std::span<std::uint32_t> out);   // the same numbers as one by one, but faster
  std::uint64_t below(std::uint64_t bound);  // uniform on [0, bound), without bias; bound > 0
  double uniform();                          // [0, 1), 53 bits
  double normal();                           // mean 0, variance 1

  // Another stream of the same seed.
  Rng split(std::uint64_t stream) const {
    return Rng(state_.seed, (state_.stream + 1) * 0x9E3779B97F4A7C15u + stream);
  }
  const State& state() const { return state_; }

  template <class T>
  void shuffle(std::span<T> items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  static constexpr std::size_t ahead = 64;  // numbers drawn at once

  State state_;
  std::array<std::uint32_t, ahead> drawn_{};  // from position ahead · drawn_index_ on
  std::uint64_t drawn_index_ = ~std::uint64_t{0};
};

Tensor uniform(const Shape& shape, double low, double high, Rng& rng, DType dtype = DType::f32);
Tensor normal(const Shape& shape, double mean, double deviation, Rng& rng,
              DType dtype = DType::f32);

}  // namespace regrad
