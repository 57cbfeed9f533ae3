#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "autograd/tape.h"
#include "nn/recurrent.h"
#include "nn/safetensors.h"
#include "tests/nn_check.h"

// Cells and layers against PyTorch's over packed sequences of uneven lengths: outputs, final states
// and all gradients. tests/golden/make_recurrent.py wrote the files.
namespace regrad {
namespace {

constexpr Index inputs = 2, hidden = 3, batch = 3, steps = 5;

// One case of a file, in the type asked for.
class Case {
 public:
  Case(const std::map<std::string, Tensor>& tensors, std::string prefix, DType dtype)
      : tensors_(tensors), prefix_(std::move(prefix)), dtype_(dtype) {}

  Tensor operator[](const std::string& name) const {
    const auto found = tensors_.find(prefix_ + name);
    if (found == tensors_.end()) fail("the golden file has no {}{}", prefix_, name);
    return found->second.to(dtype_);
  }
  Lengths lengths() const {
    const std::vector<double> values = (*this)["lengths"].to_vector();
    return Lengths(std::vector<std::int32_t>(values.begin(), values.end()), steps);
  }
  RecurrentState state(Tape& tape) const {
    RecurrentState state{tape.variable((*this)["h"])};
    if (tensors_.contains(prefix_ + "c")) state.push_back(tape.variable((*this)["c"]));
    return state;
  }
  void load(const Module& module) const {
    for (const NamedParameter& named : parameters(module)) {
      named.parameter.assign((*this)["parameter." + named.path]);
    }
  }
  // Relative to the largest entry.
  void check_equal(const std::string& name, const Tensor& value) const {
    const std::string full_name = prefix_ + name;
    CAPTURE(full_name);
    const Tensor expected = (*this)[name];
    REQUIRE(value.shape() == expected.shape());
    const std::vector<double> x = value.to_vector(), y = expected.to_vector();
    double largest = 0, error = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      largest = std::max(largest, std::abs(y[i]));
      error = std::isnan(x[i]) ? INFINITY : std::max(error, std::abs(x[i] - y[i]));
    }
    CHECK(error <= (dtype_ == DType::f32 ? 1e-5 : 1e-10) * largest);
  }

 private:
  const std::map<std::string, Tensor>& tensors_;
  std::string prefix_;
  DType dtype_;
};

// What was computed, and the gradients of its sum weighted with the file's projections.
void check(const Case& golden, Tape& tape, const Module& module, const Var& x,
           const RecurrentState& initial, std::map<std::string, Var> outputs,
           const RecurrentState& final_states) {
  for (std::size_t k = 0; k < final_states.size(); ++k) {
    outputs[k == 0 ? "final_h" : "final_c"] = final_states[k];
  }
  Var loss = zeros({}, x.dtype());
  for (const auto& [name, value] : outputs) {
    golden.check_equal(name, value.value());
    loss += sum(value * Var(golden["projection." + name]));
  }
  const Gradients gradients = tape.backward(loss);
  golden.check_equal("grad.x", gradients[x]);
  for (std::size_t k = 0; k < initial.size(); ++k) {
    golden.check_equal(k == 0 ? "grad.h" : "grad.c", gradients[initial[k]]);
  }
  for (const NamedParameter& named : parameters(module)) {
    golden.check_equal("grad.parameter." + named.path, gradients[named.parameter]);
  }
}

template <class F>
void each_kind(const F& f) {
  for (const std::string_view kind : recurrent_names()) {
    CAPTURE(kind);
    const auto file = load_safetensors(std::string(REGRAD_SOURCE_DIR) + "/tests/golden/recurrent_" +
                                       std::string(kind) + ".safetensors");
    for (const DType dtype : {DType::f32, DType::f64}) f(kind, file.tensors, dtype);
  }
}

}  // namespace

TEST_CASE("every recurrent cell agrees with PyTorch's") {
  each_kind([](std::string_view kind, const auto& tensors, DType dtype) {
    const Case golden(tensors, "cell/", dtype);
    Rng rng(1);
    const auto cell = make_cell(kind, inputs, hidden, rng, dtype);
    golden.load(*cell);
    Tape tape;
    const Var x = tape.variable(golden["x"]);
    const RecurrentState state = golden.state(tape);
    check(golden, tape, *cell, x, state, {}, (*cell)(x, state));
  });
}

TEST_CASE("every recurrent layer agrees with PyTorch's: 1 to 3 layers, one direction and both") {
  each_kind([](std::string_view kind, const auto& tensors, DType dtype) {
    for (const Index layers : {1, 2, 3}) {
      for (const bool both : {false, true}) {
        const Case golden(tensors, fmt::format("{}/{}/", layers, both ? "both" : "forward"), dtype);
        Rng rng(1);
        const auto layer = make_recurrent(kind, inputs, hidden, rng, dtype,
                                          {.layers = layers, .bidirectional = both});
        golden.load(*layer);
        Tape tape;
        const Var x = tape.variable(golden["x"]);
        const RecurrentState initial = golden.state(tape);
        const Lengths lengths = golden.lengths();
        REQUIRE(x.shape() == Shape{steps, batch, inputs});
        const RecurrentOutput y = (*layer)(x, initial, lengths);
        check(golden, tape, *layer, x, initial, {{"outputs", masked_fill(y.outputs, lengths, 0)}},
              y.final);
      }
    }
  });
}

}  // namespace regrad
