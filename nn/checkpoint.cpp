#include "nn/checkpoint.h"

#include <charconv>
#include <unordered_map>

#include "nn/match.h"

namespace regrad {
namespace {

constexpr const char* steps_key = "steps";

// The tensors whose names begin with the prefix, without it.
std::map<std::string, Tensor> part(const SafeTensors& content, const std::string& prefix) {
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, tensor] : content.tensors) {
    if (name.starts_with(prefix)) tensors.emplace(name.substr(prefix.size()), tensor);
  }
  return tensors;
}

Index parse_steps(const SafeTensors& content, const std::string& key) {
  const auto entry = content.metadata.find(key);
  if (entry == content.metadata.end()) fail("load_optimizer: the metadata has no {}", key);
  const std::string& text = entry->second;
  Index steps = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, steps);
  if (error != std::errc{} || stop != end) {
    fail("load_optimizer: {} in the metadata is `{}`, not a number", key, text);
  }
  return steps;
}

}  // namespace

void save_parameters(const Module& module, SafeTensors& content, const std::string& prefix) {
  for (const NamedParameter& named : distinct_parameters(module)) {
    content.tensors.insert_or_assign(prefix + named.path, named.parameter.value());
  }
}

void load_parameters(const Module& module, const SafeTensors& content, const std::string& prefix) {
  std::vector<WantedTensor> wanted;
  std::vector<Parameter> targets;
  std::unordered_map<const void*, std::size_t> position;
  for (const auto& [path, parameter] : parameters(module)) {
    const auto [entry, is_new] = position.emplace(parameter.key(), wanted.size());
    if (is_new) {
      wanted.push_back({{}, parameter.shape(), parameter.value().dtype()});
      targets.push_back(parameter);
    }
    wanted[entry->second].names.push_back(path);
  }
  const std::vector<Tensor> found = match_tensors("load_parameters", wanted, part(content, prefix));
  for (std::size_t i = 0; i < found.size(); ++i) targets[i].assign(found[i]);
}

void save_optimizer(const Optimizer& optimizer, SafeTensors& content, const std::string& prefix) {
  const OptimizerState state = optimizer.state();
  for (const auto& [name, tensor] : state.tensors) {
    content.tensors.insert_or_assign(prefix + name, tensor);
  }
  content.metadata[prefix + steps_key] = std::to_string(state.steps);
}

void load_optimizer(Optimizer& optimizer, const SafeTensors& content, const std::string& prefix) {
  optimizer.load_state({parse_steps(content, prefix + steps_key), part(content, prefix)});
}

}  // namespace regrad
