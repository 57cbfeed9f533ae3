#include "autograd/tape.h"

#include <algorithm>
#include <atomic>

#include "ops/error.h"

namespace regrad {
namespace {

std::uint64_t next_serial() {
  static std::atomic<std::uint64_t> serial{0};
  return ++serial;
}

}  // namespace

namespace detail {

Recording::Recording(Tape* recorder, std::shared_ptr<const ParameterValues> values)
    : tape(recorder), outer_(innermost), values_(std::move(values)) {
  if (!values_ && outer_) values_ = outer_->values_;
  innermost = this;
}

Recording::~Recording() {
  Recording** link = &innermost;  // usually the innermost one
  while (*link && *link != this) link = &(*link)->outer_;
  if (*link) *link = outer_;
}

const ops::Packed* Recording::packed(const Tensor& weight, Transpose transpose, Index rows) {
  constexpr std::size_t most_weights = 4096;  // of a pause that sees ever new ones
  if (!ops::are_few_rows(rows) || weight.rank() != 2) return nullptr;
  const void* address = visit(
      weight.dtype(), [&](auto zero) -> const void* { return weight.data<decltype(zero)>(); });
  const Key key{address, weight.shape()[0], weight.shape()[1], transpose};
  if (packed_.size() >= most_weights) packed_.clear();
  const auto [known, is_new] = packed_.try_emplace(key, PackedWeight{weight});
  PackedWeight& entry = known->second;
  if (is_new) return nullptr;
  if (!entry.repeated) entry.packed = ops::Packed(weight, transpose);
  entry.repeated = true;
  return &entry.packed;
}

const Tensor& Recording::value_of(const Parameter& parameter) const {
  if (!values_) return parameter.value();
  const auto found = values_->find(parameter.key());
  return found == values_->end() ? parameter.value() : found->second;
}

const ops::Packed* packed(const Tensor& weight, Transpose transpose, Index rows) {
  return innermost ? innermost->packed(weight, transpose, rows) : nullptr;
}

}  // namespace detail

Tape::Tape(const TapeOptions& options)
    : options_(options),
      profile_(options.profile ? std::make_unique<Profile>() : nullptr),
      serial_(next_serial()),
      recording_(this) {
  steps_.reserve(1024);
  edges_.reserve(2048);
}

Tape::~Tape() {
  for (std::size_t i = 0; i < std::min(steps_.size(), released_from_); ++i) {
    release_step(i, edges_end(i));
  }
}

void Tape::fail_foreign(const char* operation) const {
  fail(
      "{}: an input was recorded on another tape, or on one that has ended; record everything on "
      "one tape, or pass the value on with detach()",
      operation);
}

Var Tape::variable(Tensor value) { return add_leaf(std::move(value), Parameter()); }

Var Tape::add_leaf(Tensor value, const Parameter& parameter) {
  Var leaf = begin_step("leaf", std::move(value));
  leaves_.push_back({leaf.node_, parameter});
  return leaf;
}

Var Tape::watch(const Parameter& parameter) {
  if (2 * (leaves_.size() + 1) > parameter_table_.size()) grow_parameter_table();
  std::int32_t& slot = parameter_slot(parameter);
  const Tensor& value = recording_.value_of(parameter);
  if (slot >= 0) return Var(Tensor(value), serial_, leaves_[slot].node);
  slot = static_cast<std::int32_t>(leaves_.size());
  return add_leaf(value, parameter);
}

std::int32_t& Tape::parameter_slot(const Parameter& parameter) {
  std::size_t mask = parameter_table_.size() - 1;
  std::size_t i =
      (reinterpret_cast<std::uintptr_t>(parameter.key()) >> 4) * 0x9E3779B97F4A7C15u >> 20;
  for (;; ++i) {
    std::int32_t& slot = parameter_table_[i & mask];
    if (slot < 0 || leaves_[slot].parameter == parameter) return slot;
  }
}

void Tape::grow_parameter_table() {
  parameter_table_.assign(std::max<std::size_t>(64, 2 * parameter_table_.size()), -1);
  for (std::size_t i = 0; i < leaves_.size(); ++i) {
    if (leaves_[i].parameter) parameter_slot(leaves_[i].parameter) = static_cast<std::int32_t>(i);
  }
}

Var Tape::begin_step(const char* name, Tensor&& value) {
  if (consumed_) {
    fail("{}: this tape was consumed by backward; open a new Tape for every step", name);
  }
  if (profile_) profile_->recorded();
  auto node = static_cast<Node>(steps_.size());
  steps_.push_back({name, value.shape(), value.dtype(), static_cast<std::uint32_t>(edges_.size())});
  return Var(std::move(value), serial_, node);
}

Var::Var(const Parameter& parameter) {
  if (!parameter) fail("Var: the parameter holds nothing; assign it a tensor first");
  Tape* tape = Tape::active();
  *this = tape ? tape->watch(parameter) : Var(detail::value_of(parameter));
}

void Parameter::assign(const Tensor& value) const {
  if (!(value.shape() == shape()) || value.dtype() != node_->value.dtype()) {
    fail("assign: parameter {} is {} {}, the value {} {}", name(), to_string(node_->value.dtype()),
         shape(), to_string(value.dtype()), value.shape());
  }
  node_->value = value;
}

}  // namespace regrad
