#include "ops/simd/functions.h"

namespace regrad::ops::simd {
namespace {

template <class Set, class T>
struct Elementwise {
  using B = Batch<Set, T>;

  template <class F>
  static void apply(const T* x, T* y, Index n, const F& f) {
    each<Set, T>(n, [&](auto at) { at.store(y, f(at.load(x))); });
  }

  static void map(Unary op, const T* x, T* y, Index n) {
    switch (op) {
      case Unary::copy:
        return apply(x, y, n, [](B v) { return v; });
      case Unary::neg:
        return apply(x, y, n, [](B v) { return -v; });
      case Unary::exp:
        return apply(x, y, n, [](B v) { return Functions<Set, T>::exp(v); });
      case Unary::log:
        return apply(x, y, n, [](B v) { return Functions<Set, T>::log(v); });
      case Unary::square:
        return apply(x, y, n, [](B v) { return v * v; });
      case Unary::sqrt:
        return apply(x, y, n, [](B v) { return xsimd::sqrt(v); });
      case Unary::tanh:
        return apply(x, y, n, [](B v) { return Functions<Set, T>::tanh(v); });
      case Unary::sigmoid:
        return apply(x, y, n, [](B v) { return Functions<Set, T>::sigmoid(v); });
      case Unary::relu:  // keeps NaN
        return apply(x, y, n, [](B v) { return xsimd::select(v < B(T(0)), B(T(0)), v); });
      case Unary::positive:
        return apply(x, y, n, [](B v) { return xsimd::select(v > B(T(0)), B(T(1)), B(T(0))); });
    }
  }

  template <class F>
  static void combine(const T* a, Index a_step, const T* b, Index b_step, T* y, Index n,
                      const F& f) {
    if (n == 0) return;
    if (a_step && b_step) {
      each<Set, T>(n, [&](auto at) { at.store(y, f(at.load(a), at.load(b))); });
    } else if (a_step) {
      each<Set, T>(n, [&, v = B(*b)](auto at) { at.store(y, f(at.load(a), v)); });
    } else {
      each<Set, T>(n, [&, v = B(*a)](auto at) { at.store(y, f(v, b_step ? at.load(b) : B(*b))); });
    }
  }

  static void zip(Binary op, const T* a, Index a_step, const T* b, Index b_step, T* y, Index n) {
    switch (op) {
      case Binary::add:
        return combine(a, a_step, b, b_step, y, n, [](B u, B v) { return u + v; });
      case Binary::sub:
        return combine(a, a_step, b, b_step, y, n, [](B u, B v) { return u - v; });
      case Binary::mul:
        return combine(a, a_step, b, b_step, y, n, [](B u, B v) { return u * v; });
      case Binary::div:
        return combine(a, a_step, b, b_step, y, n, [](B u, B v) { return u / v; });
    }
  }

  static void affine(const T* x, T scale, T shift, T* y, Index n) {
    apply(x, y, n, [s = B(scale), t = B(shift)](B v) { return v * s + t; });
  }

  static void accumulate(T* y, const T* x, T factor, Index n) {
    each<Set, T>(
        n, [&, f = B(factor)](auto at) { at.store(y, xsimd::fma(f, at.load(x), at.load(y))); });
  }
};

}  // namespace

template <class Set, class T>
void add_elementwise(Kernels<T>& table) {
  using K = Elementwise<Set, T>;
  table.map = K::map;
  table.zip = K::zip;
  table.affine = K::affine;
  table.accumulate = K::accumulate;
}

template void add_elementwise<Set>(Kernels<float>&);
template void add_elementwise<Set>(Kernels<double>&);

}  // namespace regrad::ops::simd
