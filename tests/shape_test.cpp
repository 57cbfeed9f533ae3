#include "ops/shape.h"

#include <climits>
#include <vector>

#include <doctest/doctest.h>

#include "nn_check.h"
#include "ops/error.h"
#include "ops/strides.h"

namespace regrad {
namespace {

using testing::message_of;

Shape shape_of(const std::vector<Index>& dims) { return Shape(std::span<const Index>(dims)); }

TEST_CASE("a shape knows its dimensions") {
  Shape shape{2, 3, 5};
  CHECK(shape.rank() == 3);
  CHECK(shape.size() == 30);
  CHECK(shape[0] == 2);
  CHECK(shape[2] == 5);
  CHECK(shape[-1] == 5);
  CHECK(shape[-3] == 2);
  CHECK(shape.normalise(-2) == 1);
  CHECK(std::vector<Index>(shape.begin(), shape.end()) == std::vector<Index>{2, 3, 5});
  CHECK(shape.product(0, 3) == 30);
  CHECK(shape.product(1, 3) == 15);
  CHECK(shape.product(1, 1) == 1);
  CHECK(to_string(shape) == "[2, 3, 5]");
}

TEST_CASE("shapes of nothing and of one number") {
  CHECK(Shape().size() == 1);
  CHECK(Shape().rank() == 0);
  CHECK(to_string(Shape()) == "[]");
  CHECK(Shape{0}.size() == 0);
  CHECK(Shape{3, 0, 2}.size() == 0);
  CHECK_FALSE(Shape{0} == Shape());
  CHECK_FALSE(Shape{1} == Shape());
  CHECK_FALSE(Shape{1, 2} == Shape{1, 3});
}

TEST_CASE("dimensions are replaced, removed and added") {
  Shape shape{2, 3, 5};
  CHECK(shape.with(1, 7) == Shape{2, 7, 5});
  CHECK(shape.with(-1, 0) == Shape{2, 3, 0});
  CHECK(shape.without(0) == Shape{3, 5});
  CHECK(shape.without(-1) == Shape{2, 3});
  CHECK(shape.inserted(0, 9) == Shape{9, 2, 3, 5});
  CHECK(shape.inserted(3, 9) == Shape{2, 3, 5, 9});
  CHECK(shape.inserted(-1, 9) == Shape{2, 3, 5, 9});
  CHECK(shape.inserted(-4, 9) == Shape{9, 2, 3, 5});
  CHECK(shape.appended(9) == Shape{2, 3, 5, 9});
  CHECK(Shape().appended(4) == Shape{4});
  CHECK(Shape{4}.without(0) == Shape());
  CHECK(Shape{1, 2, 3, 4, 5, 6}.without(2) == Shape{1, 2, 4, 5, 6});
}

TEST_CASE("impossible shapes are errors") {
  CHECK(message_of([] { Shape{1, 2, 3, 4, 5, 6, 7}; }) ==
        "shape [1, 2, 3, 4, 5, 6, 7]: 7 dimensions, at most 6 are possible");
  CHECK(message_of([] { Shape{2, -1}; }) == "shape [2, -1]: a dimension is negative");
  CHECK(message_of([] {
          Shape{Index{1} << 31, Index{1} << 31};
        }) == "shape [2147483648, 2147483648]: too many elements to address");
  CHECK(message_of([] { Shape{INT64_MAX, INT64_MAX, INT64_MAX}; }) != "");
  CHECK(message_of([] { Shape{0, INT64_MAX, INT64_MAX}; }) != "");
  CHECK(message_of([] { Shape{2}.with(0, -3); }) == "shape [-3]: a dimension is negative");
  CHECK(message_of([] { Shape{1, 1, 1, 1, 1, 1}.appended(1); }) ==
        "shape [1, 1, 1, 1, 1, 1, 1]: 7 dimensions, at most 6 are possible");
}

TEST_CASE("axes that are not there are errors") {
  const Shape shape{2, 3};
  const std::string wanted = "axis 2 does not exist in shape [2, 3] of rank 2";
  CHECK(message_of([&] { shape[2]; }) == wanted);
  CHECK(message_of([&] { shape.normalise(2); }) == wanted);
  CHECK(message_of([&] { shape.with(2, 1); }) == wanted);
  CHECK(message_of([&] { shape.without(2); }) == wanted);
  CHECK(message_of([&] { shape[-3]; }) == "axis -3 does not exist in shape [2, 3] of rank 2");
  CHECK(message_of([&] { shape[INT_MIN]; }) != "");
  CHECK(message_of([&] { shape[INT_MAX]; }) != "");
  CHECK(message_of([&] { shape.inserted(3, 1); }) ==
        "axis 3 does not exist in shape [2, 3] of rank 2");
  CHECK(message_of([&] { shape.inserted(-4, 1); }) != "");
  CHECK(message_of([] { Shape()[0]; }) == "axis 0 does not exist in shape [] of rank 0");
}

TEST_CASE("broadcasting follows NumPy") {
  CHECK(broadcast({2, 3}, {2, 3}, "add") == Shape{2, 3});
  CHECK(broadcast({2, 3}, {3}, "add") == Shape{2, 3});
  CHECK(broadcast({3}, {2, 3}, "add") == Shape{2, 3});
  CHECK(broadcast({2, 1}, {1, 3}, "add") == Shape{2, 3});
  CHECK(broadcast({}, {4, 5}, "add") == Shape{4, 5});
  CHECK(broadcast({5, 1, 4}, {3, 1}, "add") == Shape{5, 3, 4});
  CHECK(broadcast({0}, {1}, "add") == Shape{0});
  CHECK(broadcast({2, 1}, {0}, "add") == Shape{2, 0});
  CHECK(message_of([] {
          broadcast({2, 3}, {4, 2}, "add");
        }) == "add: shapes [2, 3] and [4, 2] do not broadcast: 3 against 2 at axis -1");
  CHECK(message_of([] {
          broadcast({4, 2}, {2, 3, 2}, "mul");
        }) == "mul: shapes [4, 2] and [2, 3, 2] do not broadcast: 4 against 3 at axis -2");
  CHECK(message_of([] { broadcast({0}, {2}, "add"); }) ==
        "add: shapes [0] and [2] do not broadcast: 0 against 2 at axis -1");
}

// for_each_run visits each index of the shape once, in order, however it merges the dimensions.
TEST_CASE("runs cover a shape in row-major order") {
  for (const Shape& shape :
       {Shape{}, Shape{1}, Shape{5}, Shape{2, 3}, Shape{2, 1, 3}, Shape{3, 2, 4, 2}, Shape{1, 1},
        Shape{2, 2, 2, 2, 2, 2}, Shape{2, 0, 3}, Shape{0}}) {
    for (unsigned mask = 0; mask < (1u << shape.rank()); ++mask) {
      std::vector<Index> dims(shape.begin(), shape.end());  // of an operand that is repeated
      for (std::size_t axis = 0; axis < dims.size(); ++axis) {
        if (mask >> axis & 1) dims[axis] = 1;
      }
      Shape other = shape_of(dims);
      if (!(broadcast(other, shape, "") == shape)) continue;
      ops::Strides strides = ops::broadcast_strides(other, shape);
      std::vector<Index> seen, seen_other;
      ops::for_each_run(shape, ops::contiguous_strides(shape), strides,
                        [&](Index a, Index b, Index a_step, Index b_step, Index n) {
                          for (Index i = 0; i < n; ++i) {
                            seen.push_back(a + i * a_step);
                            seen_other.push_back(b + i * b_step);
                          }
                        });
      std::vector<Index> wanted, wanted_other;
      for (Index i = 0; i < shape.size(); ++i) {
        wanted.push_back(i);
        Index offset = 0, rest = i;
        for (int axis = shape.rank() - 1; axis >= 0; --axis) {
          offset += rest % shape[axis] * strides[static_cast<std::size_t>(axis)];
          rest /= shape[axis];
        }
        wanted_other.push_back(offset);
      }
      CHECK(seen == wanted);
      CHECK(seen_other == wanted_other);
    }
  }
}

}  // namespace
}  // namespace regrad
