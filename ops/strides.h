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

// Calls f(offset_a, offset_b, step_a, step_b, n) for every innermost run of `shape`, in order;
// dimensions that both arrays walk as one are merged first, so that runs are long.
template <class F>
void for_each_run(const Shape& shape, const Strides& a, const Strides& b, const F& f) {
  std::array<Index, Shape::max_rank> dims{}, a_strides{}, b_strides{};
  std::size_t rank = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    auto axis = static_cast<std::size_t>(i);
    if (shape[i] == 1) continue;
    bool merges = rank > 0 && a_strides[rank - 1] == a[axis] * shape[i] &&
                  b_strides[rank - 1] == b[axis] * shape[i];
    if (!merges) ++rank;
    dims[rank - 1] = merges ? dims[rank - 1] * shape[i] : shape[i];
    a_strides[rank - 1] = a[axis];
    b_strides[rank - 1] = b[axis];
  }
  if (shape.size() == 0) return;
  if (rank == 0) return f(Index{0}, Index{0}, Index{1}, Index{1}, Index{1});
  std::array<Index, Shape::max_rank> at{};
  Index a_offset = 0, b_offset = 0;
  for (;;) {
    f(a_offset, b_offset, a_strides[rank - 1], b_strides[rank - 1], dims[rank - 1]);
    std::size_t axis = rank - 1;
    for (;;) {  // the next run: count up like an odometer
      if (axis == 0) return;
      --axis;
      a_offset += a_strides[axis];
      b_offset += b_strides[axis];
      if (++at[axis] < dims[axis]) break;
      a_offset -= a_strides[axis] * dims[axis];
      b_offset -= b_strides[axis] * dims[axis];
      at[axis] = 0;
    }
  }
}

}  // namespace regrad::ops
