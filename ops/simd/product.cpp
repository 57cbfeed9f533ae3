#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

#include "ops/simd/batch.h"

namespace regrad::ops::simd {
namespace {

template <class Set, class T>
struct Product {
  using B = Batch<Set, T>;
  static constexpr Index lanes = B::size, width = 2 * lanes;
  static constexpr bool has_avx512 = std::is_same_v<Set, Avx512>;
  // So many rows' sums, two vectors of B and one of A fill the registers: 16, or 32 of AVX-512.
  static constexpr Index most_rows = has_avx512 ? 12 : 6;

  // 16 bytes: the widest vectors whose zip interleaves over the whole of them.
  static constexpr Index square = 16 / sizeof(T);
  using Short = xsimd::make_sized_batch_t<T, square>;

  // Each round interleaves the upper half of the rows with the lower.
  static void transpose(Short (&rows)[square]) {
#pragma GCC unroll 2
    for (Index round = 1; round < square; round *= 2) {
      Short next[square];
#pragma GCC unroll 2
      for (Index i = 0; i < square / 2; ++i) {
        next[2 * i] = xsimd::zip_lo(rows[i], rows[i + square / 2]);
        next[2 * i + 1] = xsimd::zip_hi(rows[i], rows[i + square / 2]);
      }
#pragma GCC unroll 4
      for (Index i = 0; i < square; ++i) rows[i] = next[i];
    }
  }

  static void pack_rows(const T* b, Index ldb, Index k, Index n, T* panel) {
    for (Index p = 0; p < k; ++p) {
      T* out = panel + p * width;
      if (n == width) {
        B::load_unaligned(b + p * ldb).store_aligned(out);
        B::load_unaligned(b + p * ldb + lanes).store_aligned(out + lanes);
      } else {
        std::fill_n(std::copy_n(b + p * ldb, n, out), width - n, T(0));
      }
    }
  }

  // Whole cache lines of a few columns at a time: a line of all would not stay in the first cache.
  static constexpr Index line = 64 / sizeof(T);

  static void pack_columns(const T* b, Index ldb, Index k, Index n, T* panel) {
    const Index whole = n == width ? k / square * square : 0;
    for (Index begin = 0; begin < whole; begin += line) {
      const Index end = std::min(begin + line, whole);
      for (Index from = 0; from < width; from += square) {
        for (Index part = begin; part < end; part += square) {
          Short rows[square];
#pragma GCC unroll 4
          for (Index q = 0; q < square; ++q) {
            rows[q] = Short::load_unaligned(b + (from + q) * ldb + part);
          }
          transpose(rows);
#pragma GCC unroll 4
          for (Index q = 0; q < square; ++q) {
            rows[q].store_aligned(panel + (part + q) * width + from);
          }
        }
      }
    }
    for (Index p = whole; p < k; ++p) {
      for (Index q = 0; q < width; ++q) panel[p * width + q] = q < n ? b[q * ldb + p] : T(0);
    }
  }

  static void pack_panel(const T* b, Index ldb, bool transposed, Index k, Index n, T* panel) {
    transposed ? pack_columns(b, ldb, k, n, panel) : pack_rows(b, ldb, k, n, panel);
  }

  static void pack_groups(const T* a, Index lda, Index m, Index k, T* out) {
    for (Index p0 = 0; p0 < k; p0 += line) {
      const Index end = std::min(p0 + line, k);
      for (Index i = 0; i < m; i += most_rows) {
        const Index rows = std::min(most_rows, m - i);
        for (Index p = p0; p < end; ++p) {
          const T* from = a + p * lda + i;
          T* to = out + i * k + p * rows;
          if (rows == most_rows) {  // a size that is known is copied without a call
            std::memcpy(to, from, most_rows * sizeof(T));
          } else {
            std::copy_n(from, rows, to);
          }
        }
      }
    }
  }

  template <Index rows, bool transposed>
  static void multiply_rows(const T* a, Index lda, const T* panel, Index k, T* c, Index ldc,
                            Index n, const T* bias, bool accumulate) {
    B left, right, sums[rows][2];
    load(bias, n, left, right);
#pragma GCC unroll 16
    for (Index row = 0; row < rows; ++row) {
      sums[row][0] = left;
      sums[row][1] = right;
    }
    // Rows of C often lie on pages of their own: ask for them before they are needed.
    for (Index row = 0; row < rows; ++row) {
      __builtin_prefetch(c + row * ldc, 1);
      __builtin_prefetch(c + row * ldc + n - 1, 1);
    }
    for (Index p = 0; p < k; ++p) {
      left = B::load_aligned(panel + p * width);
      right = B::load_aligned(panel + p * width + lanes);
#pragma GCC unroll 16
      for (Index row = 0; row < rows; ++row) {
        const B factor(transposed ? a[p * lda + row] : a[row * lda + p]);
        sums[row][0] = xsimd::fma(factor, left, sums[row][0]);
        sums[row][1] = xsimd::fma(factor, right, sums[row][1]);
      }
    }
#pragma GCC unroll 16
    for (Index row = 0; row < rows; ++row) {
      store(sums[row][0], sums[row][1], c + row * ldc, n, accumulate);
    }
  }
  // Whole panels, which most are, go from register to memory; of others what is there is copied.
  static void load(const T* bias, Index n, B& left, B& right) {
    alignas(64) T part[width] = {};
    if (bias && n < width) {
      std::copy_n(bias, n, part);
      bias = part;
    }
    left = bias ? B::load_unaligned(bias) : B(T(0));
    right = bias ? B::load_unaligned(bias + lanes) : B(T(0));
  }
  static void store(const B& left, const B& right, T* c, Index n, bool accumulate) {
    if (n == width) {
      (accumulate ? B::load_unaligned(c) + left : left).store_unaligned(c);
      (accumulate ? B::load_unaligned(c + lanes) + right : right).store_unaligned(c + lanes);
    } else {
      store_part(left, right, c, n, accumulate);
    }
  }
  [[gnu::noinline]] static void store_part(B left, B right, T* c, Index n, bool accumulate) {
    alignas(64) T sums[width];
    left.store_aligned(sums);
    right.store_aligned(sums + lanes);
    for (Index j = 0; j < n; ++j) c[j] = accumulate ? c[j] + sums[j] : sums[j];
  }

