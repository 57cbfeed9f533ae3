#pragma once

#include <cmath>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include "ops/error.h"

namespace regrad {

// Training runs in f32, gradient checks in f64. There is no promotion: mixing them is an error.
enum class DType { f32, f64 };

inline std::string_view to_string(DType dtype) { return dtype == DType::f32 ? "f32" : "f64"; }

inline std::size_t size_of(DType dtype) { return dtype == DType::f32 ? 4 : 8; }

template <class T>
constexpr DType dtype_of() {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>);
  return std::is_same_v<T, float> ? DType::f32 : DType::f64;
}

// Calls f with a zero of the element type: visit(dtype, [&](auto zero) { using T = decltype(zero);
// … }).
template <class F>
decltype(auto) visit(DType dtype, F&& f) {
  return dtype == DType::f32 ? f(float{}) : f(double{});
}

// The number as an element of the type holds it: in f32, 1e-50 is 0 and 1e50 infinite.
inline double as_element(double value, DType dtype) {
  return dtype == DType::f32 ? static_cast<double>(static_cast<float>(value)) : value;
}

// Throws Error, naming the operation, unless the number is above 0 and finite as an element.
inline void require_positive(std::string_view operation, std::string_view what, double value,
                             DType dtype) {
  const double held = as_element(value, dtype);
  if (held > 0 && std::isfinite(held)) return;
  fail("{}: {} {} is not above 0 and finite in {}", operation, what, value, to_string(dtype));
}

}  // namespace regrad
