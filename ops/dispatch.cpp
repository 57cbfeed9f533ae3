#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "ops/error.h"
#include "ops/simd/kernels.h"

namespace regrad::ops::simd {
namespace {

enum class Level { baseline, avx2, avx512 };

// What was compiled and the processor can do.
Level widest() {
#if defined(REGRAD_HAVE_AVX2)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return Level::baseline;
#if defined(REGRAD_HAVE_AVX512)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl")) {
    return Level::avx512;
  }
#endif
  return Level::avx2;
#else
  return Level::baseline;
#endif
}

Level allowed() {
  const char* variable = std::getenv("REGRAD_SIMD");
  const std::string_view wish = variable ? variable : "";
  if (wish == "baseline") return Level::baseline;
  if (wish == "avx2") return Level::avx2;
  if (wish == "avx512" || wish.empty()) return Level::avx512;
  fail("REGRAD_SIMD: `{}` is not known; there is baseline, avx2, avx512", wish);
}

Level level() {
  static const Level chosen = std::min(widest(), allowed());
  return chosen;
}

template <class Set, class T>
Kernels<T> make_kernels() {
  Kernels<T> table{};
  add_elementwise<Set>(table);
  add_reductions<Set>(table);
  add_rows<Set>(table);
  add_recurrent<Set>(table);
  add_attention<Set>(table);
  add_product<Set>(table);
  add_random<Set>(table);
  add_optimizer<Set>(table);
  return table;
}

template <class T>
Kernels<T> best_kernels() {
#if defined(REGRAD_HAVE_AVX512)
  if (level() == Level::avx512) return make_kernels<Avx512, T>();
#endif
#if defined(REGRAD_HAVE_AVX2)
  if (level() == Level::avx2) return make_kernels<Avx2, T>();
#endif
  return make_kernels<Baseline, T>();
}

}  // namespace

template <class T>
const Kernels<T>& detail::choose_kernels() {
  static const Kernels<T> table = best_kernels<T>();
  chosen<T>.store(&table, std::memory_order_release);
  return table;
}

template const Kernels<float>& detail::choose_kernels<float>();
template const Kernels<double>& detail::choose_kernels<double>();

const char* instruction_set() {
  constexpr const char* names[] = {"baseline", "avx2", "avx512"};
  return names[static_cast<int>(level())];
}

}  // namespace regrad::ops::simd
