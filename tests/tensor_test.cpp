#include "ops/tensor.h"

#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "nn_check.h"

namespace regrad {
namespace {

using testing::message_of;
using Values = std::vector<double>;

TEST_CASE("tensors are made of numbers, with a shape and a type") {
  Tensor x = tensor({1, 2.5, -3});
  CHECK(x.shape() == Shape{3});
  CHECK(x.dtype() == DType::f32);
  CHECK(x.to_vector() == Values{1, 2.5, -3});
  Tensor y = tensor({{1, 2}, {3, 4}, {5, 6}}, DType::f64);
  CHECK(y.shape() == Shape{3, 2});
  CHECK(y.dtype() == DType::f64);
  CHECK(y.bytes() == 48);
  CHECK(y.to_vector() == Values{1, 2, 3, 4, 5, 6});
  CHECK(tensor(Values{1, 2}, {2, 1}).shape() == Shape{2, 1});
  CHECK(zeros({2, 2}).to_vector() == Values(4, 0));
  CHECK(ones({3}, DType::f64).to_vector() == Values(3, 1));
  CHECK(full({2}, -7).to_vector() == Values(2, -7));
  CHECK(scalar(4).shape() == Shape{});
  CHECK(arange(4).to_vector() == Values{0, 1, 2, 3});
  CHECK(arange(0).size() == 0);
  CHECK(Tensor().shape() == Shape{0});
  CHECK(Tensor(Shape{2, 3}).size() == 6);
}

TEST_CASE("faulty numbers are errors") {
  CHECK(message_of([] { tensor({{1, 2}, {3}}); }) == "tensor: rows of 2 and of 1 values");
  CHECK(message_of([] {
          tensor(Values{1, 2, 3}, {2, 2});
        }) == "tensor: 3 values for shape [2, 2] of 4");
  CHECK(message_of([] { zeros({2, -1}); }) == "shape [2, -1]: a dimension is negative");
  CHECK(message_of([] { arange(-1); }) == "arange: -1 numbers");
  CHECK(message_of([] { Tensor({Index{1} << 50}); }) ==
        "out of memory: 4503599627370496 bytes were asked for; smaller batches or a smaller model "
        "take less");
}

TEST_CASE("item and at") {
  Tensor x = tensor({{1, 2, 3}, {4, 5, 6}});
  CHECK(scalar(2.5).item() == 2.5);
  CHECK(full({1, 1}, 3).item() == 3);
  CHECK(x.at({1, 2}) == 6);
  CHECK(x.at({-2, -1}) == 3);
  CHECK(scalar(7, DType::f64).at({}) == 7);
  CHECK(message_of([&] { x.item(); }) == "item: shape [2, 3] has 6 elements, not one");
  CHECK(message_of([&] { Tensor().item(); }) == "item: shape [0] has 0 elements, not one");
  CHECK(message_of([&] { x.at({1}); }) == "at: 1 indices for shape [2, 3] of rank 2");
  CHECK(message_of([&] { x.at({1, 3}); }) == "at: index [1, 3] is outside of shape [2, 3]");
  CHECK(message_of([&] { x.at({-3, 0}); }) == "at: index [-3, 0] is outside of shape [2, 3]");
  CHECK(message_of([&] { x.at({INT64_MIN, 0}); }) != "");
}

TEST_CASE("elements of the wrong type are not read") {
  Tensor x = tensor({1, 2}), y = tensor({1, 2}, DType::f64);
  CHECK(message_of([&] { x.data<double>(); }) ==
        "a tensor of f32 was read as f64; convert it with to(DType::f64)");
  CHECK(message_of([&] { y.mutable_data<float>(); }) ==
        "a tensor of f64 was read as f32; convert it with to(DType::f32)");
  CHECK(message_of([&] { require_same_dtype(x, y, "add"); }) ==
        "add: f32 [2] with f64 [2]; convert one of them with to()");
  CHECK_NOTHROW(require_same_dtype(x, x, "add"));
}

TEST_CASE("conversion") {
  Tensor x = tensor({0.1, 1e300, -2, NAN}, DType::f64);
  Tensor y = x.to(DType::f32);
  CHECK(y.dtype() == DType::f32);
  CHECK(y.at({0}) == static_cast<double>(0.1f));
  CHECK(y.at({1}) == INFINITY);
  CHECK(y.at({2}) == -2);
  CHECK(std::isnan(y.at({3})));
  CHECK(y.to(DType::f64).at({0}) == static_cast<double>(0.1f));
  CHECK(x.to(DType::f64).data<double>() == x.data<double>());
}

TEST_CASE("views show the same numbers") {
  Tensor x = arange(12).reshape({3, 2, 2});
  const float* data = x.data<float>();
  CHECK(x.reshape({2, 6}).data<float>() == data);
  CHECK(x.reshape({2, 6}).at({1, 0}) == 6);
  CHECK(x.narrow(1, 3).data<float>() == data + 4);
  CHECK(x.narrow(1, 3).shape() == Shape{2, 2, 2});
  CHECK(x.narrow(1, 1).size() == 0);
  CHECK(x[1].shape() == Shape{2, 2});
  CHECK(x[1].to_vector() == Values{4, 5, 6, 7});
  CHECK(x[-1][1][0].item() == 10);
  CHECK(scalar(3).reshape({1, 1, 1}).rank() == 3);
  CHECK(zeros({0, 3}).reshape({7, 0}).shape() == Shape{7, 0});
  CHECK(zeros({3, 0}).narrow(1, 2).shape() == Shape{1, 0});
}

TEST_CASE("views that do not exist are errors") {
  Tensor x = zeros({3, 2});
  CHECK(message_of([&] { x.reshape({4}); }) ==
        "reshape: shape [3, 2] of 6 elements cannot become [4] of 4");
  CHECK(message_of([&] { x.narrow(1, 4); }) == "narrow: rows [1, 4) are outside of shape [3, 2]");
  CHECK(message_of([&] { x.narrow(2, 1); }) == "narrow: rows [2, 1) are outside of shape [3, 2]");
  CHECK(message_of([&] { x.narrow(-1, 1); }) == "narrow: rows [-1, 1) are outside of shape [3, 2]");
  CHECK(message_of([&] { x[3]; }) == "row 3 is outside of shape [3, 2]");
  CHECK(message_of([&] { x[-4]; }) == "row -4 is outside of shape [3, 2]");
  CHECK(message_of([&] { scalar(1)[0]; }) == "axis 0 does not exist in shape [] of rank 0");
}

TEST_CASE("a view keeps its numbers alive") {
  Tensor last;
  {
    Tensor x = arange(1000);
    last = x.narrow(990, 1000);
  }
  Tensor other = full({1000}, -1);  // would reuse the block if it were free
  CHECK(last.at({9}) == 999);
  CHECK(arange(5)[3].item() == 3);
}

TEST_CASE("a write copies what another handle can see") {
  Tensor x = arange(6).reshape({3, 2});
  Tensor copy = x, row = x[1], flat = x.reshape({6});
  x.mutable_data<float>()[2] = 100;
  CHECK(x.at({1, 0}) == 100);
  CHECK(copy.at({1, 0}) == 2);
  CHECK(row.at({0}) == 2);
  CHECK(flat.at({2}) == 2);
  row.mutable_data<float>()[0] = -5;
  CHECK(row.to_vector() == Values{-5, 3});
  CHECK(copy.to_vector() == Values{0, 1, 2, 3, 4, 5});
}

TEST_CASE("a sole owner writes in place") {
  Tensor x = arange(6);
  const float* data = x.data<float>();
  x.mutable_data<float>()[0] = 1;
  CHECK(x.data<float>() == data);
  { Tensor gone = x; }
  x.mutable_data<float>()[1] = 2;
  CHECK(x.data<float>() == data);
  Tensor tail = std::move(x).narrow(4, 6);
  x = Tensor();
  tail.mutable_data<float>()[0] = 9;
  CHECK(tail.data<float>() == data + 4);
}

TEST_CASE("clone has numbers of its own") {
  Tensor x = arange(3), y = x.clone();
  CHECK(identical(x, y));
  CHECK(x.data<float>() != y.data<float>());
  CHECK(zeros({0}).clone().size() == 0);
}

TEST_CASE("identical compares bits") {
  Tensor x = tensor({1, NAN, 0});
  CHECK(identical(x, x.clone()));
  CHECK_FALSE(identical(x, tensor({1, NAN, -0.0})));
  CHECK_FALSE(identical(x, x.reshape({3, 1})));
  CHECK_FALSE(identical(tensor({1}), tensor({1}, DType::f64)));
  CHECK(identical(zeros({0, 2}), zeros({0, 2})));
  CHECK_FALSE(identical(zeros({0, 2}), zeros({2, 0})));
}

TEST_CASE("rows of one number are rows") {
  CHECK(tensor({{1}, {2}}).shape() == Shape{2, 1});
  CHECK(tensor({{1}}).shape() == Shape{1, 1});
  CHECK(tensor({1}).shape() == Shape{1});
}

TEST_CASE("a tensor that was moved from has no elements") {
  Tensor x = ones({2, 3}), y = std::move(x);
  CHECK(x.size() == 0);
  CHECK(x.to_vector().empty());
  CHECK(y.shape() == Shape{2, 3});
  x = std::move(y);
  CHECK(y.shape() == Shape{0});
  CHECK(x.to_vector() == std::vector<double>(6, 1));
}

}  // namespace
}  // namespace regrad
