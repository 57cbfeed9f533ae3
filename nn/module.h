#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/parameter.h"

namespace regrad {

class Visitor;

// Something with parameters. A module keeps parameters and sizes, nothing from its last call, so
// one module may be applied many times and from several threads. Copying it ties the weights.
class Module {
 public:
  virtual ~Module() = default;
  // Hands every parameter and submodule, with its name, to the visitor, always in the same order.
  virtual void visit(Visitor& visitor) const = 0;
};

// Calls back with every parameter of a module and its path, the names joined by dots.
class Visitor {
 public:
  using Callback = std::function<void(const std::string& path, const Parameter& parameter)>;
  explicit Visitor(Callback callback) : callback_(std::move(callback)) {}

  void operator()(std::string_view name, const Parameter& parameter);
  void operator()(std::string_view name, const Module& module);

 private:
  Callback callback_;
  std::string prefix_;
};

struct NamedParameter {
  std::string path;
  Parameter parameter;
};

// Every path with its parameter: a tied one appears under each of its paths. Throws Error when two
// different parameters share a path.
std::vector<NamedParameter> parameters(const Module& module);
// Every parameter once, under the first of its paths.
std::vector<NamedParameter> distinct_parameters(const Module& module);
// The same without the paths, as gradcheck takes them.
std::vector<Parameter> parameter_list(const Module& module);
// Sets each parameter's name to the first of its paths, for messages.
void name_parameters(const Module& module);
// Number of trained entries; tied parameters count once.
Index count_parameters(const Module& module);

}  // namespace regrad
