#include "nn/match.h"

#include <set>

#include <fmt/ranges.h>

namespace regrad {
namespace {

std::string describe(const Shape& shape, DType dtype) {
  return fmt::format("{} {}", to_string(dtype), shape);
}

}  // namespace

std::vector<Tensor> match_tensors(std::string_view operation,
                                  const std::vector<WantedTensor>& wanted,
                                  const std::map<std::string, Tensor>& given) {
  std::vector<std::string> faults;
  std::vector<Tensor> found;
  std::set<std::string> known;
  for (const WantedTensor& want : wanted) {
    known.insert(want.names.begin(), want.names.end());
    const Tensor* first = nullptr;
    for (const std::string& name : want.names) {
      const auto entry = given.find(name);
      if (entry == given.end()) continue;
      const Tensor& tensor = entry->second;
      if (!(tensor.shape() == want.shape) || tensor.dtype() != want.dtype) {
        faults.push_back(fmt::format("{} is {}, not {}", name,
                                     describe(tensor.shape(), tensor.dtype()),
                                     describe(want.shape, want.dtype)));
      } else if (first && !identical(*first, tensor)) {
        faults.push_back(fmt::format("{} and {} are tied, but differ", want.names[0], name));
      }
      if (!first) first = &tensor;
    }
    if (first) {
      found.push_back(*first);
    } else {
      faults.push_back(
          fmt::format("{} {} is missing", want.names[0], describe(want.shape, want.dtype)));
    }
  }
  for (const auto& [name, tensor] : given) {
    if (!known.contains(name)) faults.push_back(fmt::format("{} is unexpected", name));
  }
  if (!faults.empty()) fail("{}: {}", operation, fmt::join(faults, "; "));
  return found;
}

}  // namespace regrad
