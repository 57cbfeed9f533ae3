#pragma once

#include <memory>
#include <string>

#include "ops/tensor.h"

namespace regrad {

// A trained tensor. A shared handle: copying it ties weights (one gradient, one optimizer state,
// once in a checkpoint). Two handles are equal when they hold the same parameter.
class Parameter {
 public:
  Parameter() = default;  // holds nothing until it is assigned another handle
  explicit Parameter(Tensor value) : node_(std::make_shared<Node>(Node{std::move(value), {}})) {}

  // These throw Error for a handle that holds nothing.
  const Tensor& value() const { return node().value; }
  const Shape& shape() const { return value().shape(); }
  // For writing in place: what a tape recorded keeps its numbers, as shared storage is copied
  // first.
  Tensor& mutable_value() const { return node().value; }
  // Replaces the value. Throws Error unless shape and type stay the same.
  void assign(const Tensor& value) const;

  // The path within its module, `encoder.weight_ih_l0`; empty until a module names it.
  const std::string& name() const { return node().name; }
  void set_name(std::string name) const { node().name = std::move(name); }

  explicit operator bool() const { return node_ != nullptr; }
  const void* key() const { return node_.get(); }  // stable while a handle lives
  friend bool operator==(const Parameter& a, const Parameter& b) { return a.node_ == b.node_; }

 private:
  struct Node {
    Tensor value;
    std::string name;
  };
  Node& node() const {
    if (!node_) fail("parameter: this handle holds nothing; assign it a parameter first");
    return *node_;
  }
  std::shared_ptr<Node> node_;
};

}  // namespace regrad
