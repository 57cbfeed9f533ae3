#pragma once

#include <map>
#include <string>

#include <doctest/doctest.h>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "nn/checkpoint.h"
#include "nn/safetensors.h"
#include "tests/nn_check.h"

// Layers of PyTorch as tests/golden/make_transformer.py wrote them.
namespace regrad::testing {

using Named = std::map<std::string, Var>;

class LayerGolden {
 public:
  LayerGolden(const std::string& name, DType dtype)
      : content_(load_safetensors(std::string(REGRAD_SOURCE_DIR) + "/tests/golden/" + name + "_" +
                                  std::string(to_string(dtype)) + ".safetensors")),
        tolerance_(dtype == DType::f32 ? 1e-5 : 1e-10) {}

  const Tensor& operator[](const std::string& name) const {
    if (!content_.tensors.contains(name)) fail("the golden file has no {}", name);
    return content_.tensors.at(name);
  }

  // The state dictionary, strictly.
  void load(const Module& module) const {
    SafeTensors state;
    for (const auto& [name, value] : content_.tensors) {
      if (name.starts_with("parameter.")) state.tensors[name] = value;
    }
    load_parameters(module, state, "parameter.");
  }

  // The outputs, and the gradients of their sum weighted with the file's projections.
  void check(Tape& tape, const Module& module, const Named& inputs, const Named& outputs) const {
    Var loss = zeros({}, (*this)["x"].dtype());
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

 private:
  void check_equal(const std::string& name, const Tensor& value) const {
    CAPTURE(name);
    CHECK(difference(value, (*this)[name]) < tolerance_);
  }

  SafeTensors content_;
  double tolerance_;
};

}  // namespace regrad::testing
