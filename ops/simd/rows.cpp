#include "ops/simd/functions.h"

namespace regrad::ops::simd {
namespace {

template <class Set, class T>
struct Rows {
  using B = Batch<Set, T>;
  static constexpr T infinity = std::numeric_limits<T>::infinity();

  // The largest element. A NaN may be passed over: it makes the row NaN all the same.
  static T largest(const T* x, Index n) {
    T largest = x[0];
    if (n >= Index(B::size)) {
      B top = B::load_unaligned(x);
      for (Index i = B::size; i + Index(B::size) <= n; i += B::size) {
        top = xsimd::max(B::load_unaligned(x + i), top);
      }
      largest = fold<Set, T>(top, largest, [](T a, T b) { return b > a ? b : a; });
    }
    for (Index i = n - n % Index(B::size); i < n; ++i) largest = x[i] > largest ? x[i] : largest;
    return largest;
  }

  static void exp_minus(const T* x, Shift<T> shift, T factor, T* y, Index n) {
    each<Set, T>(n, [&, s = B(shift.high), t = B(shift.low), f = B(factor)](auto at) {
      at.store(y, f * Functions<Set, T>::exp((at.load(x) - s) - t));
    });
  }

  static void softmax(const T* x, T* y, Index n) {
    if (n == 0) return;
    T top = largest(x, n);
    exp_minus(x, {top == -infinity ? T(0) : top, T(0)}, T(1), y, n);
    T total = accumulate_sum<Set, T>(n, [&](auto at) { return at.load(y); });
    if (total == T(0)) return;  // nothing but -∞: as over no entries at all
    each<Set, T>(n, [&, t = B(total)](auto at) { at.store(y, at.load(y) / t); });
  }

  // Knuth's sum of two numbers in any order; without a number where it is infinite.
  static Shift<T> exact_sum(T a, T b) {
    const T high = a + b, from_b = high - a;
    return {high, (a - (high - from_b)) + (b - from_b)};
  }

  static Shift<T> log_sum_exp(const T* x, Index n) {
    T top = n ? largest(x, n) : -infinity;
    if (std::fabs(top) == infinity) top = T(0);
    alignas(64) T lanes[B::size];
    Index i = 0;
    B sums = B(T(0));
    for (; i + Index(B::size) <= n; i += B::size) {
      sums += Functions<Set, T>::exp(B::load_unaligned(x + i) - top);
    }
    T total = add_lanes<Set, T>(sums);
    if (i < n) {
      Functions<Set, T>::exp(Tail<Set, T>{i, n - i}.load(x) - top).store_aligned(lanes);
      for (Index k = 0; k < n - i; ++k) total += lanes[k];
    }
    Functions<Set, T>::log(B(total)).store_aligned(lanes);
    return exact_sum(top, lanes[0]);
  }
};

}  // namespace

template <class Set, class T>
void add_rows(Kernels<T>& table) {
  using K = Rows<Set, T>;
  table.softmax = K::softmax;
  table.log_sum_exp = K::log_sum_exp;
  table.exp_minus = K::exp_minus;
}

template void add_rows<Set>(Kernels<float>&);
template void add_rows<Set>(Kernels<double>&);

}  // namespace regrad::ops::simd
