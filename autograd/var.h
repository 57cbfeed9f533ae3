#pragma once

#include <cstdint>
#include <utility>

#include "autograd/parameter.h"
#include "ops/tensor.h"

namespace regrad {

// A tensor that a tape may be watching. Without a tape it is just a constant; so a Tensor becomes a
// Var wherever one is expected, and a Parameter becomes a watched one while a tape records.
class Var {
 public:
  Var() = default;
  Var(const Tensor& value) : value_(value) {}        // NOLINT: implicit by design
  Var(Tensor&& value) : value_(std::move(value)) {}  // NOLINT: implicit by design
  Var(const Parameter& parameter);                   // NOLINT: implicit by design

  const Tensor& value() const& { return value_; }
  Tensor value() && { return std::move(value_); }
  const Shape& shape() const { return value_.shape(); }
  DType dtype() const { return value_.dtype(); }
  int rank() const { return value_.rank(); }
  Index size() const { return value_.size(); }
  double item() const { return value_.item(); }
  bool watched() const { return tape_ != 0; }
  // The same numbers, watched by no tape: no gradient flows back from here.
  Var detach() const { return Var(value_); }

 private:
  friend class Tape;
  friend class Gradients;
  Var(Tensor&& value, std::uint64_t tape, std::int32_t node)
      : value_(std::move(value)), tape_(tape), node_(node) {}

  Tensor value_;
  std::uint64_t tape_ = 0;  // serial number of the tape; 0: none
  std::int32_t node_ = -1;  // position on that tape
};

}  // namespace regrad

template <>
struct fmt::formatter<regrad::Var> : fmt::formatter<regrad::Tensor> {
  auto format(const regrad::Var& var, fmt::format_context& context) const {
    return fmt::formatter<regrad::Tensor>::format(var.value(), context);
  }
};
