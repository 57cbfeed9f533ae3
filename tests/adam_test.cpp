#include <cmath>

#include <doctest/doctest.h>

#include "ops/optimizer.h"
#include "ops_check.h"

namespace regrad::ops {
namespace {

using namespace regrad::testing;

const simd::AdamConstants constants{.step_size = 0.1,
                                    .root_scale = 2,
                                    .beta1 = 0.9,
                                    .beta2 = 0.999,
                                    .epsilon = 1e-8,
                                    .weight_decay = 0.01};

TEST_CASE_TEMPLATE("adam_step follows its formula", T, float, double) {
  Tensor x = random_tensor({3, 7}, dtype_of<T>(), 1);
  Tensor m = zeros({3, 7}, dtype_of<T>()), v = m;  // one storage
  std::vector<double> values = x.to_vector(), means(21), squares(21);
  for (std::uint64_t step = 0; step < 20; ++step) {
    Tensor g = random_tensor({3, 7}, dtype_of<T>(), 100 + step), before = x;
    adam_step(x, g, m, v, constants);
    CHECK(difference(before, x) > 0);
    for (std::size_t i = 0; i < values.size(); ++i) {
      double gradient = g.to_vector()[i] + 0.01 * values[i];
      means[i] = 0.9 * means[i] + 0.1 * gradient;
      squares[i] = 0.999 * squares[i] + 0.001 * gradient * gradient;
      values[i] -= 0.1 * means[i] / (2 * std::sqrt(squares[i]) + 1e-8);
    }
  }
  const double tolerance = sizeof(T) == 4 ? 1e-4 : 1e-12;
  CHECK(difference(x, tensor(values, {3, 7}, dtype_of<T>())) < tolerance);
  CHECK(difference(m, tensor(means, {3, 7}, dtype_of<T>())) < tolerance);
  CHECK(difference(v, tensor(squares, {3, 7}, dtype_of<T>())) < tolerance);
}

TEST_CASE("adam_step refuses what does not fit") {
  auto message = [](const Shape& shape, DType dtype) {
    Tensor x = zeros({2, 3}), m = x, v = x, other = zeros(shape, dtype);
    return message_of([&] { adam_step(x, other, m, v, constants); });
  };
  CHECK(message({2, 3}, DType::f32) == "");
  CHECK(message({3, 2}, DType::f32) == "adam_step: shapes [2, 3] and [3, 2]");
  CHECK(message({2, 3}, DType::f64) ==
        "adam_step: f32 [2, 3] with f64 [2, 3]; convert one of them with to()");
}

TEST_CASE("sgd_step and adadelta_step refuse what does not fit") {
  Tensor x = zeros({2, 3}), same = x, other = zeros({3, 2});
  CHECK(message_of([&] { sgd_step(x, same, nullptr, {0.1, 0, 0, false}); }) == "");
  CHECK(message_of([&] {
          sgd_step(x, other, nullptr, {0.1, 0, 0, false});
        }) == "sgd_step: shapes [2, 3] and [3, 2]");
  CHECK(message_of([&] {
          sgd_step(x, same, &other, {0.1, 0, 0, false});
        }) == "sgd_step: shapes [2, 3] and [3, 2]");
  CHECK(message_of([&] {
          adadelta_step(x, same, same, other, {1, 0.9, 1e-6, 0});
        }) == "adadelta_step: shapes [2, 3] and [3, 2]");
}

TEST_CASE_TEMPLATE("an entry's step does not depend on its position", T, float, double) {
  const DType dtype = dtype_of<T>();
  for (const Index size : {1, 3, 8, 17, 40}) {
    Tensor x = full({size}, 0.7, dtype), buffer = full({size}, 0.2, dtype), y = x, u = buffer,
           v = buffer;
    const Tensor g = full({size}, -1.3, dtype);
    sgd_step(x, g, &buffer, {0.1, 0.9, 0.01, true});
    adadelta_step(y, g, u, v, {1, 0.9, 1e-6, 0.01});
    for (const Tensor& each : {x, y, buffer, u, v}) {
      for (const double value : each.to_vector()) CHECK(value == each.at({0}));
    }
  }
}

}  // namespace
}  // namespace regrad::ops
