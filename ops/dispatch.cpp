#include <cstdlib>
#include <string_view>

#include "ops/simd/kernels.h"

namespace regrad::ops::simd {
namespace {

bool use_avx2() {
#if defined(REGRAD_HAVE_AVX2)
  static const bool use = [] {
    const char* wish = std::getenv("REGRAD_SIMD");
    return !(wish && std::string_view(wish) == "baseline") && __builtin_cpu_supports("avx2") &&
           __builtin_cpu_supports("fma");
  }();
  return use;
#else
  return false;
#endif
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
  add_optimizer<Set>(table);
  return table;
}

template <class T>
Kernels<T> choose_kernels() {
#if defined(REGRAD_HAVE_AVX2)
  if (use_avx2()) return make_kernels<Avx2, T>();
#endif
  return make_kernels<Baseline, T>();
}

}  // namespace

template <class T>
const Kernels<T>& kernels() {
  static const Kernels<T> table = choose_kernels<T>();
  return table;
}

template const Kernels<float>& kernels<float>();
template const Kernels<double>& kernels<double>();

const char* instruction_set() { return use_avx2() ? "avx2" : "baseline"; }

}  // namespace regrad::ops::simd
