#pragma once

#include <memory>
#include <string_view>

#include "autograd/var.h"
#include "nn/module.h"
#include "ops/rng.h"

namespace regrad {

// sin(t / 10000^(2i/E)) in column 2i and the cosine in column 2i + 1, for the steps t from `first`
// on (Vaswani et al. 2017, section 3.5): [time, size]. Throws Error for a negative step or time and
// a size below 1.
Tensor sinusoidal(Index time, Index size, DType dtype = DType::f32, Index first = 0);

// Tells an attention where a step stands, by a vector added to it.
class Positions : public Module {
 public:
  // x [T, B, E] plus the vectors of positions first, first + 1, …: those of one sentence alone or
  // among others are the same.
  Var operator()(const Var& x, Index first = 0) const;

 private:
  virtual Var vectors(Index first, const Var& x) const = 0;  // [T, E]
};

// Without parameters, for sentences of any length.
class SinusoidalPositions : public Positions {
 public:
  void visit(Visitor&) const override {}

 private:
  Var vectors(Index first, const Var& x) const override;
};

// A trained vector for each position up to a longest sentence; a longer one is an Error. Throws
// Error for a size below 1.
class LearnedPositions : public Positions {
 public:
  LearnedPositions(Index longest, Index size, Rng& rng, DType dtype = DType::f32);

  void visit(Visitor& visitor) const override;

  Parameter weight;  // [longest, E], normal at first, with deviation 1 / √E

 private:
  Var vectors(Index first, const Var& x) const override;
};

// By name: `sinusoidal` or `learned`. Throws Error for an unknown name, listing the known ones.
std::unique_ptr<Positions> make_positions(std::string_view name, Index longest, Index size,
                                          Rng& rng, DType dtype = DType::f32);

}  // namespace regrad
