#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "autograd/var.h"
#include "ops/ids.h"

namespace regrad {

// One term of a gradient that is a sum of products.
struct ProductTerm {
  Tensor a, b;
  // Without: aᵀb over all leading axes, a weight's gradient. With: the rows b [B, D] spread over
  // their sentences with the weights a [B, S], which gives [S, B, D].
  std::optional<Lengths> lengths;
};

// How the gradient of a step's output becomes the gradient of one input. Lives in the tape's arena.
class Pullback {
 public:
  virtual ~Pullback() = default;
  // May use g's storage for the result.
  virtual Var operator()(Var&& g) const = 0;
  // Of an AddingEdge: adds the gradient to `sum` in place.
  virtual void add(const Tensor&, Tensor&) const {}
  // Of a WeightEdge and a SpreadEdge.
  virtual ProductTerm term(const Tensor&) const { return {}; }
  // Of a ProductEdge, whose gradient is g W: the W.
  virtual const Var* weight() const { return nullptr; }
};

// What the tape does along an edge.
enum class Way : std::uint8_t {
  call,     // the pullback
  pass,     // the gradient on as it is; there is no pullback
  add,      // in place
  gather,   // keep the term: many terms of an input become one product
  product,  // g W, with W packed if it is used again and again
  joint     // the step's joint pullback covers it; there is none of its own
};

// Where a fused operation leaves the gradients of its inputs.
class GradientSink {
 public:
  virtual bool wants(int input) const = 0;
  // Whether the pullback is not called again, so that it may use up what it keeps.
  virtual bool last() const = 0;
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
  virtual void operator()(const Tensor& g, GradientSink& sink) = 0;
};

}  // namespace regrad
