#include "ops/simd/batch.h"

namespace regrad::ops::simd {
namespace {

template <class Set, class T>
struct Reductions {
  static T sum(const T* x, Index n) {
    return accumulate_sum<Set, T>(n, [&](auto at) { return at.load(x); });
  }

  static T dot(const T* a, const T* b, Index n) {
    return accumulate_sum<Set, T>(n, [&](auto at) { return at.load(a) * at.load(b); });
  }

  static double sum_squares(const T* x, Index n) {
    double sums[4] = {};
    Index i = 0;
    for (; i + 4 <= n; i += 4) {
      for (int k = 0; k < 4; ++k) sums[k] += static_cast<double>(x[i + k]) * x[i + k];
    }
    for (; i < n; ++i) sums[0] += static_cast<double>(x[i]) * x[i];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }
};

}  // namespace

template <class Set, class T>
void add_reductions(Kernels<T>& table) {
  using K = Reductions<Set, T>;
  table.sum = K::sum;
  table.dot = K::dot;
  table.sum_squares = K::sum_squares;
}

template void add_reductions<Set>(Kernels<float>&);
template void add_reductions<Set>(Kernels<double>&);

}  // namespace regrad::ops::simd
