#include "ops/simd/functions.h"

namespace regrad::ops::simd {
namespace {

template <class Set, class T>
struct Attention {
  using B = Batch<Set, T>;

  static void additive_score(const T* query, const T* keys, Index stride, Index count, const T* v,
                             T* scores, Index n) {
    for (Index s = 0; s < count; ++s, keys += stride) {
      if (s + 1 < count) prefetch(keys + stride, n);
      scores[s] = accumulate_sum<Set, T>(n, [=](auto at) {
        return at.load(v) * Functions<Set, T>::tanh(at.load(query) + at.load(keys));
      });
    }
  }

  // tanh is computed again: cheaper than keeping [S, B, A] for each step of the decoder.
  static void additive_score_backward(const T* g, const T* query, const T* keys, Index stride,
                                      Index count, const T* v, T* g_query, T* g_keys, T* g_v,
                                      Index n) {
    for (Index s = 0; s < count; ++s, keys += stride, g_keys += stride) {
      if (s + 1 < count) {
        prefetch(keys + stride, n);
        prefetch(g_keys + stride, n);
      }
      each<Set, T>(n, [=, scale = B(g[s])](auto at) {
        B t = Functions<Set, T>::tanh(at.load(query) + at.load(keys));
        B inner = scale * at.load(v) * (T(1) - t * t);
        at.store(g_query, at.load(g_query) + inner);
        at.store(g_keys, at.load(g_keys) + inner);
        at.store(g_v, at.load(g_v) + scale * t);
      });
    }
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
