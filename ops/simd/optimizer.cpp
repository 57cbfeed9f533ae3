#include "ops/simd/batch.h"

namespace regrad::ops::simd {
namespace {

template <class Set, class T>
struct Optimizer {
  using B = Batch<Set, T>;

  static void adam(T* x, const T* g, T* m, T* v, Index n, const AdamConstants& c) {
    B beta1 = B(T(c.beta1)), beta2 = B(T(c.beta2)), decay = B(T(c.weight_decay));
    B rest1 = B(T(1 - c.beta1)), rest2 = B(T(1 - c.beta2));
    B step = B(T(c.step_size)), scale = B(T(c.root_scale)), epsilon = B(T(c.epsilon));
    each<Set, T>(n, [=](auto at) {
      B value = at.load(x);
      B gradient = at.load(g) + decay * value;
      B mean = beta1 * at.load(m) + rest1 * gradient;
      B square = beta2 * at.load(v) + rest2 * gradient * gradient;
      at.store(m, mean);
      at.store(v, square);
      at.store(x, value - step * mean / (xsimd::sqrt(square) * scale + epsilon));
    });
  }
};

}  // namespace

template <class Set, class T>
void add_optimizer(Kernels<T>& table) {
  table.adam = Optimizer<Set, T>::adam;
}

template void add_optimizer<Set>(Kernels<float>&);
template void add_optimizer<Set>(Kernels<double>&);

}  // namespace regrad::ops::simd
