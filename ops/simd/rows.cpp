#include "ops/simd/batch.h"

namespace regrad::ops::simd {
namespace {

template <class Set, class T>
struct Rows {
  using B = Batch<Set, T>;

  // The largest element; NaN elements count as the smallest.
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

  static void exp_minus(const T* x, T shift, T factor, T* y, Index n) {
    each<Set, T>(n, [&, s = B(shift), f = B(factor)](auto at) {
      at.store(y, f * xsimd::exp(at.load(x) - s));
    });
  }

  static void softmax(const T* x, T* y, Index n) {
    if (n == 0) return;
    exp_minus(x, largest(x, n), T(1), y, n);
    T total = accumulate_sum<Set, T>(n, [&](auto at) { return at.load(y); });
    each<Set, T>(n, [&, t = B(total)](auto at) { at.store(y, at.load(y) / t); });
  }

  static T log_sum_exp(const T* x, Index n) {
    T top = largest(x, n);
    T total = T(0);
    Index i = 0;
    B sums = B(T(0));
    for (; i + Index(B::size) <= n; i += B::size)
      sums += xsimd::exp(B::load_unaligned(x + i) - top);
    total = fold<Set, T>(sums, T(0), [](T a, T b) { return a + b; });
    if (i < n) {
      B rest = xsimd::exp(Tail<Set, T>{i, n - i}.load(x) - top);
      alignas(64) T lanes[B::size];
      rest.store_aligned(lanes);
      for (Index k = 0; k < n - i; ++k) total += lanes[k];
    }
    alignas(64) T lanes[B::size];
    xsimd::log(B(total)).store_aligned(lanes);
    return top + lanes[0];
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
