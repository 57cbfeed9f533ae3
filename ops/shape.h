#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include <fmt/core.h>

namespace regrad {

using Index = std::int64_t;

// Up to six dimensions, held inline. Also serves as a short list of axes.
class Shape {
 public:
  static constexpr int max_rank = 6;

  Shape() = default;
  static Shape empty() {  // [0]
    Shape shape;
    shape.make_empty();
    return shape;
  }
  void make_empty() {
    dims_[0] = 0;
    rank_ = 1;
  }
  // Throws Error for more than six dimensions, a negative one, or a product that overflows.
  Shape(std::initializer_list<Index> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const Index> dims);

  int rank() const { return rank_; }
  Index size() const {  // number of elements; 1 for rank 0
    Index n = 1;
    for (Index dim : *this) n *= dim;
    return n;
  }
  // Negative axes count from the end. Throws Error for an axis that is not there.
  Index operator[](int axis) const { return dims_[normalise(axis)]; }
  int normalise(int axis) const {
    int positive = axis < 0 ? axis + rank_ : axis;
    if (positive < 0 || positive >= rank_) fail_axis(axis);
    return positive;
  }
  const Index* begin() const { return dims_.data(); }
  const Index* end() const { return dims_.data() + rank_; }

  Shape with(int axis, Index dim) const;      // one dimension replaced
  Shape without(int axis) const;              // one dimension removed
  Shape inserted(int axis, Index dim) const;  // one dimension added before axis
  Shape appended(Index dim) const { return inserted(rank_, dim); }
  Index product(int from, int to) const;  // of the dimensions [from, to)

  friend bool operator==(const Shape& a, const Shape& b) {
    if (a.rank_ != b.rank_) return false;
    for (int i = 0; i < a.rank_; ++i) {
      if (a.dims_[i] != b.dims_[i]) return false;
    }
    return true;
  }

 private:
  [[noreturn]] void fail_axis(int axis) const;

  std::array<Index, max_rank> dims_{};
  int rank_ = 0;
};

std::string to_string(const Shape& shape);  // [2, 3]

// NumPy's rule: align at the right; equal sizes or a 1 on either side. Throws Error naming
// `operation` and both shapes.
Shape broadcast(const Shape& a, const Shape& b, std::string_view operation);

}  // namespace regrad

template <>
struct fmt::formatter<regrad::Shape> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  auto format(const regrad::Shape& shape, fmt::format_context& context) const {
    return fmt::format_to(context.out(), "{}", regrad::to_string(shape));
  }
};
