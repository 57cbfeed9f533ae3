#include <iterator>

#include "ops/simd/functions.h"

namespace regrad::ops::simd {
namespace {

template <class Set, class T>
struct Elementwise {
  using B = Batch<Set, T>;
  using Mask = typename B::batch_bool_type;
  using F = Functions<Set, T>;

  static B choose(const Mask& mask, const B& a, const B& b) { return xsimd::select(mask, a, b); }
  static B choose(const Mask& mask, T a, T b) { return xsimd::select(mask, B(a), B(b)); }

  static B copy(const B& x) { return x; }
  static B neg(const B& x) { return x ^ B(T(-0.0)); }  // -x may be 0 - x, which loses -0
  static B abs(const B& x) { return xsimd::abs(x); }
  static B sign(const B& x) { return choose(x > B(T(0)), 1, 0) - choose(x < B(T(0)), 1, 0); }
  static B relu(const B& x) { return choose(x < B(T(0)), B(T(0)), x); }  // keeps NaN
  static B square(const B& x) { return x * x; }
  static B sqrt(const B& x) { return xsimd::sqrt(x); }
  static B rsqrt(const B& x) { return T(1) / xsimd::sqrt(x); }
  static B reciprocal(const B& x) { return T(1) / x; }
  static B gelu(const B& x) {
    return x * (T(0.5) * F::erf(x * (std::numbers::sqrt2_v<T> / 2)) + T(0.5));
  }

  template <B (*f)(const B&)>
  static void each_of(const T* x, T* y, Index n) {
    each<Set, T>(n, [&](auto at) { at.store(y, f(at.load(x))); });
  }

  static void map(Unary op, const T* x, T* y, Index n) {
    using Loop = void (*)(const T*, T*, Index);
    static constexpr Loop loops[] = {
        // in the order of Unary
        each_of<copy>,           each_of<neg>,        each_of<abs>,
        each_of<sign>,           each_of<relu>,       each_of<square>,
        each_of<sqrt>,           each_of<rsqrt>,      each_of<reciprocal>,
        each_of<F::exp>,         each_of<F::expm1>,   each_of<F::log>,
        each_of<F::log1p>,       each_of<F::sin>,     each_of<F::cos>,
        each_of<F::tanh>,        each_of<F::sigmoid>, each_of<F::softplus>,
        each_of<F::log_sigmoid>, each_of<F::erf>,     each_of<gelu>};
    static_assert(std::size(loops) == static_cast<std::size_t>(Unary::gelu) + 1);
    loops[static_cast<std::size_t>(op)](x, y, n);
  }

  static B add(const B& a, const B& b) { return a + b; }
  static B sub(const B& a, const B& b) { return a - b; }
  static B mul(const B& a, const B& b) { return a * b; }
  static B div(const B& a, const B& b) { return a / b; }
  static B pow(const B& a, const B& b) {
    alignas(64) T x[B::size], y[B::size];
    a.store_aligned(x);
    b.store_aligned(y);
    for (std::size_t i = 0; i < B::size; ++i) x[i] = std::pow(x[i], y[i]);
    return B::load_aligned(x);
  }
  static B minimum(const B& a, const B& b) { return choose((a < b) | xsimd::isnan(a), a, b); }
  static B maximum(const B& a, const B& b) { return choose((a > b) | xsimd::isnan(a), a, b); }
  static B share(const B& a, const B& b) {
    return choose(a > b, B(T(0)), choose(a == b, T(0.5), T(1)));
  }
  static B leaky_relu(const B& x, const B& slope) { return choose(x > B(T(0)), x, slope * x); }
  static B elu(const B& x, const B& alpha) { return choose(x > B(T(0)), x, alpha * F::expm1(x)); }
  static B tanh_backward(const B& g, const B& y) { return g * (T(1) - y * y); }
  static B sigmoid_backward(const B& g, const B& y) { return g * (y * (T(1) - y)); }
  static B relu_backward(const B& g, const B& x) { return choose(x > B(T(0)), g, B(T(0))); }
  static B greater(const B& a, const B& b) { return choose(a > b, 1, 0); }
  static B greater_equal(const B& a, const B& b) { return choose(a >= b, 1, 0); }
  static B less(const B& a, const B& b) { return choose(a < b, 1, 0); }
  static B less_equal(const B& a, const B& b) { return choose(a <= b, 1, 0); }
  static B equal(const B& a, const B& b) { return choose(a == b, 1, 0); }
  // xsimd's own != is false for NaN.
  static B not_equal(const B& a, const B& b) { return choose(a == b, 0, 1); }

  template <B (*f)(const B&, const B&)>
  static void each_pair(const T* a, Index a_step, const T* b, Index b_step, T* y, Index n) {
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
    using Loop = void (*)(const T*, Index, const T*, Index, T*, Index);
    static constexpr Loop loops[] = {
        // in the order of Binary
        each_pair<add>,           each_pair<sub>,           each_pair<mul>,
        each_pair<div>,           each_pair<pow>,           each_pair<minimum>,
        each_pair<maximum>,       each_pair<share>,         each_pair<leaky_relu>,
        each_pair<elu>,           each_pair<tanh_backward>, each_pair<sigmoid_backward>,
        each_pair<relu_backward>, each_pair<greater>,       each_pair<greater_equal>,
        each_pair<less>,          each_pair<less_equal>,    each_pair<equal>,
        each_pair<not_equal>};
    static_assert(std::size(loops) == static_cast<std::size_t>(Binary::not_equal) + 1);
    loops[static_cast<std::size_t>(op)](a, a_step, b, b_step, y, n);
  }

  static void select(const T* condition, Index c_step, const T* a, Index a_step, const T* b,
                     Index b_step, T* y, Index n) {
    if (n == 0) return;
    each<Set, T>(n, [&](auto at) {
      B c = c_step ? at.load(condition) : B(*condition);
      B u = a_step ? at.load(a) : B(*a), v = b_step ? at.load(b) : B(*b);
      at.store(y, choose(c == B(T(0)), v, u));
    });
  }

  static void affine(const T* x, T scale, T shift, T* y, Index n) {
    each<Set, T>(n, [&, s = B(scale), t = B(shift)](auto at) { at.store(y, at.load(x) * s + t); });
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
  table.select = K::select;
  table.affine = K::affine;
  table.accumulate = K::accumulate;
}

template void add_elementwise<Set>(Kernels<float>&);
template void add_elementwise<Set>(Kernels<double>&);

}  // namespace regrad::ops::simd
