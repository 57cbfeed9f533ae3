#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "nn_check.h"

using namespace regrad;
using namespace regrad::testing;

namespace {

using Values = std::vector<double>;

Values values(const Var& x) { return x.value().to_vector(); }

Tensor counted(const Shape& shape, DType dtype = DType::f32) {
  return arange(shape.size(), dtype).reshape(shape);
}

Ids ids(std::initializer_list<std::int32_t> values, const Shape& shape) {
  return Ids(std::span(values.begin(), values.size()), shape);
}

}  // namespace

TEST_CASE("reshape works out one size") {
  Var x = counted({2, 3, 4});
  CHECK(reshape(x, {-1}).shape() == Shape{24});
  CHECK(reshape(x, {4, -1, 2}).shape() == Shape{4, 3, 2});
  CHECK(reshape(x, {24, -1}).shape() == Shape{24, 1});
  CHECK(values(reshape(x, {-1, 2})) == values(x));
  CHECK(reshape(Var(zeros({0, 3})), {3, -1}).shape() == Shape{3, 0});
  CHECK(message_of([&] { (void)reshape(x, {-1, -1}); }) == "reshape: more than one -1 in [-1, -1]");
  CHECK(message_of([&] {
          (void)reshape(x, {5, -1});
        }) == "reshape: shape [2, 3, 4] leaves no size for the -1 in [5, -1]");
  CHECK(message_of([&] {
          (void)reshape(x, {0, -1});
        }) == "reshape: shape [2, 3, 4] leaves no size for the -1 in [0, -1]");
  CHECK_THROWS_AS((void)reshape(x, {-2, -1}), Error);
  CHECK_THROWS_AS((void)reshape(x, {Index{1} << 62, 4, -1}), Error);
}

TEST_CASE("squeeze and unsqueeze") {
  Var x = counted({1, 2, 1, 3});
  CHECK(squeeze(x).shape() == Shape{2, 3});
  CHECK(squeeze(x, -2).shape() == Shape{1, 2, 3});
  CHECK(squeeze(Var(ones({1, 1}))).shape() == Shape{});
  CHECK(unsqueeze(x, 0).shape() == Shape{1, 1, 2, 1, 3});
  CHECK(unsqueeze(Var(counted({2, 3})), -1).shape() == Shape{2, 3, 1});
  CHECK(message_of([&] { (void)squeeze(x, 1); }) ==
        "squeeze: axis 1 of shape [1, 2, 1, 3] has size 2, not 1");
  CHECK_THROWS_AS((void)squeeze(x, 4), Error);
  CHECK_THROWS_AS((void)unsqueeze(x, 5), Error);
}

TEST_CASE("split into equal parts or given sizes; concat puts them together again") {
  Var x = counted({2, 6});
  auto halves = split(x, 2, -1);
  REQUIRE(halves.size() == 2);
  CHECK(values(halves[1]) == Values{3, 4, 5, 9, 10, 11});
  auto uneven = split(x, {1, 0, 5}, 1);
  REQUIRE(uneven.size() == 3);
  CHECK(uneven[1].shape() == Shape{2, 0});
  CHECK(values(concat(uneven, 1)) == values(x));
  CHECK(message_of([&] { (void)split(x, 4, 1); }) ==
        "split: axis 1 of shape [2, 6] does not fall into 4 equal parts");
  CHECK(message_of([&] {
          (void)split(x, {2, 3}, 1);
        }) == "split: the sizes add up to 5, axis 1 of shape [2, 6] has 6");
  CHECK(message_of([&] {
          (void)split(x, {4, 3}, 1);
        }) == "split: 3 entries from 4 on are not in axis 1 of shape [2, 6]");
  CHECK_THROWS_AS((void)split(x, {7, -1}, 1), Error);
  CHECK_THROWS_AS((void)split(x, Index{0}, 1), Error);
}

TEST_CASE("flip") {
  Var x = counted({2, 3});
  CHECK(values(flip(x, {1})) == Values{2, 1, 0, 5, 4, 3});
  CHECK(values(flip(x, {0})) == Values{3, 4, 5, 0, 1, 2});
  CHECK(values(flip(x, {0, -1})) == Values{5, 4, 3, 2, 1, 0});
  CHECK(values(flip(x, {})) == values(x));
  CHECK(flip(Var(zeros({2, 0})), {0, 1}).shape() == Shape{2, 0});
  for (auto dtype : {DType::f32, DType::f64}) {
    Var y = counted({2, 1, 3, 4}, dtype);
    CHECK(identical(flip(flip(y, {0, 2}), {2, 0}).value(), y.value()));
    CHECK(flip(y, {0, 2}).value().at({0, 0, 0, 1}) == y.value().at({1, 0, 2, 1}));
  }
  CHECK(message_of([&] {
          (void)flip(x, {1, -1});
        }) == "flip: axis -1 of shape [2, 3] is given twice");
}

