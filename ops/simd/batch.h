#pragma once

#include <cstring>

#include <xsimd/xsimd.hpp>

#include "ops/simd/kernels.h"

// For kernel sources only. Everything here is a template on the instruction set, so that the copy
// compiled for one never stands in for another's.
namespace regrad::ops::simd {

#if defined(REGRAD_KERNELS_AVX512)
using Set = Avx512;
#elif defined(REGRAD_KERNELS_AVX2)
using Set = Avx2;
#else
using Set = Baseline;
#endif

template <class Set>
struct ArchOf {
  using type = xsimd::default_arch;
};
#if defined(REGRAD_KERNELS_AVX512)
template <>
struct ArchOf<Avx512> {
  using type = xsimd::avx512bw;
};
#elif defined(REGRAD_KERNELS_AVX2)
template <>
struct ArchOf<Avx2> {
  using type = xsimd::fma3<xsimd::avx2>;
};
#endif

template <class Set, class T>
using Batch = xsimd::batch<T, typename ArchOf<Set>::type>;

// A whole vector at position i of any array.
template <class Set, class T>
struct Body {
  using B = Batch<Set, T>;
  Index i;
  B load(const T* p) const { return B::load_unaligned(p + i); }
  void store(T* p, B v) const { v.store_unaligned(p + i); }
};

// The last, incomplete vector: the lanes behind the end read as zero and are not stored.
template <class Set, class T>
struct Tail {
  using B = Batch<Set, T>;
  Index i, count;
  B load(const T* p) const {
    alignas(64) T lanes[B::size] = {};
    std::memcpy(lanes, p + i, static_cast<std::size_t>(count) * sizeof(T));
    return B::load_aligned(lanes);
  }
  void store(T* p, B v) const {
    alignas(64) T lanes[B::size];
    v.store_aligned(lanes);
    std::memcpy(p + i, lanes, static_cast<std::size_t>(count) * sizeof(T));
  }
};

// f(at) for each vector of n elements: at.store(y, exp(at.load(x))).
template <class Set, class T, class F>
inline void each(Index n, const F& f) {
  constexpr Index width = Batch<Set, T>::size;
  Index i = 0;
  for (; i + width <= n; i += width) f(Body<Set, T>{i});
  if (i < n) f(Tail<Set, T>{i, n - i});
}

template <class Set, class T, class F>
inline T fold(const Batch<Set, T>& v, T start, const F& f) {
  alignas(64) T lanes[Batch<Set, T>::size];
  v.store_aligned(lanes);
  for (T lane : lanes) start = f(start, lane);
  return start;
}

// In pairs: fewer sums wait for each other than one by one.
template <class Set, class T>
inline T add_lanes(const Batch<Set, T>& v) {
  alignas(64) T lanes[Batch<Set, T>::size];
  v.store_aligned(lanes);
  for (std::size_t width = Batch<Set, T>::size / 2; width > 0; width /= 2) {
    for (std::size_t i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  }
  return lanes[0];
}

// Σ term(at) over [begin, end) with four accumulators.
template <class Set, class T, class F>
inline T sum_block(Index begin, Index end, const F& term) {
  using B = Batch<Set, T>;
  constexpr Index width = B::size;
  B sums[4] = {B(T(0)), B(T(0)), B(T(0)), B(T(0))};
  Index i = begin;
  for (; i + 4 * width <= end; i += 4 * width) {
    for (int k = 0; k < 4; ++k) sums[k] += term(Body<Set, T>{i + k * width});
  }
  for (; i + width <= end; i += width) sums[0] += term(Body<Set, T>{i});
  if (i < end) sums[1] += term(Tail<Set, T>{i, end - i});
  return add_lanes<Set, T>((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

// Σ term(at) over n elements, in blocks so that long sums stay accurate in f32; term must give 0
// for lanes that read as zero.
template <class Set, class T, class F>
inline T accumulate_sum(Index n, const F& term) {
  constexpr Index block = 4096;
  double total = 0;
  for (Index i = 0; i < n; i += block)
    total += sum_block<Set, T>(i, i + block < n ? i + block : n, term);
  return static_cast<T>(total);
}

}  // namespace regrad::ops::simd