  using MultiplyRows = void(const T* a, Index lda, const T* panel, Index k, T* c, Index ldc,
                            Index n, const T* bias, bool accumulate);
  template <bool transposed, std::size_t... row>
  static constexpr std::array<MultiplyRows*, sizeof...(row)> by_rows(std::index_sequence<row...>) {
    return {multiply_rows<row + 1, transposed>...};
  }

  // In groups of rows of nearly one size: sums of few rows would wait for each other.
  static void multiply_panel(const T* a, Index lda, bool transposed, Index m, const T* panel,
                             Index k, T* c, Index ldc, Index n, const T* bias, bool accumulate) {
    static constexpr auto all = std::make_index_sequence<most_rows>();
    static constexpr std::array functions = {by_rows<false>(all), by_rows<true>(all)};
    for (Index groups = (m + most_rows - 1) / most_rows, rows; m > 0; m -= rows, --groups) {
      rows = (m + groups - 1) / groups;
      functions[transposed][static_cast<std::size_t>(rows - 1)](a, lda, panel, k, c, ldc, n, bias,
                                                                accumulate);
      a += transposed ? rows : rows * lda;
      c += rows * ldc;
    }
  }

  // So many rows of B at once: each vector of A, or of C, is loaded once for all of them.
  static constexpr Index most_streams = 8;

  template <Index streams>
  static void multiply_columns(const T* a, const T* b, Index ldb, Index k, T* c) {
    B sums[streams];
#pragma GCC unroll 8
    for (Index q = 0; q < streams; ++q) sums[q] = B(T(0));
    each<Set, T>(k, [&](auto at) {
      const B left = at.load(a);
#pragma GCC unroll 8
      for (Index q = 0; q < streams; ++q) sums[q] = xsimd::fma(left, at.load(b + q * ldb), sums[q]);
    });
    if constexpr (streams == 1) {
      c[0] += add_lanes<Set, T>(sums[0]);
    } else {
      for (Index q = 0; q < streams; q += square) add_all_lanes(sums + q, c + q);
    }
  }
  // c[q] += the sum of the lanes of sums[q].
  static void add_all_lanes(const B* sums, T* c) {
    Short rows[square];
#pragma GCC unroll 4
    for (Index q = 0; q < square; ++q) {
      alignas(64) T parts[lanes];
      sums[q].store_aligned(parts);
      rows[q] = Short::load_aligned(parts);
      for (Index i = square; i < lanes; i += square) rows[q] += Short::load_aligned(parts + i);
    }
    transpose(rows);
    Short total = Short::load_unaligned(c);
#pragma GCC unroll 4
    for (Index q = 0; q < square; ++q) total += rows[q];
    total.store_unaligned(c);
  }

  template <Index streams>
  static void add_rows(const T* a, const T* b, Index ldb, Index n, T* c) {
    B factors[streams];
#pragma GCC unroll 8
    for (Index q = 0; q < streams; ++q) factors[q] = B(a[q]);
    each<Set, T>(n, [&](auto at) {
      B sum = at.load(c);
#pragma GCC unroll 8
      for (Index q = 0; q < streams; ++q) sum = xsimd::fma(factors[q], at.load(b + q * ldb), sum);
      at.store(c, sum);
    });
  }

  static void multiply_row(const T* a, const T* b, Index ldb, bool transposed, Index n, Index k,
                           T* c) {
    if (transposed) {
      Index j = 0;
      for (; j + most_streams <= n; j += most_streams) {
        multiply_columns<most_streams>(a, b + j * ldb, ldb, k, c + j);
      }
      for (; j < n; ++j) multiply_columns<1>(a, b + j * ldb, ldb, k, c + j);
    } else {
      Index p = 0;
      for (; p + most_streams <= k; p += most_streams) {
        add_rows<most_streams>(a + p, b + p * ldb, ldb, n, c);
      }
      for (; p < k; ++p) add_rows<1>(a + p, b + p * ldb, ldb, n, c);
    }
  }
};

}  // namespace

template <class Set, class T>
void add_product(Kernels<T>& table) {
  using K = Product<Set, T>;
  table.panel_width = K::width;
  table.panel_rows = K::most_rows;
  table.outruns_blas = K::has_avx512;
  table.pack_panel = K::pack_panel;
  table.pack_groups = K::pack_groups;
  table.multiply_panel = K::multiply_panel;
  table.multiply_row = K::multiply_row;
}

template void add_product<Set>(Kernels<float>&);
template void add_product<Set>(Kernels<double>&);

}  // namespace regrad::ops::simd
