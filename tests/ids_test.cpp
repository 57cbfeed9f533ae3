#include "ops/ids.h"

#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "nn_check.h"

namespace regrad {
namespace {

using testing::message_of;
using Values = std::vector<std::int32_t>;

Values values(const Ids& ids) { return Values(ids.begin(), ids.end()); }

TEST_CASE("ids are integers with a shape") {
  Ids ids{3, 1, 2};
  CHECK(ids.shape() == Shape{3});
  CHECK(ids.size() == 3);
  CHECK(ids[1] == 1);
  CHECK(values(ids) == Values{3, 1, 2});
  CHECK(values(Ids(Shape{2, 2}, 7)) == Values{7, 7, 7, 7});
  CHECK(values(Ids(Shape{2})) == Values{0, 0});
  CHECK(Ids().size() == 0);
  CHECK(Ids(Values{1, 2, 3, 4}, {2, 2}).shape() == Shape{2, 2});
  CHECK(message_of([] { Ids(Values{1, 2, 3}, {2, 2}); }) == "Ids: 3 values for shape [2, 2] of 4");
}

TEST_CASE("ids share their storage until one is written") {
  Ids ids(Values{1, 2, 3, 4, 5, 6}, {3, 2}), copy = ids, row = ids.row(1);
  CHECK(copy.data() == ids.data());
  CHECK(row.data() == ids.data() + 2);
  ids.at(1, 0) = 30;
  CHECK(values(ids) == Values{1, 2, 30, 4, 5, 6});
  CHECK(values(copy) == Values{1, 2, 3, 4, 5, 6});
  CHECK(values(row) == Values{3, 4});
  row.mutable_data()[1] = 40;
  CHECK(values(row) == Values{3, 40});
  CHECK(values(copy) == Values{1, 2, 3, 4, 5, 6});
  const std::int32_t* data = ids.data();
  ids.at(0, 0) = 10;
  CHECK(ids.data() == data);
}

TEST_CASE("rows of ids") {
  Ids ids(Values{1, 2, 3, 4, 5, 6}, {3, 2});
  CHECK(values(ids.narrow(1, 3)) == Values{3, 4, 5, 6});
  CHECK(ids.narrow(1, 3).shape() == Shape{2, 2});
  CHECK(ids.narrow(2, 2).size() == 0);
  CHECK(ids.row(2).shape() == Shape{2});
  CHECK(message_of([&] { ids.narrow(1, 4); }) ==
        "Ids::narrow: rows [1, 4) are outside of shape [3, 2]");
  CHECK(message_of([&] { ids.narrow(2, 1); }) != "");
  CHECK(message_of([&] { ids.row(3); }) == "Ids::row: row 3 is outside of shape [3, 2]");
  CHECK(message_of([&] { ids.row(-1); }) == "Ids::row: row -1 is outside of shape [3, 2]");
  CHECK(message_of([&] { ids.row(INT64_MAX); }) != "");
  CHECK(message_of([] { Ids(Shape{}).row(0); }) == "axis 0 does not exist in shape [] of rank 0");
}

TEST_CASE("ids outside of their shape are errors") {
  Ids ids(Shape{3, 2});
  CHECK(message_of([&] { ids.at(3, 0); }) == "Ids::at: [3, 0] is outside of shape [3, 2]");
  CHECK(message_of([&] { ids.at(0, 2); }) == "Ids::at: [0, 2] is outside of shape [3, 2]");
  CHECK(message_of([&] { ids.at(-1, 0); }) == "Ids::at: [-1, 0] is outside of shape [3, 2]");
  Ids row{1, 2};
  CHECK(message_of([&] { row.at(0, 0); }) == "Ids::at: [0, 0] is outside of shape [2]");
}

TEST_CASE("lengths tell what is valid") {
  Lengths lengths({3, 0, 2}, 4);
  CHECK(lengths.batch() == 3);
  CHECK(lengths.time() == 4);
  CHECK(lengths.total() == 5);
  CHECK(lengths.has_padding());
  CHECK(lengths[0] == 3);
  CHECK(lengths.valid(2, 0));
  CHECK_FALSE(lengths.valid(3, 0));
  CHECK_FALSE(lengths.valid(0, 1));
  Lengths full = Lengths::full(4, 3);
  CHECK(full.total() == 12);
  CHECK_FALSE(full.has_padding());
  CHECK(full.valid(3, 2));
  CHECK_FALSE(Lengths({4, 4}, 4).has_padding());
}

TEST_CASE("lengths of nothing") {
  CHECK(Lengths().batch() == 0);
  CHECK(Lengths().time() == 0);
  CHECK_FALSE(Lengths().has_padding());
  CHECK_FALSE(Lengths::full(0, 3).has_padding());
  CHECK(Lengths({0, 0}, 0).total() == 0);
  CHECK(Lengths({}, 5).batch() == 0);
}

TEST_CASE("impossible lengths are errors") {
  CHECK(message_of([] {
          Lengths({1, 5}, 4);
        }) == "Lengths: sequence 1 has length 5, outside of 0 to 4");
  CHECK(message_of([] { Lengths({-1}, 4); }) ==
        "Lengths: sequence 0 has length -1, outside of 0 to 4");
  CHECK(message_of([] { Lengths({}, -1); }) == "Lengths: time is -1, outside of 0 to 2147483647");
  CHECK(message_of([] { Lengths::full(-1, 2); }) ==
        "Lengths: time is -1, outside of 0 to 2147483647");
  CHECK(message_of([] { Lengths::full(Index{1} << 32, 2); }) ==
        "Lengths: time is 4294967296, outside of 0 to 2147483647");
  CHECK(message_of([] { Lengths::full(2, -1); }) == "shape [-1]: a dimension is negative");
}

TEST_CASE("lengths must be those of the input") {
  Lengths lengths({3, 2}, 3);
  CHECK_NOTHROW(require_lengths(lengths, 3, 2, "gru"));
  CHECK(message_of([&] { require_lengths(lengths, 4, 2, "gru"); }) ==
        "gru: lengths are of 2 sequences of up to 3 steps, the input of 2 of 4");
  CHECK(message_of([&] { require_lengths(lengths, 3, 1, "gru"); }) ==
        "gru: lengths are of 2 sequences of up to 3 steps, the input of 1 of 3");
}

}  // namespace
}  // namespace regrad
