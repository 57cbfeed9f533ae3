#pragma once

#include <stdexcept>
#include <utility>

#include <fmt/core.h>

namespace regrad {

// What a caller can cause: the message names the operation, the values and, where there is a usual
// cause, the mend.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws Error with a formatted message.
template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace regrad