TEST_CASE("reverse turns each sequence within its length and never reads padding") {
  Lengths lengths({3, 0, 1}, 3);
  Tensor x = counted({3, 3, 2});
  CHECK(values(reverse(x, lengths)) ==
        Values{12, 13, 0, 0, 4, 5, 6, 7, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0});
  CHECK(
      identical(reverse(reverse(x, lengths), lengths).value(), masked_fill(x, lengths, 0).value()));
  for (double garbage : {1e3, double(NAN)}) {
    Tape tape;
    Var leaf = tape.variable(with_padding(x, lengths, garbage));
    Var y = reverse(leaf, lengths);
    CHECK(identical(y.value(), reverse(x, lengths).value()));
    Tensor g = with_padding(ones(x.shape()), lengths, garbage);
    CHECK(identical(tape.backward(y, g)[leaf], masked_fill(ones(x.shape()), lengths, 0).value()));
  }
  CHECK(message_of([&] {
          (void)reverse(x, Lengths({1, 2}, 3));
        }) == "reverse: lengths are of 2 sequences of up to 3 steps, the input of 3 of 3");
  CHECK_THROWS_AS((void)reverse(ones({3}), lengths), Error);
}

TEST_CASE("pad") {
  Var x = counted({2, 2});
  CHECK(values(pad(x, {{.axis = 1, .before = 1}})) == Values{0, 0, 1, 0, 2, 3});
  CHECK(values(pad(x, {{0, 1, 1}, {-1, 0, 1}}, -1)) ==
        Values{-1, -1, -1, 0, 1, -1, 2, 3, -1, -1, -1, -1});
  CHECK(values(pad(Var(zeros({0})), {{0, 1, 2}}, 7)) == Values{7, 7, 7});
  CHECK(values(pad(Var(counted({3, 1})), {{1, 1, 1}})) == Values{0, 0, 0, 0, 1, 0, 0, 2, 0});
  CHECK(identical(pad(x, {}).value(), x.value()));
  CHECK(message_of([&] { (void)pad(x, {{.axis = 0, .before = 2, .after = -1}}); }) ==
        "pad: 2 before and -1 after axis 0; to take entries away use slice");
  CHECK(message_of([&] {
          (void)pad(x, {{0, 1, 1}, {-2, 1, 1}});
        }) == "pad: axis -2 of shape [2, 2] is given twice");
  CHECK_THROWS_AS((void)pad(x, {{0, Index{1} << 61, Index{1} << 61}}), Error);
}

TEST_CASE_TEMPLATE("gather and scatter_add", T, float, double) {
  Var x = counted({2, 3}, dtype_of<T>());
  CHECK(values(gather(x, 1, ids({2, 0, 0, 1}, {2, 2}))) == Values{2, 0, 3, 4});
  CHECK(values(gather(x, -1, ids({2, 2, 2, 2}, {1, 4}))) == Values{2, 2, 2, 2});
  CHECK(values(gather(x, 0, ids({1, 0}, {1, 2}))) == Values{3, 1});
  CHECK(gather(x, 0, Ids(Shape{0, 3})).shape() == Shape{0, 3});
  Var source = full({2, 4}, 10, dtype_of<T>());
  CHECK(values(scatter_add(x, 1, ids({0, 0, 2, 1}, {2, 2}), source)) ==
        Values{20, 1, 2, 3, 14, 15});
  // With three axes, against plain loops.
  Var y = counted({2, 3, 4}, dtype_of<T>());
  Ids index(Shape{2, 5, 3});
  for (Index i = 0; i < index.size(); ++i) {
    index.mutable_data()[i] = static_cast<std::int32_t>(i * 7 % 3);
  }
  Tensor gathered = gather(y, 1, index).value();
  for (Index i = 0; i < 2; ++i) {
    for (Index j = 0; j < 5; ++j) {
      for (Index k = 0; k < 3; ++k) {
        Index from = index[(i * 5 + j) * 3 + k];
        REQUIRE(gathered.at({i, j, k}) == y.value().at({i, from, k}));
      }
    }
  }
}

