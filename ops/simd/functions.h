#pragma once

#include <cmath>
#include <iterator>
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

  static B expm1(const B& x) {
    constexpr bool single = sizeof(T) == 4;
    constexpr T lowest = single ? -20 : -40;  // -1 from here on
    constexpr T highest = single ? 88.722832 : 709.782712893383;
    B k, r;
    reduce(xsimd::max(B(lowest), x), k, r);
    B top = xsimd::min(B(bias), k);  // 2ᵏ may be no number where e^x still is
    B power = power_of_two(top);
    B y = xsimd::fma(power, expm1_near_zero(r), power - T(1)) * power_of_two(k - top);
    y = xsimd::select(x <= B(highest), y, x * std::numeric_limits<T>::max());  // NaN or ∞
    return y | xsimd::bitofsign(x);
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

  // log(1 + e^x) and -log(1 + e^-x), without a large power.
  static B softplus(const B& x) {
    return xsimd::select(x > B(T(0)), x, B(T(0))) + log1p(exp(-xsimd::abs(x)));
  }
  static B log_sigmoid(const B& x) {
    return xsimd::select(x < B(T(0)), x, B(T(0))) - log1p(exp(-xsimd::abs(x)));
  }

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

  // log(u) + (x - (u - 1)) / u with the rounded u = 1 + x.
  static B log1p(const B& x) {
    B u = x + T(1);
    B lost = xsimd::select(x < B(T(1)), x - (u - T(1)), T(1) - (u - x));
    B y = log(u);
    auto ordinary = (x > B(T(-1))) & (x < B(std::numeric_limits<T>::infinity()));
    return xsimd::select(ordinary, y + lost / u, y) | xsimd::bitofsign(x);
  }

  static B sin(const B& x) {
    B k, r, u = xsimd::abs(x);
    reduce_quarters(u, k, r);
    B y = sin_of_quarter(k, r) ^ xsimd::bitofsign(x);
    return beyond_quarters(x, u, y, [](T v) { return std::sin(v); });
  }

  static B cos(const B& x) {
    B k, r, u = xsimd::abs(x);
    reduce_quarters(u, k, r);
    return beyond_quarters(x, u, sin_of_quarter(k + T(1), r), [](T v) { return std::cos(v); });
  }

  // Taylor's series below ¾, above it 1 - e^(-x²) P(s) with s = (x - 2) / (x + 2) and P(s) nearest
  // to e^(x²) erfc(x), weighted by e^(-x²): within 7e-10 (f32) and 2e-17 up to the last x whose erf
  // is not 1.
  static B erf(const B& x) {
    B u = xsimd::min(B(sizeof(T) == 4 ? T(4.2) : T(6.2)), xsimd::abs(x));
    B square = u * u;
    B near = u * erf_series<0>(square);
    B far = T(1) - exp(-square) * scaled_erfc((u - T(2)) / (u + T(2)));
    return xsimd::select(u < B(T(0.75)), near, far) | xsimd::bitofsign(x);
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

  // x = k π/2 + r with |r| ≤ π/4. All parts of π/2 but the last have so few digits that k times
  // them is exact for x up to `last_quarter`: r is right to its last digits next to a zero too.
  static constexpr T last_quarter = sizeof(T) == 4 ? 1600 : 1.6e6;
  static void reduce_quarters(const B& x, B& k, B& r) {
    constexpr bool single = sizeof(T) == 4;
    constexpr T parts[] = {single ? T(12867 * 0x1p-13) : T(3373259426 * 0x1p-31),
                           single ? T(15786 * 0x1p-27) : T(560513588 * 0x1p-63),
                           single ? T(2181 * 0x1p-41) : T(3301335691 * 0x1p-95),
                           single ? T(2.896073972e-13) : T(1.27065587601398779e-29)};
    k = nearest(x * (2 / std::numbers::pi_v<T>));
    r = x;
    for (T part : parts) r = xsimd::fnma(k, B(part), r);
  }

  // sin(k π/2 + r)
  static B sin_of_quarter(const B& k, const B& r) {
    B square = r * r;
    B sine = xsimd::fnma(r * square, sine_series<3>(square), r);
    B cosine = xsimd::fma(square * square, sine_series<4>(square), T(1) - square * T(0.5));
    auto even = T(2) * nearest(k * T(0.5)) == k;
    B minus = as_batch((as_bits(k + shifter) & Bits(2)) << (8 * sizeof(T) - 2));
    return xsimd::select(even, sine, cosine) ^ minus;
  }

  template <int n>
  static B sine_series(const B& square) {  // 1/n! - r²/(n+2)! + …
    constexpr T coefficient = T(1) / factorial(n);
    if constexpr (n + 2 > (sizeof(T) == 4 ? 10 : 17)) {
      return B(coefficient);
    } else {
      return xsimd::fnma(sine_series<n + 2>(square), square, B(coefficient));
    }
  }

  // y, but f(x) in each lane that is too far from 0.
  template <class F>
  static B beyond_quarters(const B& x, const B& distance, const B& y, const F& f) {
    if (!xsimd::any(distance > B(last_quarter))) return y;
    alignas(64) T from[B::size], to[B::size];
    x.store_aligned(from);
    y.store_aligned(to);
    for (std::size_t i = 0; i < B::size; ++i) {
      if (std::fabs(from[i]) > last_quarter) to[i] = f(from[i]);
    }
    return B::load_aligned(to);
  }

  template <int n>
  static B erf_series(const B& square) {  // 2/√π (-1)ⁿ (1/(n! (2n+1)) - x²/((n+1)! (2n+3)) + …)
    constexpr T coefficient =
        (n % 2 ? -2 : 2) * std::numbers::inv_sqrtpi_v<T> / factorial(n) / (2 * n + 1);
    if constexpr (n == (sizeof(T) == 4 ? 8 : 15)) {
      return B(coefficient);
    } else {
      return xsimd::fma(erf_series<n + 1>(square), square, B(coefficient));
    }
  }

  static B scaled_erfc(const B& s) {
    if constexpr (sizeof(T) == 4) {
      return polynomial(s, {T(0.2553956964), T(-0.4271861771), T(0.2416461941), T(-0.07907037549),
                            T(0.00348618921), T(0.006964852797)});
    } else {
      return polynomial(
          s, {T(0.255395676310506092), T(-0.427185847413987815), T(0.241658194241658422),
              T(-0.0789785810143726393), T(0.00373289254417178488), T(0.00699746254689326925),
              T(-0.000847146395939852638), T(-0.000982021167283104355), T(0.0000434412803237990127),
              T(0.000174640419347142047), T(0.000029750882576551497), T(-0.0000226405424732168621),
              T(-9.98595647396098677e-6)});
    }
  }

  template <std::size_t n>
  static B polynomial(const B& s, const T (&coefficients)[n]) {  // lowest power first
    B y = B(coefficients[n - 1]);
    for (std::size_t i = n - 1; i-- > 0;) y = xsimd::fma(y, s, B(coefficients[i]));
    return y;
  }
};

}  // namespace regrad::ops::simd
