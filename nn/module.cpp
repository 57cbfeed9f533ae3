#include "nn/module.h"

#include <unordered_map>
#include <unordered_set>

#include "ops/error.h"

namespace regrad {

void Visitor::operator()(std::string_view name, const Parameter& parameter) {
  callback_(prefix_ + std::string(name), parameter);
}

void Visitor::operator()(std::string_view name, const Module& module) {
  const std::size_t outer_size = prefix_.size();
  prefix_.append(name).push_back('.');
  module.visit(*this);
  prefix_.resize(outer_size);
}

std::vector<NamedParameter> parameters(const Module& module) {
  std::vector<NamedParameter> found;
  std::unordered_map<std::string, Parameter> by_path;
  Visitor visitor([&](const std::string& path, const Parameter& parameter) {
    if (!parameter) fail("parameters: {} holds no parameter", path);
    const auto [entry, is_new] = by_path.emplace(path, parameter);
    if (is_new) {
      found.push_back({path, parameter});
    } else if (entry->second != parameter) {
      fail("parameters: two different parameters share the path {}; give one another name", path);
    }
  });
  module.visit(visitor);
  return found;
}

std::vector<NamedParameter> distinct_parameters(const Module& module) {
  std::vector<NamedParameter> all = parameters(module);
  std::unordered_set<const void*> seen;
  std::erase_if(
      all, [&](const NamedParameter& named) { return !seen.insert(named.parameter.key()).second; });
  return all;
}

std::vector<Parameter> parameter_list(const Module& module) {
  std::vector<Parameter> list;
  for (const NamedParameter& named : distinct_parameters(module)) list.push_back(named.parameter);
  return list;
}

void name_parameters(const Module& module) {
  for (const NamedParameter& named : distinct_parameters(module)) {
    named.parameter.set_name(named.path);
  }
}

Index count_parameters(const Module& module) {
  Index count = 0;
  for (const Parameter& parameter : parameter_list(module)) count += parameter.value().size();
  return count;
}

}  // namespace regrad
