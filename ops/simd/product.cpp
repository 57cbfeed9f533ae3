#include <algorithm>
#include <utility>

#include "ops/simd/batch.h"

namespace regrad::ops::simd {
namespace {

template <class Set, class T>
struct Product {
  using B = Batch<Set, T>;
  static constexpr Index lanes = B::size, width = 2 * lanes;
  static constexpr Index most_rows =
      6;  // 6 × 2 sums, 2 vectors of B and one of A fill 16 registers

  // 16 bytes: the widest vectors whose zip interleaves over the whole of them.
  static constexpr Index square = 16 / sizeof(T);
  using Short = xsimd::make_sized_batch_t<T, square>;

  // Each round interleaves the upper half of the rows with the lower.
  static void transpose(Short (&rows)[square]) {
    for (Index round = 1; round < square; round *= 2) {
      Short next[square];
      for (Index i = 0; i < square / 2; ++i) {
        next[2 * i] = xsimd::zip_lo(rows[i], rows[i + square / 2]);
        next[2 * i + 1] = xsimd::zip_hi(rows[i], rows[i + square / 2]);
      }
      std::copy_n(next, square, rows);
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

  static void pack_columns(const T* b, Index ldb, Index k, Index n, T* panel) {
    Index p = 0;
    for (; n == width && p + square <= k; p += square) {
      for (Index from = 0; from < width; from += square) {
        Short rows[square];
        for (Index q = 0; q < square; ++q)
          rows[q] = Short::load_unaligned(b + (from + q) * ldb + p);
        transpose(rows);
        for (Index q = 0; q < square; ++q) rows[q].store_aligned(panel + (p + q) * width + from);
      }
    }
    for (; p < k; ++p) {
      for (Index q = 0; q < width; ++q) panel[p * width + q] = q < n ? b[q * ldb + p] : T(0);
    }
  }

  static void pack_panel(const T* b, Index ldb, bool transposed, Index k, Index n, T* panel) {
    transposed ? pack_columns(b, ldb, k, n, panel) : pack_rows(b, ldb, k, n, panel);
  }

  template <std::size_t... row>
  static void multiply_rows(const T* a, Index lda, const T* panel, Index k, T* c, Index ldc,
                            Index n, const T* bias, bool accumulate, std::index_sequence<row...>) {
    B start[2] = {B(T(0)), B(T(0))}, sums[sizeof...(row)][2];
    if (bias) load(bias, n, start);
    ((sums[row][0] = start[0], sums[row][1] = start[1]), ...);
    for (Index p = 0; p < k; ++p) {
      const B left = B::load_aligned(panel + p * width);
      const B right = B::load_aligned(panel + p * width + lanes);
      ((step(sums[row], B(a[static_cast<Index>(row) * lda + p]), left, right)), ...);
    }
    (store(sums[row], c + static_cast<Index>(row) * ldc, n, accumulate), ...);
  }
  static void step(B (&sums)[2], const B& a, const B& left, const B& right) {
    sums[0] = xsimd::fma(a, left, sums[0]);
    sums[1] = xsimd::fma(a, right, sums[1]);
  }
  static void load(const T* bias, Index n, B (&start)[2]) {
    B* next = start;
    each<Set, T>(n, [&](auto at) { *next++ = at.load(bias); });
  }
  static void store(B (&sums)[2], T* c, Index n, bool accumulate) {
    const B* sum = sums;
    each<Set, T>(n, [&](auto at) {
      at.store(c, accumulate ? at.load(c) + *sum : *sum);
      ++sum;
    });
  }

  // How many rows next: not few at the end, where the sums would wait for each other.
  static Index next_rows(Index left) {
    if (left <= most_rows) return left;
    return left >= 10 ? most_rows : left - left / 2;
  }

  static void multiply_panel(const T* a, Index lda, Index m, const T* panel, Index k, T* c,
                             Index ldc, Index n, const T* bias, bool accumulate) {
    for (Index rows; m > 0; m -= rows, a += rows * lda, c += rows * ldc) {
      rows = next_rows(m);
      const auto multiply = [&]<std::size_t... row>(std::index_sequence<row...> all) {
        multiply_rows(a, lda, panel, k, c, ldc, n, bias, accumulate, all);
      };
      switch (rows) {
        case 1:
          multiply(std::make_index_sequence<1>());
          break;
        case 2:
          multiply(std::make_index_sequence<2>());
          break;
        case 3:
          multiply(std::make_index_sequence<3>());
          break;
        case 4:
          multiply(std::make_index_sequence<4>());
          break;
        case 5:
          multiply(std::make_index_sequence<5>());
          break;
        default:
          multiply(std::make_index_sequence<most_rows>());
      }
    }
  }
};

}  // namespace

template <class Set, class T>
void add_product(Kernels<T>& table) {
  using K = Product<Set, T>;
  table.panel_width = K::width;
  table.pack_panel = K::pack_panel;
  table.multiply_panel = K::multiply_panel;
}

template void add_product<Set>(Kernels<float>&);
template void add_product<Set>(Kernels<double>&);

}  // namespace regrad::ops::simd
