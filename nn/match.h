#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ops/tensor.h"

namespace regrad {

// A tensor that a file must have.
struct WantedTensor {
  std::vector<std::string> names;  // any of these
  Shape shape;
  DType dtype;
};

// The given tensor for each wanted one. Throws one Error that lists whatever is missing,
// unexpected, of another shape or type, or stands under several names with different numbers.
std::vector<Tensor> match_tensors(std::string_view operation,
                                  const std::vector<WantedTensor>& wanted,
                                  const std::map<std::string, Tensor>& given);

}  // namespace regrad
