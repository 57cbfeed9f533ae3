#include "nn/average.h"

#include <string_view>
#include <utility>

#include "nn/match.h"

namespace regrad {
namespace {

class Mean {
 public:
  void add(const SafeTensors& checkpoint, std::string_view operation) {
    if (count_ == 0) start(checkpoint);
    const std::vector<Tensor> found = match_tensors(operation, wanted_, checkpoint.tensors);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const std::vector<double> values = found[i].to_vector();
      for (std::size_t k = 0; k < values.size(); ++k) sums_[i][k] += values[k];
    }
    ++count_;
  }

  SafeTensors result() {
    if (count_ == 0) fail("average: no checkpoints");
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      for (double& value : sums_[i]) value /= count_;
      mean_.tensors[wanted_[i].names[0]] = tensor(sums_[i], wanted_[i].shape, wanted_[i].dtype);
    }
    return std::move(mean_);
  }

 private:
  void start(const SafeTensors& checkpoint) {
    mean_.metadata = checkpoint.metadata;
    for (const auto& [name, value] : checkpoint.tensors) {
      wanted_.push_back({{name}, value.shape(), value.dtype()});
      sums_.emplace_back(static_cast<std::size_t>(value.size()), 0.0);
    }
  }

  SafeTensors mean_;
  std::vector<WantedTensor> wanted_;
  std::vector<std::vector<double>> sums_;
  double count_ = 0;
};

}  // namespace

SafeTensors average(const std::vector<SafeTensors>& checkpoints) {
  Mean mean;
  for (const SafeTensors& checkpoint : checkpoints) mean.add(checkpoint, "average");
  return mean.result();
}

SafeTensors average(const std::vector<std::filesystem::path>& files) {
  Mean mean;
  for (const auto& file : files) {
    mean.add(load_safetensors(file), "average: " + file.string());
  }
  return mean.result();
}

}  // namespace regrad
