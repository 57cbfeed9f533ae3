#include "ops/movement.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

#include "ops_check.h"

namespace regrad::ops {
namespace {

using namespace regrad::testing;
using Values = std::vector<double>;

TEST_CASE("permute moves axes") {
  for (const Shape& shape : {Shape{}, Shape{4}, Shape{2, 3}, Shape{3, 1, 2}, Shape{2, 3, 4},
                             Shape{2, 0, 3}, Shape{2, 3, 1, 4}, Shape{2, 2, 3, 3}}) {
    Tensor x = random_tensor(shape, DType::f64);
    std::vector<Index> order(static_cast<std::size_t>(shape.rank()));
    std::iota(order.begin(), order.end(), 0);
    do {
      Shape axes{std::span<const Index>(order)};
      INFO(to_string(shape), " by ", to_string(axes));
      Tensor y = permute(x, axes);
      Shape wanted = shape;
      for (int i = 0; i < shape.rank(); ++i)
        wanted = wanted.with(i, shape[static_cast<int>(axes[i])]);
      REQUIRE(y.shape() == wanted);
      for (Index i = 0; i < y.size(); ++i) {
        std::vector<Index> to = index_of(i, wanted), from = to;
        for (std::size_t k = 0; k < to.size(); ++k)
          from[static_cast<std::size_t>(order[k])] = to[k];
        REQUIRE(y.data<double>()[i] == x.data<double>()[position_of(from, shape)]);
      }
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST_CASE("axes that are no permutation are errors") {
  Tensor x = zeros({2, 3});
  CHECK(message_of([&] {
          permute(x, {0, 0});
        }) == "permute: [0, 0] is no permutation of the axes of shape [2, 3]");
  CHECK(message_of([&] {
          permute(x, {1, 5});
        }) == "permute: [1, 5] is no permutation of the axes of shape [2, 3]");
  CHECK(message_of([&] { permute(x, {1, Index{1} << 32}); }) != "");
  CHECK(message_of([&] { permute(x, {0}); }) != "");
  CHECK(message_of([&] { permute(x, {0, 1, 2}); }) != "");
  CHECK(message_of([&] { permute(scalar(1), {0}); }) != "");
}

TEST_CASE("concat puts tensors behind each other") {
  for (int axis = -3; axis < 3; ++axis) {
    Shape shape{2, 3, 4};
    std::vector<Tensor> parts;
    for (Index n : {2, 0, 1, 5}) parts.push_back(random_tensor(shape.with(axis, n)));
    Tensor y = concat(parts, axis);
    REQUIRE(y.shape() == shape.with(axis, 8));
    Index begin = 0;
    for (const Tensor& part : parts) {  // slicing gives the parts back
      Index end = begin + part.shape()[axis];
      CHECK(identical(slice(y, axis, begin, end), part));
      begin = end;
    }
  }
  Tensor one = arange(3);
  CHECK(identical(concat(std::vector{one}, 0), one));
  CHECK(concat(std::vector{zeros({0, 2}), zeros({0, 2})}, 1).shape() == Shape{0, 4});
}

TEST_CASE("concat refuses what does not fit") {
  auto message = [](const Tensor& a, const Tensor& b, int axis) {
    return message_of([&] { concat(std::vector{a, b}, axis); });
  };
  CHECK(message(zeros({2, 3}), zeros({3, 3}), 1) ==
        "concat: shapes [2, 3] and [3, 3] differ elsewhere than at axis 1");
  CHECK(message(zeros({2, 3}), zeros({6}), 0) ==
        "concat: shapes [2, 3] and [6] differ elsewhere than at axis 0");
  CHECK(message(zeros({2}), zeros({2}, DType::f64), 0) ==
        "concat: f64 [2] with f32 [2]; convert one of them with to()");
  CHECK(message(zeros({2}), zeros({2}), 1) ==
        "concat: axis 1 does not exist in shape [2] of rank 1");
  CHECK(message_of([] { concat({}, 0); }) == "concat: there is nothing to concatenate");
}

TEST_CASE("slice and add_slice are adjoint") {
  for (const Shape& shape : {Shape{4}, Shape{3, 4}, Shape{2, 5, 3}, Shape{0, 4}, Shape{4, 0}}) {
    for (int axis = 0; axis < shape.rank(); ++axis) {
      for (Index begin = 0; begin <= shape[axis]; ++begin) {
        for (Index end = begin; end <= shape[axis]; ++end) {
          INFO(to_string(shape), ", axis ", axis, ": [", begin, ", ", end, ")");
          Tensor x = random_tensor(shape, DType::f64), y = zeros(shape, DType::f64);
          Tensor part = slice(x, axis, begin, end);
          REQUIRE(part.shape() == shape.with(axis, end - begin));
          Tensor g = random_tensor(part.shape(), DType::f64, 2);
          add_slice(y, g, axis, begin);
          CHECK(inner_product(part, g) == doctest::Approx(inner_product(x, y)).epsilon(1e-12));
          add_slice(y, g, axis, begin);
          CHECK(identical(slice(y, axis, begin, end), concat(std::vector{g}, 0)) ==
                (g.size() == 0));
        }
      }
    }
  }
  Tensor x = arange(12).reshape({3, 4});
  CHECK(slice(x, 1, 1, 3).to_vector() == Values{1, 2, 5, 6, 9, 10});
  CHECK(slice(x, 0, 1, 2).data<float>() == x.data<float>() + 4);
}

TEST_CASE("slices outside are errors") {
  Tensor x = zeros({3, 4});
  CHECK(message_of([&] { slice(x, 1, 2, 5); }) ==
        "slice: [2, 5) is outside of axis 1 of shape [3, 4]");
  CHECK(message_of([&] { slice(x, -1, 3, 2); }) ==
        "slice: [3, 2) is outside of axis 1 of shape [3, 4]");
  CHECK(message_of([&] { slice(x, 0, -1, 2); }) ==
        "slice: [-1, 2) is outside of axis 0 of shape [3, 4]");
  CHECK(message_of([&] { slice(x, 2, 0, 1); }) ==
        "slice: axis 2 does not exist in shape [3, 4] of rank 2");
  CHECK(message_of([&] {
          add_slice(x, zeros({3, 2}), 1, 3);
        }) == "unslice: [3, 2] does not fit at 3 of axis 1 of shape [3, 4]");
  CHECK(message_of([&] { add_slice(x, zeros({2, 2}), 1, 0); }) != "");
  CHECK(message_of([&] { add_slice(x, zeros({3, 2}), 1, -1); }) != "");
  CHECK(message_of([&] { add_slice(x, zeros({3}), 1, 0); }) != "");
  CHECK(message_of([&] { add_slice(x, zeros({3, 2}), 1, INT64_MAX); }) != "");
  CHECK(message_of([&] {
          add_slice(x, zeros({3, 1}, DType::f64), 1, 0);
        }) == "unslice: f32 [3, 4] with f64 [3, 1]; convert one of them with to()");
}

TEST_CASE("gather_rows and add_rows are adjoint") {
  Tensor table = random_tensor({5, 3}, DType::f64);
  Ids ids(std::vector<std::int32_t>{4, 0, 4, 2, 1, 4}, {3, 2});
  Lengths some({3, 1}, 3), full = Lengths::full(3, 2);
  const Lengths* const cases[] = {nullptr, &full, &some};
  for (const Lengths* lengths : cases) {
    Tensor y = gather_rows(table, ids, lengths), g = random_tensor({3, 2, 3}, DType::f64, 2);
    REQUIRE(y.shape() == Shape{3, 2, 3});
    for (Index i = 0; i < 6; ++i) {
      bool valid = !lengths || lengths->valid(i / 2, i % 2);
      Tensor row = y.reshape({6, 3})[i];
      CHECK(identical(row, valid ? table[ids[i]] : zeros({3}, DType::f64)));
    }
    Tensor sums = zeros({5, 3}, DType::f64);
    add_rows(sums, g, ids, lengths);
    CHECK(inner_product(y, g) == doctest::Approx(inner_product(table, sums)).epsilon(1e-12));
  }
  CHECK(gather_rows(table, Ids{}, nullptr).shape() == Shape{0, 3});
  CHECK(gather_rows(zeros({2, 0}), Ids{1, 0}, nullptr).shape() == Shape{2, 0});
}

TEST_CASE("rows at padded positions are neither read nor written") {
  Ids ids(std::vector<std::int32_t>{1, 0, 2, -7, 0, 1 << 30}, {3, 2});
  Lengths lengths({3, 1}, 3);
  Tensor table = random_tensor({3, 2});
  Tensor y = gather_rows(table, ids, &lengths);
  CHECK(y.at({1, 1, 0}) == 0);
  CHECK(y.at({2, 1, 1}) == 0);
  Tensor g = random_tensor({3, 2, 2}), sums = zeros({3, 2}), more = zeros({3, 2});
  add_rows(sums, g, ids, &lengths);
  add_rows(more, with_padding(g, lengths, NAN), ids, &lengths);
  CHECK(identical(sums, more));
}

TEST_CASE("rows that do not exist are errors") {
  Tensor table = zeros({5, 3});
  CHECK(message_of([&] {
          gather_rows(table, Ids{0, 5}, nullptr);
        }) == "rows: id 5 at position 1 of ids [2] is outside of the table's 5 rows");
  CHECK(message_of([&] { gather_rows(table, Ids{-1}, nullptr); }) ==
        "rows: id -1 at position 0 of ids [1] is outside of the table's 5 rows");
  CHECK(message_of([&] { gather_rows(zeros({5}), Ids{0}, nullptr); }) ==
        "rows: the table has shape [5], not [rows, columns]");
  Lengths lengths({1}, 1);
  CHECK(message_of([&] { gather_rows(table, Ids{0}, &lengths); }) ==
        "rows: ids [1] with lengths are [time, batch]");
  CHECK(message_of([&] {
          gather_rows(table, Ids(Shape{2, 1}), &lengths);
        }) == "rows: lengths are of 1 sequences of up to 1 steps, the input of 1 of 2");
  CHECK(message_of([&] {
          add_rows(table, zeros({2, 2}), Ids{0, 1}, nullptr);
        }) == "scatter_rows: [2, 2] does not fit ids [2] and table [5, 3]");
  CHECK(message_of([&] {
          add_rows(table, zeros({1, 3}, DType::f64), Ids{0}, nullptr);
        }) == "scatter_rows: f32 [5, 3] with f64 [1, 3]; convert one of them with to()");
}

TEST_CASE("masked_fill replaces padding, whatever stood there") {
  Lengths lengths({2, 0, 3}, 3);
  Tensor x = random_tensor({3, 3, 2});
  Tensor y = masked_fill(x, lengths, -4);
  for (Index t = 0; t < 3; ++t) {
    for (Index b = 0; b < 3; ++b) {
      for (Index k = 0; k < 2; ++k) {
        CHECK(y.at({t, b, k}) == (lengths.valid(t, b) ? x.at({t, b, k}) : -4));
      }
    }
  }
  for (double garbage : {1e3, static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
    CHECK(identical(masked_fill(with_padding(x, lengths, garbage), lengths, -4), y));
  }
  CHECK(identical(masked_fill(x, Lengths::full(3, 3), -4), x));
  CHECK(masked_fill(zeros({3, 3}), lengths, 1).at({2, 0}) == 1);
  CHECK(message_of([&] { masked_fill(zeros({3}), lengths, 0); }) ==
        "masked_fill: shape [3] is not [time, batch, …]");
  CHECK(message_of([&] {
          masked_fill(zeros({3, 2}), lengths, 0);
        }) == "masked_fill: lengths are of 3 sequences of up to 3 steps, the input of 2 of 3");
}

}  // namespace
}  // namespace regrad::ops
