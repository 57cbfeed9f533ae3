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
    B shrink = B(T(c.shrink));
    each<Set, T>(n, [=](auto at) {
      __builtin_prefetch(x + at.i + 256, 1);  // other threads have read x: it may be far away
      B value = at.load(x) * shrink;
      B gradient = at.load(g) + decay * value;
      B mean = beta1 * at.load(m) + rest1 * gradient;
      B square = beta2 * at.load(v) + rest2 * gradient * gradient;
      at.store(m, mean);
      at.store(v, square);
      at.store(x, value - step * mean / (xsimd::sqrt(square) * scale + epsilon));
    });
  }

  static void sgd(T* x, const T* g, T* buffer, Index n, const SgdConstants& c) {
    B rate = B(T(c.learning_rate)), momentum = B(T(c.momentum)), decay = B(T(c.weight_decay));
    each<Set, T>(n, [=, nesterov = c.nesterov](auto at) {
      B value = at.load(x);
      B change = at.load(g) + decay * value;
      if (buffer) {
        B gathered = momentum * at.load(buffer) + change;
        at.store(buffer, gathered);
        change = nesterov ? change + momentum * gathered : gathered;
      }
      at.store(x, value - rate * change);
    });
  }

  static void adadelta(T* x, const T* g, T* squares, T* changes, Index n,
                       const AdadeltaConstants& c) {
    B rate = B(T(c.learning_rate)), rho = B(T(c.rho)), rest = B(T(1 - c.rho));
    B decay = B(T(c.weight_decay)), epsilon = B(T(c.epsilon));
    each<Set, T>(n, [=](auto at) {
      B value = at.load(x), before = at.load(changes);
      B gradient = at.load(g) + decay * value;
      B square = rho * at.load(squares) + rest * gradient * gradient;
      B change = xsimd::sqrt(before + epsilon) / xsimd::sqrt(square + epsilon) * gradient;
      at.store(squares, square);
      at.store(changes, rho * before + rest * change * change);
      at.store(x, value - rate * change);
    });
  }
};

}  // namespace

template <class Set, class T>
void add_optimizer(Kernels<T>& table) {
  table.adam = Optimizer<Set, T>::adam;
  table.sgd = Optimizer<Set, T>::sgd;
  table.adadelta = Optimizer<Set, T>::adadelta;
}

template void add_optimizer<Set>(Kernels<float>&);
template void add_optimizer<Set>(Kernels<double>&);

}  // namespace regrad::ops::simd
