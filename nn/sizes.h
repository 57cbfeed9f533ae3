#pragma once

#include <string_view>

#include "ops/error.h"
#include "ops/shape.h"

namespace regrad {

// Throws Error for a size below 1, naming the layer and the value.
inline void require_size(std::string_view layer, std::string_view what, Index size) {
  if (size < 1) fail("{}: {} must be at least 1, not {}", layer, what, size);
}

}  // namespace regrad
