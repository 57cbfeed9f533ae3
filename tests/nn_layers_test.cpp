#include <cmath>

#include <doctest/doctest.h>

#include "autograd/functions.h"
#include "autograd/gradcheck.h"
#include "autograd/tape.h"
#include "nn/dropout.h"
#include "nn/embedding.h"
#include "nn/gru.h"
#include "nn/init.h"
#include "nn/linear.h"
#include "tests/nn_check.h"

namespace regrad {
namespace {

using testing::contains;
using testing::difference;
using testing::message_of;

struct Pair : Module {
  explicit Pair(Rng& rng) : first(2, 3, rng), second(3, 2, rng) {}
  void visit(Visitor& visitor) const override {
    visitor("first", first);
    visitor("second", second);
    visitor("scale", scale);
  }
  Linear first, second;
  Parameter scale{tensor({1})};
};

struct Nest : Module {
  explicit Nest(Rng& rng) : pair(rng) {}
  void visit(Visitor& visitor) const override {
    visitor("pair", pair);
    visitor("tied", pair.first.weight);
    visitor("last", last);
  }
  Pair pair;
  Parameter last{zeros({2, 2})};
};

struct Clash : Module {
  void visit(Visitor& visitor) const override {
    visitor("x", a);
    visitor("x", b);
  }
  Parameter a{zeros({1})}, b{zeros({1})};
};

struct Empty : Module {
  void visit(Visitor& visitor) const override { visitor("x", a); }
  Parameter a;
};

std::vector<std::string> paths(const std::vector<NamedParameter>& parameters) {
  std::vector<std::string> result;
  for (const NamedParameter& named : parameters) result.push_back(named.path);
  return result;
}

using Strings = std::vector<std::string>;

}  // namespace

TEST_CASE("parameters have the path of their names; tied ones are listed under each") {
  Rng rng(1);
  const Nest nest(rng);
  CHECK(paths(parameters(nest)) == Strings{"pair.first.weight", "pair.first.bias",
                                           "pair.second.weight", "pair.second.bias", "pair.scale",
                                           "tied", "last"});
  CHECK(paths(distinct_parameters(nest)) == Strings{"pair.first.weight", "pair.first.bias",
                                                    "pair.second.weight", "pair.second.bias",
                                                    "pair.scale", "last"});
  CHECK(parameter_list(nest).size() == 6);
  CHECK(count_parameters(nest) == 6 + 3 + 6 + 2 + 1 + 4);
  name_parameters(nest);
  CHECK(nest.pair.first.weight.name() == "pair.first.weight");
  CHECK(nest.last.name() == "last");
}

TEST_CASE("copying a module ties its weights") {
  Rng rng(1);
  const Linear a(2, 3, rng);
  const Linear b = a;
  CHECK(a.weight == b.weight);
  CHECK(a.bias == b.bias);
}

TEST_CASE("a path for two parameters and a path for none are errors") {
  CHECK(contains(message_of([] { parameters(Clash()); }), "share the path x"));
  CHECK(contains(message_of([] { parameters(Empty()); }), "x holds no parameter"));
}

TEST_CASE("sizes below 1 are errors that name the layer and the value") {
  Rng rng(1);
  CHECK(message_of([&] { Linear(0, 3, rng); }) == "linear: inputs must be at least 1, not 0");
  CHECK(message_of([&] { Linear(3, -2, rng); }) == "linear: outputs must be at least 1, not -2");
  CHECK(contains(message_of([&] { Embedding(0, 3, rng); }), "embedding: vocabulary"));
  CHECK(contains(message_of([&] { Embedding(3, 0, rng); }), "embedding: size"));
  CHECK(contains(message_of([&] { GRUCell(0, 3, rng); }), "gru: inputs"));
  CHECK(contains(message_of([&] { GRUCell(3, 0, rng); }), "gru: hidden"));
  CHECK(contains(message_of([&] { GRU(0, 3, rng); }), "gru: inputs"));
  CHECK(contains(message_of([&] { GRU(3, -1, rng); }), "gru: hidden must be at least 1, not -1"));
  CHECK(contains(message_of([&] { GRU(3, 3, rng, DType::f32, {.layers = 0}); }), "gru: layers"));
}

TEST_CASE("initial values have the ranges that their sources give") {
  Rng rng(1);
  const auto largest = [](const Tensor& x) {
    double result = 0;
    for (const double value : x.to_vector()) result = std::max(result, std::abs(value));
    return result;
  };
  const double fan = largest(init::uniform_fan({40, 30}, 25, rng));
  CHECK(fan <= 0.2);
  CHECK(fan > 0.19);
  const double glorot = largest(init::xavier_uniform({40, 20}, rng, DType::f64));
  CHECK(glorot <= std::sqrt(0.1));
  CHECK(glorot > 0.95 * std::sqrt(0.1));
  CHECK_THROWS_AS(init::xavier_uniform({3}, rng), Error);
  CHECK_THROWS_AS(init::orthogonal({3, 0}, rng), Error);
}

TEST_CASE("orthogonal matrices have orthonormal rows or columns") {
  Rng rng(1);
  for (const Shape& shape : {Shape{5, 5}, Shape{3, 7}, Shape{7, 3}, Shape{1, 4}, Shape{1, 1}}) {
    CAPTURE(to_string(shape));
    const Var q = init::orthogonal(shape, rng, DType::f64);
    const bool tall = shape[0] > shape[1];
    const Var product = tall ? matmul(q, q, Trans, NoTrans) : matmul(q, q, NoTrans, Trans);
    for (Index i = 0; i < product.shape()[0]; ++i) {
      for (Index j = 0; j < product.shape()[1]; ++j) {
        CHECK(product.value().at({i, j}) == doctest::Approx(i == j ? 1 : 0).epsilon(1e-14));
      }
    }
  }
}

TEST_CASE("the same seed gives the same weights, another one does not") {
  Rng a(1), b(1), c(2);
  const Linear first(3, 4, a), same(3, 4, b), other(3, 4, c);
  CHECK(identical(first.weight.value(), same.weight.value()));
  CHECK(identical(first.bias.value(), same.bias.value()));
  CHECK_FALSE(identical(first.weight.value(), other.weight.value()));
}

TEST_CASE("linear: value and gradients, with and without bias") {
  Rng rng(1);
  const Linear layer(3, 2, rng, DType::f64);
  layer.weight.assign(tensor({{1, 2, 3}, {4, 5, 6}}, DType::f64));
  layer.bias.assign(tensor({0.5, -0.5}, DType::f64));
  CHECK(identical(layer(tensor({{1, 0, -1}}, DType::f64)).value(),
                  tensor({{-1.5, -2.5}, {0, 0}}, DType::f64).narrow(0, 1)));
  for (const Bias with : {Bias::yes, Bias::no}) {
    const Linear checked(3, 2, rng, DType::f64, with);
    CHECK(parameters(checked).size() == (with == Bias::yes ? 2 : 1));
    std::vector<Parameter> all = parameter_list(checked);
    all.emplace_back(normal({2, 2, 3}, 0, 1, rng, DType::f64));
    const auto report = gradcheck([&] { return checked(all.back()); }, all);
    CHECK_MESSAGE(report.passed, report.to_string());
  }
}

TEST_CASE("embedding: rows, repeated ids, padding that is not read") {
  Rng rng(1);
  const Embedding layer(4, 3, rng, DType::f64);
  const Lengths lengths({2, 1}, 2);
  const Ids ids(std::vector<std::int32_t>{3, 0, 3, 999}, {2, 2});
  const Tensor y = layer(ids, lengths).value();
  CHECK(identical(y[0][0], layer.weight.value()[3]));
  CHECK(identical(y[1][0], layer.weight.value()[3]));
  CHECK(identical(y[1][1], zeros({3}, DType::f64)));
  const auto report = gradcheck([&] { return layer(ids, lengths); }, parameter_list(layer));
  CHECK_MESSAGE(report.passed, report.to_string());
  CHECK(contains(message_of([&] { layer(ids); }), "999"));
}

TEST_CASE("dropout: identity in evaluation, expectation kept in training, bad values named") {
  Rng rng(1);
  const Var x = ones({100, 100});
  CHECK(identical(Dropout(0.5)(x, nullptr).value(), x.value()));
  CHECK(identical(Dropout(0)(x, &rng).value(), x.value()));
  const Tensor y = Dropout(0.25)(x, &rng).value();
  CHECK(mean(Var(y)).item() == doctest::Approx(1).epsilon(0.03));
  for (const double value : y.to_vector()) {
    CHECK((value == 0 || value == doctest::Approx(1 / 0.75)));
  }
  for (const double p : {-0.1, 1.0, 1.5, std::nan("")}) {
    CHECK(contains(message_of([&] { Dropout{p}; }), "dropout: the probability"));
  }
}

TEST_CASE("dropout between layers that has no effect is said so") {
  Rng rng(1);
  CHECK(contains(message_of([&] { GRU(2, 2, rng, DType::f32, {.dropout = 0.3}); }),
                 "dropout 0.3 has no effect"));
}

}  // namespace regrad
