#pragma once

#include <limits>
#include <numbers>

#include "ops/simd/batch.h"

// For kernel sources only: functions on whole vectors, within 3 units in the last place wherever
// the result is a normal number, and right at 0, ±∞ and NaN.
namespace regrad::ops::simd {

template <class Set, class T>
struct Functions {
  using B = Batch<Set, T>;

  // Results below the normal numbers are 0.
  static B exp(const B& x) {
    constexpr bool single = sizeof(T) == 4;
    constexpr T lowest = single ? -87.33654 : -708.396418532264;
    constexpr T highest = single ? 88.722832 : 709.782712893383;
    B k, r;
    reduce(x, k, r);
    Bits exponent = as_bits(k + shifter) << mantissa_bits;
    B y = as_batch(as_bits(expm1_near_zero(r) + T(1)) + exponent);
    y = xsimd::select(x < B(lowest), B(T(0)), y);
    return xsimd::select(x <= B(highest), y, x * std::numeric_limits<T>::max());  // NaN or ∞
  }

  // m / (m + 2) with m = e^(2|x|) - 1, which is accurate for tiny x too.
  static B tanh(const B& x) {
    B k, r;
    B u = xsimd::min(B(T(20)), xsimd::abs(x));  // 1 from here on
    reduce(u + u, k, r);
    B power = power_of_two(k);
    B m = xsimd::fma(power, expm1_near_zero(r), power - T(1));
    return (m / (m + T(2))) | xsimd::bitofsign(x);
  }

  static B sigmoid(const B& x) { return T(1) / (T(1) + exp(-x)); }

  // x = 2ᵏ (1 + f) with sqrt(½) ≤ 1 + f < sqrt(2); s = f / (2 + f);
  // log(1 + f) = 2 artanh(s) = f - s (f - tail), tail = 2 (s²/3 + s⁴/5 + …)
  static B log(const B& x) {
    constexpr T smallest = std::numeric_limits<T>::min(),
                infinity = std::numeric_limits<T>::infinity();
    auto denormal = x < B(smallest);
    Bits bits = as_bits(xsimd::select(denormal, x * (T(1) / epsilon), x));
    Bits shifted = bits + (as_bits(B(T(1))) - as_bits(B(sqrt_half)));
    B k = as_batch((shifted >> mantissa_bits) | as_bits(B(T(1) / epsilon)));
    k = k -
        xsimd::select(denormal, B(T(1) / epsilon + bias + mantissa_bits), B(T(1) / epsilon + bias));
    Bits mantissa = shifted & Bits((Word(1) << mantissa_bits) - 1);
    B f = as_batch(mantissa + as_bits(B(sqrt_half))) - T(1);
    B s = f / (f + T(2)), square = s * s;
    B tail = artanh_series<3>(square) * square * T(2);
    B y = k * ln2_high + (xsimd::fma(-s, f - tail, f) + k * ln2_low);
    B special = xsimd::select(x == B(T(0)), B(-infinity), B(std::numeric_limits<T>::quiet_NaN()));
    return xsimd::select(x > B(T(0)), xsimd::select(x < B(infinity), y, x), special);
  }

 private:
  using Word = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  using Bits = xsimd::batch<Word, typename ArchOf<Set>::type>;

  static constexpr int mantissa_bits = std::numeric_limits<T>::digits - 1;
  static constexpr T bias = std::numeric_limits<T>::max_exponent - 1;
  static constexpr T epsilon = std::numeric_limits<T>::epsilon();
  static constexpr T sqrt_half = std::numbers::sqrt2_v<T> / 2;
  // ln 2 in two parts, the first with so few digits that k times it is exact.
  static constexpr T ln2_high = sizeof(T) == 4 ? 0.693115234375 : 762123384785 * 0x1p-40;
  static constexpr T ln2_low = sizeof(T) == 4 ? 3.1946184945309417e-5 : 7.371002565167799e-13;
  // Added to a number below 2^(mantissa_bits - 1), it leaves an integer in the last bits.
  static constexpr T shifter = T(1.5) / epsilon;

  static Bits as_bits(const B& x) { return xsimd::bitwise_cast<Bits>(x); }
  static B as_batch(const Bits& x) { return xsimd::bitwise_cast<B>(x); }
  static B nearest(const B& x) { return (x + shifter) - shifter; }
  static B power_of_two(const B& k) {
    return as_batch(as_bits(k + (shifter + bias)) << mantissa_bits);
  }

  // x = k ln 2 + r with an integer k and |r| ≤ ½ ln 2.
  static void reduce(const B& x, B& k, B& r) {
    k = nearest(x * std::numbers::log2e_v<T>);
    r = xsimd::fnma(k, B(ln2_low), xsimd::fnma(k, B(ln2_high), x));
  }

  // e^r - 1 by its Taylor series.
  static B expm1_near_zero(const B& r) { return xsimd::fma(r * r, exp_series<2>(r), r); }

  static constexpr T factorial(int n) { return n < 2 ? T(1) : T(n) * factorial(n - 1); }

  template <int n>
  static B exp_series(const B& r) {  // 1/n! + r/(n+1)! + …
    constexpr T coefficient = T(1) / factorial(n);
    if constexpr (n == (sizeof(T) == 4 ? 7 : 13)) {
      return B(coefficient);
    } else {
      return xsimd::fma(exp_series<n + 1>(r), r, B(coefficient));
    }
  }

  template <int n>
  static B artanh_series(const B& square) {  // 1/n + s²/(n+2) + …
    constexpr T coefficient = T(1) / n;
    if constexpr (n == (sizeof(T) == 4 ? 11 : 23)) {
      return B(coefficient);
    } else {
      return xsimd::fma(artanh_series<n + 2>(square), square, B(coefficient));
    }
  }
};

}  // namespace regrad::ops::simd
