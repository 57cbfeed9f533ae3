#include "examples/seq2seq/parameter_average.h"

#include <string>
#include <vector>

#include <fmt/format.h>

#include "nn/average.h"
#include "nn/checkpoint.h"

namespace regrad::seq2seq {
namespace {

// Shares storage, so only what training changes afterwards is copied.
SafeTensors parameters_of(const Module& module) {
  SafeTensors content;
  save_parameters(module, content);
  return content;
}

std::string prefix_of(std::size_t snapshot) { return fmt::format("average.{}.", snapshot); }

}  // namespace

ParameterAverage::ParameterAverage(const Module& module, Index count)
    : module_(module), count_(static_cast<std::size_t>(count)) {}

void ParameterAverage::push() {
  if (count_ == 1) return;
  snapshots_.push_back(parameters_of(module_));
  if (snapshots_.size() > count_) snapshots_.pop_front();
}

void ParameterAverage::pop() {
  if (count_ > 1) snapshots_.pop_back();
}

ParameterAverage::Applied::Applied(const ParameterAverage& average) : module_(average.module_) {
  if (average.snapshots_.empty()) return;
  own_ = parameters_of(module_);
  load_parameters(module_, regrad::average(std::vector<SafeTensors>(average.snapshots_.begin(),
                                                                    average.snapshots_.end())));
}

ParameterAverage::Applied::~Applied() {
  if (!own_.tensors.empty()) load_parameters(module_, own_);
}

void ParameterAverage::save(SafeTensors& content) const {
  for (std::size_t n = 0; n < snapshots_.size(); ++n) {
    for (const auto& [path, tensor] : snapshots_[n].tensors) {
      content.tensors[prefix_of(n) + path] = tensor;
    }
  }
}

void ParameterAverage::load(const SafeTensors& content) {
  snapshots_.clear();
  std::vector<SafeTensors> all{parameters_of(module_)};
  for (std::size_t n = 0;; ++n) {
    SafeTensors snapshot;
    for (const auto& [name, tensor] : content.tensors) {
      const std::string prefix = prefix_of(n);
      if (name.starts_with(prefix)) snapshot.tensors[name.substr(prefix.size())] = tensor;
    }
    if (snapshot.tensors.empty()) break;
    all.push_back(snapshot);
    snapshots_.push_back(std::move(snapshot));
  }
  regrad::average(all);  // throws for what does not fit
}

}  // namespace regrad::seq2seq
