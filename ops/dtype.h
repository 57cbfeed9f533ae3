#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>

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

}  // namespace regrad
