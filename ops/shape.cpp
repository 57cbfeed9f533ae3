#include "ops/shape.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "ops/error.h"

namespace regrad {

Shape::Shape(std::span<const Index> dims) {
  if (dims.size() > max_rank) {
    fail("shape [{}]: {} dimensions, at most {} are possible", fmt::join(dims, ", "), dims.size(),
         static_cast<int>(max_rank));
  }
  Index size = 1;
  for (Index dim : dims) {
    if (dim < 0) fail("shape [{}]: a dimension is negative", fmt::join(dims, ", "));
    if (__builtin_mul_overflow(size, std::max<Index>(dim, 1), &size) || size > (Index{1} << 60)) {
      fail("shape [{}]: too many elements to address", fmt::join(dims, ", "));
    }
    dims_[rank_++] = dim;
  }
}

Shape Shape::with(int axis, Index dim) const {
  Shape result = *this;
  result.dims_[normalise(axis)] = dim;
  return Shape(std::span(result.begin(), result.end()));
}

Shape Shape::without(int axis) const {
  Shape result = *this;
  std::copy(begin() + normalise(axis) + 1, end(), result.dims_.begin() + normalise(axis));
  --result.rank_;
  return result;
}

Shape Shape::inserted(int axis, Index dim) const {
  std::array<Index, max_rank + 1> dims{};
  int at = axis < 0 ? axis + rank_ + 1 : axis;
  if (at < 0 || at > rank_) fail_axis(axis);
  std::copy(begin(), begin() + at, dims.begin());
  dims[at] = dim;
  std::copy(begin() + at, end(), dims.begin() + at + 1);
  return Shape(std::span<const Index>(dims.data(), static_cast<std::size_t>(rank_ + 1)));
}

Index Shape::product(int from, int to) const {
  Index n = 1;
  for (int i = from; i < to; ++i) n *= dims_[i];
  return n;
}

void Shape::fail_axis(int axis) const {
  fail("axis {} does not exist in shape {} of rank {}", axis, *this, rank_);
}

std::string to_string(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape.begin(), shape.end(), ", "));
}

Shape broadcast(const Shape& a, const Shape& b, std::string_view operation) {
  if (a == b) return a;
  Shape result = a.rank() >= b.rank() ? a : b;
  for (int i = 1; i <= std::min(a.rank(), b.rank()); ++i) {
    Index x = a[-i], y = b[-i];
    if (x != y && x != 1 && y != 1) {
      fail("{}: shapes {} and {} do not broadcast: {} against {} at axis {}", operation, a, b, x, y,
           -i);
    }
    if (result[-i] == 1) result = result.with(-i, x == 1 ? y : x);
  }
  return result;
}

}  // namespace regrad
