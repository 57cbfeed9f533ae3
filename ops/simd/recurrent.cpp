#include "ops/simd/functions.h"

namespace regrad::ops::simd {
namespace {

template <class Set, class T>
struct Recurrent {
  using B = Batch<Set, T>;
  using F = Functions<Set, T>;

  // h' = f(x + hidden)
  static void rnn(Nonlinearity f, const T* x, const T* from_hidden, T* h_next, Index size) {
    if (f == Nonlinearity::tanh) {
      each<Set, T>(size,
                   [=](auto at) { at.store(h_next, F::tanh(at.load(x) + at.load(from_hidden))); });
    } else {
      each<Set, T>(size, [=](auto at) {
        B sum = at.load(x) + at.load(from_hidden);
        at.store(h_next, xsimd::select(sum < B(T(0)), B(T(0)), sum));  // keeps NaN
      });
    }
  }

  // f' from h' alone: 1 - h'² or h' > 0
  static void rnn_backward(Nonlinearity f, const T* g, const T* h_next, T* g_gates, Index size) {
    if (f == Nonlinearity::tanh) {
      each<Set, T>(size, [=](auto at) {
        B h = at.load(h_next);
        at.store(g_gates, at.load(g) * (T(1) - h * h));
      });
    } else {
      each<Set, T>(size, [=](auto at) {
        at.store(g_gates, xsimd::select(at.load(h_next) > B(T(0)), at.load(g), B(T(0))));
      });
    }
  }

  // i = σ(x_i + h_i), f = σ(x_f + h_f), g = tanh(x_g + h_g), o = σ(x_o + h_o),
  // c' = f c + i g, h' = o tanh(c')
  static void lstm(const T* x, const T* from_hidden, const T* c, T* h_next, T* c_next, T* kept,
                   Index size) {
    each<Set, T>(size, [=](auto at) {
      auto gate = [&](Index k) { return at.load(x + k * size) + at.load(from_hidden + k * size); };
      B i = F::sigmoid(gate(0)), f = F::sigmoid(gate(1)), g = F::tanh(gate(2));
      B o = F::sigmoid(gate(3));
      B next = f * at.load(c) + i * g;
      B squashed = F::tanh(next);
      at.store(c_next, next);
      at.store(h_next, o * squashed);
      at.store(kept, i);
      at.store(kept + size, f);
      at.store(kept + 2 * size, g);
      at.store(kept + 3 * size, o);
      at.store(kept + 4 * size, squashed);
    });
  }

  static void lstm_backward(const T* g_h, const T* g_c_next, const T* kept, const T* c, T* g_gates,
                            T* g_c, Index size) {
    each<Set, T>(size, [=](auto at) {
      B i = at.load(kept), f = at.load(kept + size), g = at.load(kept + 2 * size);
      B o = at.load(kept + 3 * size), squashed = at.load(kept + 4 * size), dh = at.load(g_h);
      B dc = at.load(g_c_next) + dh * o * (T(1) - squashed * squashed);
      at.store(g_gates, dc * g * i * (T(1) - i));
      at.store(g_gates + size, dc * at.load(c) * f * (T(1) - f));
      at.store(g_gates + 2 * size, dc * i * (T(1) - g * g));
      at.store(g_gates + 3 * size, dh * squashed * o * (T(1) - o));
      at.store(g_c, dc * f);
    });
  }

  // r = σ(x_r + h_r), z = σ(x_z + h_z), n = tanh(x_n + r h_n), h' = n + z (h - n)
  static void gru(const T* x, const T* from_hidden, const T* h, T* h_next, T* kept, Index size) {
    const T *x_z = x + size, *x_n = x + 2 * size;
    const T *h_r = from_hidden, *h_z = h_r + size, *h_n = h_z + size;
    T *kept_z = kept + size, *kept_n = kept + 2 * size, *kept_hn = kept + 3 * size;
    each<Set, T>(size, [=](auto at) {
      B hn = at.load(h_n);
      B r = F::sigmoid(at.load(x) + at.load(h_r));
      B z = F::sigmoid(at.load(x_z) + at.load(h_z));
      B n = F::tanh(at.load(x_n) + r * hn);
      at.store(h_next, n + z * (at.load(h) - n));
      at.store(kept, r);
      at.store(kept_z, z);
      at.store(kept_n, n);
      at.store(kept_hn, hn);
    });
  }

  static void gru_backward(const T* g, const T* kept, const T* h, T* g_input, T* g_hidden, T* g_h,
                           Index size) {
    const T *kept_z = kept + size, *kept_n = kept + 2 * size, *kept_hn = kept + 3 * size;
    T *gi_z = g_input + size, *gi_n = g_input + 2 * size;
    T *gh_z = g_hidden + size, *gh_n = g_hidden + 2 * size;
    each<Set, T>(size, [=](auto at) {
      B dh = at.load(g), r = at.load(kept), z = at.load(kept_z), n = at.load(kept_n);
      B dn = dh * (T(1) - z) * (T(1) - n * n);
      B dz = dh * (at.load(h) - n) * z * (T(1) - z);
      B dr = dn * at.load(kept_hn) * r * (T(1) - r);
      at.store(g_input, dr);
      at.store(gi_z, dz);
      at.store(gi_n, dn);
      at.store(g_hidden, dr);
      at.store(gh_z, dz);
      at.store(gh_n, dn * r);
      at.store(g_h, dh * z);
    });
  }
};

}  // namespace

template <class Set, class T>
void add_recurrent(Kernels<T>& table) {
  using K = Recurrent<Set, T>;
  table.rnn = K::rnn;
  table.rnn_backward = K::rnn_backward;
  table.lstm = K::lstm;
  table.lstm_backward = K::lstm_backward;
  table.gru = K::gru;
  table.gru_backward = K::gru_backward;
}

template void add_recurrent<Set>(Kernels<float>&);
template void add_recurrent<Set>(Kernels<double>&);

}  // namespace regrad::ops::simd
