#include <doctest/doctest.h>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "nn/attention.h"
#include "nn/embedding.h"
#include "nn/gru.h"
#include "nn/linear.h"
#include "nn/optimizer.h"
#include "nn/safetensors.h"
#include "tests/nn_check.h"

// Values and gradients from PyTorch; tests/golden/make_golden.py wrote the files.
namespace regrad {
namespace {

using testing::difference;
using Named = std::map<std::string, Var>;

constexpr DType both[] = {DType::f32, DType::f64};

class Golden {
 public:
  Golden(const std::string& name, DType dtype)
      : dtype_(dtype),
        tensors_(load_safetensors(std::string(REGRAD_SOURCE_DIR) + "/tests/golden/" + name + "_" +
                                  std::string(to_string(dtype)) + ".safetensors")
                     .tensors) {}

  const Tensor& operator[](const std::string& name) const {
    if (!tensors_.contains(name)) fail("the golden file has no {}", name);
    return tensors_.at(name);
  }
  Ids ids(const std::string& name) const {
    const Tensor& values = (*this)[name];
    const std::vector<double> numbers = values.to_vector();
    return Ids(std::vector<std::int32_t>(numbers.begin(), numbers.end()), values.shape());
  }
  Lengths lengths(Index time) const {
    const Ids values = ids("lengths");
    return Lengths(std::span(values.begin(), values.end()), time);
  }
  void load(const Module& module) const {
    for (const NamedParameter& named : parameters(module)) {
      named.parameter.assign((*this)["parameter." + named.path]);
    }
  }

  // The outputs, and the gradients of their sum weighted with the file's projections.
  void check(Tape& tape, const Module& module, const Named& inputs, const Named& outputs) const {
    Var loss = zeros({}, dtype_);
    for (const auto& [name, value] : outputs) {
      check_equal(name, value.value());
      loss = loss + sum(value * Var((*this)["projection." + name]));
    }
    const Gradients gradients = tape.backward(loss);
    for (const auto& [name, value] : inputs) check_equal("grad." + name, gradients[value]);
    for (const NamedParameter& named : parameters(module)) {
      check_equal("grad.parameter." + named.path, gradients[named.parameter]);
    }
  }
  void check_equal(const std::string& name, const Tensor& value) const {
    CAPTURE(name);
    CHECK(difference(value, (*this)[name]) < (dtype_ == DType::f32 ? 1e-5 : 1e-10));
  }

