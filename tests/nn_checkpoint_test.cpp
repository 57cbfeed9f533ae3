#include <doctest/doctest.h>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "nn/checkpoint.h"
#include "nn/gru.h"
#include "nn/linear.h"
#include "tests/nn_check.h"

namespace regrad {
namespace {

using testing::contains;
using testing::message_of;
using testing::TemporaryFolder;

struct Model : Module {
  explicit Model(std::uint64_t seed, DType dtype = DType::f32) : Model(Rng(seed), dtype) {}
  Model(Rng rng, DType dtype) : gru(2, 3, rng, dtype), output(3, 4, rng, dtype) {
    tied = output.weight;
  }
  void visit(Visitor& visitor) const override {
    visitor("gru", gru);
    visitor("output", output);
    visitor("tied", tied);
  }
  Var operator()(const Var& x) const {
    return output(gru(x, Lengths::full(x.shape()[0], x.shape()[1])).outputs);
  }
  GRU gru;
  Linear output;
  Parameter tied;
};

bool equal(const Module& a, const Module& b) {
  const std::vector<Parameter> x = parameter_list(a), y = parameter_list(b);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!identical(x[i].value(), y[i].value())) return false;
  }
  return x.size() == y.size();
}

void train(const Model& model, Optimizer& optimizer, Rng& rng) {
  Tape tape;
  const Var y = model(normal({3, 2, 2}, 0, 1, rng));
  optimizer.step(tape.backward(sum(square(y - 1))));
}

}  // namespace

TEST_CASE("parameters saved and loaded give identical outputs; tied ones are stored once") {
  const TemporaryFolder folder;
  const Model model(1), other(2);
  SafeTensors content;
  save_parameters(model, content);
  CHECK(content.tensors.size() == 6);
  CHECK_FALSE(content.tensors.contains("tied"));
  save_safetensors(folder / "x", content);
  load_parameters(other, load_safetensors(folder / "x"));
  CHECK(equal(model, other));
  CHECK(other.tied == other.output.weight);
  const Var x = ones({2, 1, 2});
  CHECK(identical(model(x).value(), other(x).value()));
}

TEST_CASE("what was saved does not change while training goes on") {
  const Model model(1), copy(1);
  SafeTensors content;
  save_parameters(model, content);
  Sgd sgd(model);
  Rng rng(1);
  train(model, sgd, rng);
  CHECK_FALSE(equal(model, copy));
  load_parameters(model, content);
  CHECK(equal(model, copy));
  train(model, sgd, rng);
  load_parameters(model, content);
  CHECK(equal(model, copy));
}

TEST_CASE("a tied parameter may be stored under any of its paths, or under all if they agree") {
  const Model model(1), other(2);
  SafeTensors content;
  save_parameters(model, content);
  const Tensor weight = content.tensors.at("output.weight");
  content.tensors.erase("output.weight");
  content.tensors["tied"] = weight;
  load_parameters(other, content);
  CHECK(equal(model, other));
  content.tensors["output.weight"] = weight.clone();
  load_parameters(other, content);
  content.tensors["output.weight"] = zeros({4, 3});
  CHECK(contains(message_of([&] { load_parameters(other, content); }),
                 "output.weight and tied are tied, but differ"));
}

TEST_CASE("all faults are reported at once and nothing is assigned") {
  const Model model(1), copy(1), other(2);
  SafeTensors content;
  save_parameters(other, content);
  content.tensors.erase("gru.bias_ih_l0");
  content.tensors["gru.weight_ih_l0"] = zeros({9, 3});
  content.tensors["output.bias"] = zeros({4}, DType::f64);
  content.tensors["decoder.x"] = zeros({1});
  const std::string message = message_of([&] { load_parameters(model, content); });
  CHECK(contains(message, "gru.bias_ih_l0 f32 [9] is missing"));
  CHECK(contains(message, "gru.weight_ih_l0 is f32 [9, 3], not f32 [9, 2]"));
  CHECK(contains(message, "output.bias is f64 [4], not f32 [4]"));
  CHECK(contains(message, "decoder.x is unexpected"));
  CHECK(equal(model, copy));
}

TEST_CASE("prefixes keep several things in one file") {
  const Model a(1), b(2), other(3);
  SafeTensors content;
  save_parameters(a, content, "a.");
  save_parameters(b, content, "b.");
  load_parameters(other, content, "b.");
  CHECK(equal(other, b));
  CHECK_THROWS_AS(load_parameters(other, content), Error);
}

TEST_CASE("training resumed from a file goes on with the same bits, wherever it was cut") {
  const TemporaryFolder folder;
  const auto run = [&](int cut) {
    auto model = std::make_unique<Model>(1);
    auto adam = std::make_unique<Adam>(*model);
    Rng rng(5);
    for (int step = 0; step < 5; ++step) {
      if (step == cut) {
        SafeTensors content;
        save_parameters(*model, content, "model.");
        save_optimizer(*adam, content);
        save_safetensors(folder / "last", content);
        model = std::make_unique<Model>(99);
        adam = std::make_unique<Adam>(*model);
        const SafeTensors loaded = load_safetensors(folder / "last");
        load_parameters(*model, loaded, "model.");
        load_optimizer(*adam, loaded);
      }
      train(*model, *adam, rng);
    }
    return model;
  };
  const auto expected = run(-1);
  for (int cut = 0; cut < 5; ++cut) CHECK(equal(*run(cut), *expected));
}

TEST_CASE("a missing or wrong step counter is a named error") {
  const Model model(1);
  Adam adam(model);
  SafeTensors content;
  save_optimizer(adam, content);
  CHECK(content.metadata.at("optimizer.steps") == "0");
  for (const char* steps : {"", "x", "1x", "-1", "99999999999999999999", " 1"}) {
    CAPTURE(std::string(steps));
    content.metadata["optimizer.steps"] = steps;
    CHECK_THROWS_AS(load_optimizer(adam, content), Error);
  }
  content.metadata.clear();
  CHECK(contains(message_of([&] { load_optimizer(adam, content); }), "no optimizer.steps"));
}

}  // namespace regrad
