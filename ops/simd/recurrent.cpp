#include "ops/simd/functions.h"

namespace regrad::ops::simd {
namespace {

template <class Set, class T>
struct Recurrent {
  using B = Batch<Set, T>;

  // r = σ(x_r + h_r), z = σ(x_z + h_z), n = tanh(x_n + r h_n), h' = n + z (h - n)
  static void gru(const T* x, const T* from_hidden, const T* h, T* h_next, T* kept, Index size) {
    const T *x_z = x + size, *x_n = x + 2 * size;
    const T *h_r = from_hidden, *h_z = h_r + size, *h_n = h_z + size;
    T *kept_z = kept + size, *kept_n = kept + 2 * size, *kept_hn = kept + 3 * size;
    each<Set, T>(size, [=](auto at) {
      B hn = at.load(h_n);
      B r = Functions<Set, T>::sigmoid(at.load(x) + at.load(h_r));
      B z = Functions<Set, T>::sigmoid(at.load(x_z) + at.load(h_z));
      B n = Functions<Set, T>::tanh(at.load(x_n) + r * hn);
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
  table.gru = K::gru;
  table.gru_backward = K::gru_backward;
}

template void add_recurrent<Set>(Kernels<float>&);
template void add_recurrent<Set>(Kernels<double>&);

}  // namespace regrad::ops::simd
