#include "ops/simd/functions.h"

namespace regrad::ops::simd {
namespace {

template <class Set, class T>
struct Attention {
  using B = Batch<Set, T>;

  static T additive_score(const T* query, const T* key, const T* v, Index n) {
    return accumulate_sum<Set, T>(n, [&](auto at) {
      return at.load(v) * Functions<Set, T>::tanh(at.load(query) + at.load(key));
    });
  }

  // tanh is computed again: cheaper than keeping [S, B, A] for each step of the decoder.
  static void additive_score_backward(T g, const T* query, const T* key, const T* v, T* g_query,
                                      T* g_key, T* g_v, Index n) {
    each<Set, T>(n, [=, s = B(g)](auto at) {
      B t = Functions<Set, T>::tanh(at.load(query) + at.load(key));
      B inner = s * at.load(v) * (T(1) - t * t);
      at.store(g_query, at.load(g_query) + inner);
      at.store(g_key, at.load(g_key) + inner);
      at.store(g_v, at.load(g_v) + s * t);
    });
  }
};

}  // namespace

template <class Set, class T>
void add_attention(Kernels<T>& table) {
  using K = Attention<Set, T>;
  table.additive_score = K::additive_score;
  table.additive_score_backward = K::additive_score_backward;
}

template void add_attention<Set>(Kernels<float>&);
template void add_attention<Set>(Kernels<double>&);

}  // namespace regrad::ops::simd
