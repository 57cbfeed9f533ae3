#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "autograd/var.h"

namespace regrad {

// How the gradient of a step's output becomes the gradient of one input. Lives in the tape's arena.
class Pullback {
 public:
  virtual ~Pullback() = default;
  virtual Var operator()(const Var& g) const = 0;
  // Whether add(g, sum) adds the gradient to `sum` in place.
  virtual bool adds() const { return false; }
  virtual void add(const Tensor&, Tensor&) const {}
  // Non-null for a weight's gradient gᵀx: the x. The tape gathers such terms into one product.
  virtual const Var* outer_factor() const { return nullptr; }
};

// Where a fused operation leaves the gradients of its inputs.
class GradientSink {
 public:
  virtual bool wants(int input) const = 0;
  // Adds to the gradient of an input that is wanted.
  virtual void add(int input, Tensor gradient) = 0;
  // The gradient of a wanted input as it stands, zeros at first, to be added to in place.
  virtual Tensor& accumulator(int input) = 0;

 protected:
  ~GradientSink() = default;
};

// The pullback of all inputs of a fused operation at once; first derivatives only.
class JointPullback {
 public:
  virtual ~JointPullback() = default;
  virtual void operator()(const Tensor& g, GradientSink& sink) const = 0;
};

}  // namespace regrad
