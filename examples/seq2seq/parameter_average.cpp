#include "examples/seq2seq/parameter_average.h"

#include <string>

#include <fmt/format.h>

#include "ops/elementwise.h"
#include "ops/error.h"

namespace regrad::seq2seq {
namespace {

std::string name_of(std::size_t snapshot, const std::string& path) {
  return fmt::format("average.{}.{}", snapshot, path);
}

}  // namespace

ParameterAverage::ParameterAverage(const Module& module, Index count)
    : parameters_(distinct_parameters(module)), count_(static_cast<std::size_t>(count)) {}

// Tensors share their storage until one is written, so only what training changes is copied.
void ParameterAverage::push() {
  if (count_ == 1) return;
  std::vector<Tensor> values;
  for (const NamedParameter& named : parameters_) values.push_back(named.parameter.value());
  snapshots_.push_back(std::move(values));
  if (snapshots_.size() > count_) snapshots_.pop_front();
}

void ParameterAverage::pop() {
  if (count_ > 1) snapshots_.pop_back();
}

ParameterAverage::Applied::Applied(const ParameterAverage& average) : average_(average) {
  const auto& snapshots = average.snapshots_;
  if (snapshots.empty()) return;
  const double share = 1 / static_cast<double>(snapshots.size());
  for (std::size_t i = 0; i < average.parameters_.size(); ++i) {
    const Parameter& parameter = average.parameters_[i].parameter;
    own_.push_back(parameter.value());
    Tensor sum = zeros(parameter.shape(), parameter.value().dtype());
    for (const std::vector<Tensor>& values : snapshots) ops::accumulate(sum, values[i], share);
    parameter.assign(sum);
  }
}

ParameterAverage::Applied::~Applied() {
  for (std::size_t i = 0; i < own_.size(); ++i) average_.parameters_[i].parameter.assign(own_[i]);
}

void ParameterAverage::save(SafeTensors& content) const {
  for (std::size_t n = 0; n < snapshots_.size(); ++n) {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      content.tensors[name_of(n, parameters_[i].path)] = snapshots_[n][i];
    }
  }
}

void ParameterAverage::load(const SafeTensors& content) {
  snapshots_.clear();
  for (std::size_t n = 0; content.tensors.contains(name_of(n, parameters_.front().path)); ++n) {
    std::vector<Tensor> values;
    for (const NamedParameter& named : parameters_) {
      const auto entry = content.tensors.find(name_of(n, named.path));
      if (entry == content.tensors.end() || entry->second.shape() != named.parameter.shape()) {
        fail("{} is missing or of another shape", name_of(n, named.path));
      }
      values.push_back(entry->second);
    }
    snapshots_.push_back(std::move(values));
  }
}

}  // namespace regrad::seq2seq
