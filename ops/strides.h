#pragma once

#include <array>

#include "ops/shape.h"

namespace regrad::ops {

// How to walk one array in the order of another shape: a stride per dimension, in elements.
struct Strides : std::array<Index, Shape::max_rank> {};

inline Strides contiguous_strides(const Shape& shape) {
  Strides strides{};
  Index step = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[static_cast<std::size_t>(axis)] = step;
    step *= shape[axis];
  }
  return strides;
}

// Strides of `from` seen as `to`, which it broadcasts to: 0 along repeated dimensions.
inline Strides broadcast_strides(const Shape& from, const Shape& to) {
  Strides own = contiguous_strides(from), strides{};
  for (int axis = 1; axis <= from.rank(); ++axis) {
    if (from[-axis] == 1) continue;
    strides[static_cast<std::size_t>(to.rank() - axis)] =
        own[static_cast<std::size_t>(from.rank() - axis)];
  }
  return strides;
}

// Calls f(offsets, steps, n) for every innermost run of `shape`, in order, with an offset and a
// step per array; dimensions that all arrays walk as one are merged first, so that runs are long.
template <std::size_t arrays, class F>
void for_each_run(const Shape& shape, const std::array<Strides, arrays>& strides, const F& f) {
  using PerArray = std::array<Index, arrays>;
  std::array<Index, Shape::max_rank> dims{}, at{};
  std::array<PerArray, Shape::max_rank> steps{};
  std::size_t rank = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    auto axis = static_cast<std::size_t>(i);
    if (shape[i] == 1) continue;
    bool merges = rank > 0;
    for (std::size_t k = 0; k < arrays; ++k) {
      merges = merges && steps[rank - 1][k] == strides[k][axis] * shape[i];
    }
    if (!merges) ++rank;
    dims[rank - 1] = merges ? dims[rank - 1] * shape[i] : shape[i];
    for (std::size_t k = 0; k < arrays; ++k) steps[rank - 1][k] = strides[k][axis];
  }
  if (shape.size() == 0) return;
  PerArray offsets{};
  if (rank == 0) {
    steps[0].fill(1);
    return f(offsets, steps[0], Index{1});
  }
  for (;;) {
    f(offsets, steps[rank - 1], dims[rank - 1]);
    std::size_t axis = rank - 1;
    for (;;) {  // the next run: count up like an odometer
      if (axis == 0) return;
      --axis;
      bool carries = ++at[axis] == dims[axis];
      Index moved = carries ? 1 - dims[axis] : 1;
      for (std::size_t k = 0; k < arrays; ++k) offsets[k] += moved * steps[axis][k];
      if (!carries) break;
      at[axis] = 0;
    }
  }
}

// For two arrays: f(offset_a, offset_b, step_a, step_b, n).
template <class F>
void for_each_run(const Shape& shape, const Strides& a, const Strides& b, const F& f) {
  for_each_run(shape, std::array{a, b}, [&](const auto& offsets, const auto& steps, Index n) {
    f(offsets[0], offsets[1], steps[0], steps[1], n);
  });
}

}  // namespace regrad::ops
