#include "ops/simd/batch.h"

namespace regrad::ops::simd {
namespace {

template <class Set, class T>
struct Reductions {
  using B = Batch<Set, T>;

  static T sum(const T* x, Index n) {
    return accumulate_sum<Set, T>(n, [&](auto at) { return at.load(x); });
  }

  // The one element that `better` puts before all others.
  template <class F>
  static T best(const T* x, Index n, const F& better) {
    constexpr Index width = B::size;
    alignas(64) T lanes[B::size];
    B(x[0]).store_aligned(lanes);
    std::memcpy(lanes, x, static_cast<std::size_t>(n < width ? n : width) * sizeof(T));
    B top = B::load_aligned(lanes);
    for (Index i = width; i < n; i += width) {  // the last vector ends with the last element
      B v = B::load_unaligned(x + (i + width <= n ? i : n - width));
      top = xsimd::select(better(v, top) | xsimd::isnan(v), v, top);
    }
    return fold<Set, T>(top, x[0], [&](T a, T b) { return better(b, a) || b != b ? b : a; });
  }

  static T largest(const T* x, Index n) {
    return best(x, n, [](const auto& a, const auto& b) { return a > b; });
  }
  static T smallest(const T* x, Index n) {
    return best(x, n, [](const auto& a, const auto& b) { return a < b; });
  }

  static T dot(const T* a, const T* b, Index n) {
    return accumulate_sum<Set, T>(n, [&](auto at) { return at.load(a) * at.load(b); });
  }

  static double sum_squares(const T* x, Index n) {
    constexpr Index lanes = 2 * B::size;  // enough that no addition waits for the one before
    double sums[lanes] = {};
    for (Index i = 0; i + lanes <= n; i += lanes) {
      for (Index k = 0; k < lanes; ++k) sums[k] += static_cast<double>(x[i + k]) * x[i + k];
    }
    double total = 0;
    for (Index i = n - n % lanes; i < n; ++i) total += static_cast<double>(x[i]) * x[i];
    for (double sum : sums) total += sum;
    return total;
  }
};

}  // namespace

template <class Set, class T>
void add_reductions(Kernels<T>& table) {
  using K = Reductions<Set, T>;
  table.sum = K::sum;
  table.largest = K::largest;
  table.smallest = K::smallest;
  table.dot = K::dot;
  table.sum_squares = K::sum_squares;
}

template void add_reductions<Set>(Kernels<float>&);
template void add_reductions<Set>(Kernels<double>&);

}  // namespace regrad::ops::simd
