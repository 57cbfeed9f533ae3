#include <doctest/doctest.h>

#include "nn/average.h"
#include "tests/nn_check.h"

namespace regrad {
namespace {

using testing::contains;
using testing::message_of;

SafeTensors checkpoint(double a, double b) {
  return {{{"a", full({2, 2}, a)}, {"b", full({3}, b, DType::f64)}},
          {{"epoch", fmt::format("{}", a)}}};
}

}  // namespace

TEST_CASE("the average is the mean of each tensor in its own type") {
  const SafeTensors mean = average({checkpoint(1, 5), checkpoint(2, -1), checkpoint(6, 0.5)});
  CHECK(identical(mean.tensors.at("a"), full({2, 2}, 3)));
  CHECK(identical(mean.tensors.at("b"), full({3}, 1.5, DType::f64)));
  CHECK(mean.metadata.at("epoch") == "1");
  CHECK(identical(average({checkpoint(0.1, 0.1)}).tensors.at("a"), full({2, 2}, 0.1)));
}

TEST_CASE("the sum is exact where f32 would lose the small ones") {
  std::vector<SafeTensors> checkpoints(1001, checkpoint(1, 1));
  checkpoints[0] = checkpoint(1e8, 1);
  const double expected = (1e8 + 1000) / 1001;
  CHECK(identical(average(checkpoints).tensors.at("a"), full({2, 2}, expected)));
}

TEST_CASE("files are averaged as their contents") {
  const testing::TemporaryFolder folder;
  save_safetensors(folder / "one", checkpoint(1, 2));
  save_safetensors(folder / "two", checkpoint(3, 4));
  const std::vector<std::filesystem::path> files{folder / "one", folder / "two"};
  CHECK(identical(average(files).tensors.at("b"), full({3}, 3, DType::f64)));
  SafeTensors other = checkpoint(1, 2);
  other.tensors["c"] = zeros({1});
  save_safetensors(folder / "two", other);
  const std::string message = message_of([&] { average(files); });
  CHECK(contains(message, "two"));
  CHECK(contains(message, "c is unexpected"));
}

TEST_CASE("checkpoints that differ are refused, every fault listed") {
  SafeTensors other = checkpoint(1, 2);
  other.tensors["a"] = zeros({4});
  other.tensors["b"] = zeros({3});
  const std::string message = message_of([&] { average({checkpoint(1, 2), other}); });
  CHECK(contains(message, "a is f32 [4], not f32 [2, 2]"));
  CHECK(contains(message, "b is f32 [3], not f64 [3]"));
  other.tensors.erase("a");
  CHECK(contains(message_of([&] { average({checkpoint(1, 2), other}); }), "is missing"));
  CHECK(contains(message_of([&] { average(std::vector<SafeTensors>{}); }), "no checkpoints"));
}

}  // namespace regrad
