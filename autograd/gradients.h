#pragma once

#include <cstdint>
#include <vector>

#include "autograd/parameter.h"
#include "autograd/var.h"
#include "ops/storage.h"

namespace regrad {

// What Tape::backward returns: one gradient per variable and parameter that took part.
class Gradients {
 public:
  struct Entry {
    Parameter parameter;  // empty for a variable
    std::int32_t node;
    Tensor gradient;
  };
  using Entries = std::vector<Entry, PoolAllocator<Entry>>;

  Gradients() = default;
  Gradients(std::uint64_t tape, Entries entries) : tape_(tape), entries_(std::move(entries)) {}

  // The gradient of a leaf, of its shape. Throws Error for a value that is no leaf of that tape.
  const Tensor& operator[](const Var& variable) const;
  // Throws Error for a parameter that did not take part; see contains.
  const Tensor& operator[](const Parameter& parameter) const;
  bool contains(const Parameter& parameter) const;
  bool contains(const Var& leaf) const;

  const Entries& entries() const { return entries_; }
  Entries& entries() { return entries_; }

  // Adds other's gradients, parameter by parameter: micro-batches, shards of a batch.
  void add(const Gradients& other);
  // Multiplies every gradient.
  void scale(double factor);

 private:
  std::uint64_t tape_ = 0;
  Entries entries_;
};

}  // namespace regrad
