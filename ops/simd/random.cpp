#include "ops/simd/batch.h"

namespace regrad::ops::simd {
namespace {

// A lane holds one of the four words of a block. Its upper half may hold anything: the products do
// not read it.
template <class Set>
struct Random {
  using B = Batch<Set, std::uint64_t>;
  static constexpr Index lanes = B::size, vectors = philox_blocks / lanes;

  // of the lower halves, which xsimd has not
  static B multiply(const B& x, const B& y) {
#if defined(REGRAD_KERNELS_AVX512)
    return _mm512_mul_epu32(x, y);
#elif defined(REGRAD_KERNELS_AVX2)
    return _mm256_mul_epu32(x, y);
#elif defined(__SSE2__)
    return _mm_mul_epu32(x, y);
#else
    const B low(0xffffffff);
    return (x & low) * (y & low);
#endif
  }

  static void philox(std::uint64_t seed, std::uint64_t stream, std::uint64_t counter,
                     std::uint32_t* out) {
    B c0[vectors], c1[vectors], c2[vectors], c3[vectors];
    alignas(64) std::uint64_t left[lanes], right[lanes];
    for (Index v = 0; v < vectors; ++v) {
      for (Index i = 0; i < lanes; ++i) left[i] = counter++;
      c0[v] = B::load_aligned(left);
      c1[v] = c0[v] >> 32;
      c2[v] = B(stream);
      c3[v] = B(stream >> 32);
    }
    const B factor0(0xD2511F53), factor2(0xCD9E8D57), low(0xffffffff);
    B key0(seed), key1(seed >> 32);
    for (int round = 0; round < 10; ++round) {
#pragma GCC unroll 8
      for (Index v = 0; v < vectors; ++v) {
        const B product0 = multiply(c0[v], factor0), product2 = multiply(c2[v], factor2);
        c0[v] = (product2 >> 32) ^ c1[v] ^ key0;
        c1[v] = product2;
        c2[v] = (product0 >> 32) ^ c3[v] ^ key1;
        c3[v] = product0;
      }
      key0 += B(0x9E3779B9);
      key1 += B(0xBB67AE85);
    }
    for (Index v = 0; v < vectors; ++v) {
      ((c0[v] & low) | (c1[v] << 32)).store_aligned(left);
      ((c2[v] & low) | (c3[v] << 32)).store_aligned(right);
      for (Index i = 0; i < lanes; ++i) {
        for (const std::uint64_t words : {left[i], right[i]}) {
          *out++ = static_cast<std::uint32_t>(words);
          *out++ = static_cast<std::uint32_t>(words >> 32);
        }
      }
    }
  }
};

}  // namespace

template <class Set, class T>
void add_random(Kernels<T>& table) {
  table.philox = Random<Set>::philox;
}

template void add_random<Set>(Kernels<float>&);
template void add_random<Set>(Kernels<double>&);

}  // namespace regrad::ops::simd