 private:
  DType dtype_;
  std::map<std::string, Tensor> tensors_;
};

}  // namespace

TEST_CASE("linear agrees with PyTorch") {
  for (const DType dtype : both) {
    const Golden golden("linear", dtype);
    Rng rng(1);
    const Linear layer(3, 4, rng, dtype);
    golden.load(layer);
    Tape tape;
    const Var x = tape.variable(golden["x"]);
    golden.check(tape, layer, {{"x", x}}, {{"y", layer(x)}});
  }
}

TEST_CASE("embedding agrees with PyTorch") {
  for (const DType dtype : both) {
    const Golden golden("embedding", dtype);
    Rng rng(1);
    const Embedding layer(5, 3, rng, dtype);
    golden.load(layer);
    Tape tape;
    golden.check(tape, layer, {}, {{"y", layer(golden.ids("ids"))}});
  }
}

TEST_CASE("the gru cell agrees with PyTorch") {
  for (const DType dtype : both) {
    const Golden golden("gru_cell", dtype);
    Rng rng(1);
    const GRUCell cell(3, 4, rng, dtype);
    golden.load(cell);
    Tape tape;
    const Var x = tape.variable(golden["x"]), h = tape.variable(golden["h"]);
    golden.check(tape, cell, {{"x", x}, {"h", h}}, {{"y", cell(x, h)}});
  }
}

TEST_CASE("gru agrees with PyTorch's over a packed sequence of uneven lengths") {
  for (const DType dtype : both) {
    const Golden golden("gru", dtype);
    Rng rng(1);
    const GRU gru(3, 4, rng, dtype);
    golden.load(gru);
    Tape tape;
    const Var x = tape.variable(golden["x"]);
    const Lengths lengths = golden.lengths(5);
    const RecurrentOutput y = gru(x, lengths);
    golden.check(tape, gru, {{"x", x}},
                 {{"outputs", masked_fill(y.outputs, lengths, 0)}, {"final", y.final[0]}});
  }
}

TEST_CASE("gru of two layers and both directions with an initial state agrees with PyTorch") {
  for (const DType dtype : both) {
    const Golden golden("gru_deep", dtype);
    Rng rng(1);
    const GRU gru(3, 4, rng, dtype, {.layers = 2, .bidirectional = true});
    golden.load(gru);
    Tape tape;
    const Var x = tape.variable(golden["x"]), initial = tape.variable(golden["initial"]);
    const Lengths lengths = golden.lengths(5);
    const RecurrentOutput y = gru(x, {initial}, lengths);
    golden.check(tape, gru, {{"x", x}, {"initial", initial}},
                 {{"outputs", masked_fill(y.outputs, lengths, 0)}, {"final", y.final[0]}});
  }
}

TEST_CASE("cross-entropy agrees with PyTorch: ignored labels, label smoothing, sum") {
  for (const DType dtype : both) {
    const Golden golden("losses", dtype);
    const Ids labels = golden.ids("labels");
    const Lengths lengths = golden.lengths(3);
    const std::map<std::string, CrossEntropyOptions> variants{
        {"plain", {}},
        {"smoothed", {.label_smoothing = 0.1}},
        {"sum", {.label_smoothing = 0.1, .mean = false}}};
    for (const auto& [name, options] : variants) {
      Tape tape;
      const Var logits = tape.variable(golden["logits"]);
      const Var loss = cross_entropy(logits, labels, lengths, options);
      golden.check_equal(name + ".loss", loss.value().reshape({1}));
      golden.check_equal(name + ".grad", tape.backward(loss)[logits]);
    }
  }
}

TEST_CASE("attention agrees with PyTorch") {
  for (const DType dtype : both) {
    const Golden golden("attention", dtype);
    Rng rng(1);
    const AttentionOptions options{.query_size = 5, .key_size = 5, .attention_size = 6};
    const Attention additive("additive", "soft", options, rng, dtype);
    const Attention dot("dot", "soft", options, rng, dtype);
    golden.load(additive);
    Tape tape;
    const Var query = tape.variable(golden["query"]);
    const Var annotations = tape.variable(golden["annotations"]);
    const Lengths lengths = golden.lengths(4);
    const auto once = [&](const Attention& attention) {
      const AttentionMemory memory = attention.prepare(annotations, lengths);
      return attention(query, memory, attention.start(memory));
    };
    const AttentionOutput a = once(additive), d = once(dot);
    golden.check(tape, additive, {{"query", query}, {"annotations", annotations}},
                 {{"additive.context", a.context},
                  {"additive.weights", a.weights},
                  {"dot.context", d.context},
                  {"dot.weights", d.weights}});
  }
}

namespace {

// The parameter after each of the file's gradients.
void check_trajectory(const Golden& golden, const std::string& name, const Parameter& parameter,
                      Optimizer& optimizer) {
  CAPTURE(name);
  std::vector<Var> trajectory;
  const Tensor& gradients = golden["gradients"];
  for (Index step = 0; step < gradients.shape()[0]; ++step) {
    Tape tape;
    const Var loss = sum(parameter * Var(gradients[step]));
    optimizer.step(tape.backward(loss));
    trajectory.emplace_back(parameter.value().clone());
  }
  golden.check_equal(name, stack(trajectory).value());
}

}  // namespace

TEST_CASE("optimizers take the same steps as PyTorch's") {
  for (const DType dtype : both) {
    const Golden golden("optimizers", dtype);
    const auto check = [&](const std::string& name, const auto& make) {
      const Parameter parameter(golden["start"].clone());
      auto optimizer = make(std::vector<NamedParameter>{{"x", parameter}});
      check_trajectory(golden, name, parameter, *optimizer);
    };
    const auto sgd = [](const SgdOptions& options) {
      return [options](auto parameters) { return std::make_unique<Sgd>(parameters, options); };
    };
    const auto adam = [](const AdamOptions& options) {
      return [options](auto parameters) { return std::make_unique<Adam>(parameters, options); };
    };
    check("sgd", sgd({.learning_rate = 0.1}));
    check("sgd_momentum", sgd({.learning_rate = 0.1, .momentum = 0.9}));
    check("sgd_decay", sgd({.learning_rate = 0.05, .momentum = 0.8, .weight_decay = 0.1}));
    check("adam", adam({.learning_rate = 0.05}));
    check("adam_options", adam({.learning_rate = 0.02,
                                .beta1 = 0.7,
                                .beta2 = 0.9,
                                .epsilon = 1e-3,
                                .weight_decay = 0.1}));
  }
}

}  // namespace regrad