TEST_CASE("gather and scatter_add name what does not fit") {
  Var x = counted({2, 3}), source = ones({2, 3});
  CHECK(message_of([&] {
          (void)gather(x, 1, ids({0, 3}, {2, 1}));
        }) == "gather: 3 at position 1 of index [2, 1] is outside of axis 1 of shape [2, 3]");
  CHECK(message_of([&] {
          (void)gather(x, 1, ids({-1}, {1, 1}));
        }) == "gather: -1 at position 0 of index [1, 1] is outside of axis 1 of shape [2, 3]");
  CHECK(message_of([&] {
          (void)gather(x, 1, Ids(Shape{3, 1}));
        }) == "gather: index [3, 1] does not fit shape [2, 3]: but for axis 1 it may be no larger");
  CHECK_THROWS_AS((void)gather(x, 1, Ids{0, 1}), Error);
  CHECK(message_of([&] {
          (void)scatter_add(x, 1, ids({0, 3}, {2, 1}), source);
        }) == "scatter_add: 3 at position 1 of index [2, 1] is outside of axis 1 of shape [2, 3]");
  CHECK(message_of([&] {
          (void)scatter_add(x, 1, Ids(Shape{2, 4}), source);
        }) == "scatter_add: source [2, 3] has no entry for each of index [2, 4]");
  CHECK_THROWS_AS((void)scatter_add(x, 1, Ids(Shape{2, 1}), ones({2})), Error);
  CHECK_THROWS_AS((void)scatter_add(x, 1, Ids(Shape{2, 1}), ones({2, 1}, DType::f64)), Error);
}

TEST_CASE("one_hot") {
  CHECK(one_hot(Ids{1, 0}, 3).to_vector() == Values{0, 1, 0, 1, 0, 0});
  CHECK(one_hot(Ids{0}, 1, DType::f64).dtype() == DType::f64);
  CHECK(one_hot(Ids(Shape{0}), 3).shape() == Shape{0, 3});
  CHECK(one_hot(ids({1, 99, -7, 0}, {2, 2}), Lengths({1, 0}, 2), 2).to_vector() ==
        Values{0, 1, 0, 0, 0, 0, 0, 0});
  CHECK(message_of([] {
          (void)one_hot(Ids{0, 3}, 3);
        }) == "one_hot: id 3 at position 1 of ids [2] is outside of the 3 classes");
  CHECK_THROWS_AS((void)one_hot(Ids{-1}, 3), Error);
  CHECK_THROWS_AS((void)one_hot(Ids{0}, Lengths({1}, 1), 3), Error);
  CHECK_THROWS_AS((void)one_hot(Ids(Shape{2, 1}), Lengths({1}, 1), 3), Error);
  CHECK_THROWS_AS((void)one_hot(Ids{0}, -1), Error);
}

TEST_CASE("an axis that is not there is an error that names the operation") {
  const Var x = ones({2, 3});
  const Ids index = Ids(Shape{2, 3}, 0);
  const std::vector<Var> parts{x, x};
  for (const int axis : {2, -3}) {
    const auto check = [&](const char* operation, const auto& f) {
      CHECK(message_of(f) ==
            fmt::format("{}: axis {} does not exist in shape [2, 3] of rank 2", operation, axis));
    };
    check("argmax", [&] { (void)argmax(x, axis); });
    check("topk", [&] { (void)topk(x, 1, axis); });
    check("cumsum", [&] { (void)cumsum(x, axis); });
    check("transpose", [&] { (void)transpose(x, 0, axis); });
    check("transpose", [&] { (void)transpose(x, axis, 0); });
    check("squeeze", [&] { (void)squeeze(x, axis); });
    check("concat", [&] { (void)concat(parts, axis); });
    check("split", [&] { (void)split(x, 1, axis); });
    check("split", [&] { (void)split(x, {1, 1}, axis); });
    check("slice", [&] { (void)slice(x, axis, 0, 1); });
    check("slice", [&] { (void)slice(x, axis, -1, 1); });
    check("slice", [&] { (void)slice(x, axis, 0); });
    check("select", [&] { (void)select(x, axis, 0); });
    check("unslice", [&] { (void)unslice(x, {2, 3}, axis, 0); });
    check("gather", [&] { (void)gather(x, axis, index); });
    check("scatter_add", [&] { (void)scatter_add(x, axis, index, x); });
    check("flip", [&] { (void)flip(x, {axis}); });
    check("pad", [&] { (void)pad(x, {{axis, 1, 1}}); });
  }
  CHECK(message_of([&] { (void)unsqueeze(x, 3); }) ==
        "unsqueeze: no axis 3 can be added to shape [2, 3] of rank 2");
  CHECK(message_of([&] { (void)stack(parts, -4); }) ==
        "stack: no axis -4 can be added to shape [2, 3] of rank 2");
}

TEST_CASE("positions and parts outside of an axis are errors") {
  const Tensor x = tensor({3, 1, 2});
  for (const Index i : {-5, -4, 3}) CHECK_THROWS_AS(select(x, 0, i), Error);
  CHECK(select(x, 0, -3).item() == 3);
  CHECK_THROWS_AS(split(zeros({0}), Index{1} << 40, 0), Error);
  CHECK_THROWS_WITH_AS(transpose(x), "transpose: axis -2 does not exist in shape [3] of rank 1",
                       Error);
}
