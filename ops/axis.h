#pragma once

#include <string_view>

#include "ops/error.h"
#include "ops/shape.h"

namespace regrad {

// The axis counted from the front. Throws Error, naming the operation, for one that is not there.
inline int require_axis(const Shape& shape, int axis, std::string_view operation) {
  const int rank = shape.rank();
  if (axis < -rank || axis >= rank) {
    fail("{}: axis {} does not exist in shape {} of rank {}", operation, axis, shape, rank);
  }
  return axis < 0 ? axis + rank : axis;
}

// The same of an axis that is to be added to the shape.
inline int require_new_axis(const Shape& shape, int axis, std::string_view operation) {
  const int rank = shape.rank();
  if (axis < -rank - 1 || axis > rank) {
    fail("{}: no axis {} can be added to shape {} of rank {}", operation, axis, shape, rank);
  }
  return axis < 0 ? axis + rank + 1 : axis;
}

// The shape that make() gives. Throws Error, naming the operation, where that is none.
template <class F>
Shape require_shape(std::string_view operation, const F& make) {
  try {
    return make();
  } catch (const Error& error) {
    fail("{}: {}", operation, error.what());
  }
}

}  // namespace regrad
