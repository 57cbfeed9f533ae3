#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "nn_check.h"
#include "ops/rng.h"
#include "ops/tensor.h"

// What the tests of ops/ need: random tensors and naive references.
namespace regrad::testing {

inline Tensor random_tensor(const Shape& shape, DType dtype = DType::f32, std::uint64_t seed = 1) {
  Rng rng(seed, static_cast<std::uint64_t>(shape.size()));
  return normal(shape, 0, 1, rng, dtype);
}

// <x, y>, in double.
inline double inner_product(const Tensor& x, const Tensor& y) {
  std::vector<double> a = x.to_vector(), b = y.to_vector();
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// log Σ exp(x) without overflow.
inline long double log_sum_exp(const std::vector<double>& x) {
  long double top = -INFINITY, sum = 0;
  for (const double v : x) top = std::max(top, static_cast<long double>(v));
  for (const double v : x) sum += std::exp(v - top);
  return top + std::log(sum);
}

// The multi-index of a row-major position.
inline std::vector<Index> index_of(Index position, const Shape& shape) {
  std::vector<Index> index(static_cast<std::size_t>(shape.rank()));
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    index[static_cast<std::size_t>(axis)] = position % shape[axis];
    position /= shape[axis];
  }
  return index;
}

inline std::size_t position_of(const std::vector<Index>& index, const Shape& shape) {
  Index position = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    position = position * shape[axis] + index[static_cast<std::size_t>(axis)];
  }
  return static_cast<std::size_t>(position);
}

// Where the element of `to` at a position comes from in `from`, which broadcasts to it.
inline std::size_t source_of(Index position, const Shape& from, const Shape& to) {
  std::vector<Index> index = index_of(position, to);
  index.erase(index.begin(), index.begin() + (to.rank() - from.rank()));
  for (int axis = 0; axis < from.rank(); ++axis) {
    if (from[axis] == 1) index[static_cast<std::size_t>(axis)] = 0;
  }
  return position_of(index, from);
}

}  // namespace regrad::testing
