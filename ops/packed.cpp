#include "ops/packed.h"

#include <algorithm>

#include "ops/simd/kernels.h"

namespace regrad::ops {
namespace {

// So deep are products at most: the deeper, the fewer times C is read and written. Of few rows A
// stays in the second cache. Of many, a group of A's rows stays in the first cache while panels
// stream past it, rows_at_once in the second and the panels in the third.
constexpr Index deepest_of_few = 2048, deepest_of_many = 768;
constexpr Index rows_at_once = 120, columns_at_once = 1024;

// Where an element of op(X) is.
template <class T>
const T* at(const T* x, Index ldx, Transpose transpose, Index row, Index column) {
  return transpose == Trans ? x + column * ldx + row : x + row * ldx + column;
}

constexpr Index up_to_multiple(Index n, Index of) { return (n + of - 1) / of * of; }

// n in as few parts of nearly one size as are possible with at most so many in each; the size.
constexpr Index even_part(Index n, Index most) {
  const Index parts = (n + most - 1) / most;
  return std::min(up_to_multiple((n + parts - 1) / parts, 16), n);
}

// f(begin, size) for n in blocks of the size, the last one of what is left.
template <class F>
void for_each_block(Index n, Index size, const F& f) {
  for (Index begin = 0; begin < n; begin += size) f(begin, std::min(size, n - begin));
}

// Rows of op(A) without gaps: one after the other, or where A is transposed column after column of
// each group. They are A itself where it has no gaps.
template <class T>
const T* pack_rows(const T* a, Index lda, Transpose transpose, Index rows, Index columns,
                   T* buffer) {
  if (transpose == Trans) {
    simd::kernels<T>().pack_groups(a, lda, rows, columns, buffer);
  } else if (lda == columns) {
    return a;
  } else {
    for (Index i = 0; i < rows; ++i) std::copy_n(a + i * lda, columns, buffer + i * columns);
  }
  return buffer;
}

template <class T>
void start_with(Addend<T> addend, Index m, Index n, T* c, Index ldc) {
  for (Index i = 0; i < m && !addend.keep_c; ++i) {
    if (addend.bias) {
      std::copy_n(addend.bias, n, c + i * ldc);
    } else {
      std::fill_n(c + i * ldc, n, T(0));
    }
  }
}

}  // namespace

Packed::Packed(const Tensor& b, Transpose transpose) {
  const Index ldb = b.shape()[1];
  const Index k = b.shape()[transpose == Trans ? 1 : 0], n = b.shape()[transpose == Trans ? 0 : 1];
  if (k == 0) return;
  visit(b.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto& kernels = simd::kernels<T>();
    const Index width = kernels.panel_width;
    panels_ = Tensor({(n + width - 1) / width, k, width}, b.dtype());
    T* panel = panels_.mutable_data<T>();
    for (Index j = 0; j < n; j += width, panel += k * width) {
      kernels.pack_panel(at(b.data<T>(), ldb, transpose, 0, j), ldb, transpose == Trans, k,
                         std::min(width, n - j), panel);
    }
  });
}

template <class T>
void multiply_few_rows(const T* a, Index lda, Index m, const T* b, Index ldb, Transpose transpose,
                       const Packed* packed, Index n, Index k, Addend<T> addend, T* c, Index ldc) {
  if (n == 0) return;
  if (k == 0) return start_with(addend, m, n, c, ldc);
  const auto& kernels = simd::kernels<T>();
  const Index width = kernels.panel_width;
  Tensor scratch;
  if (!packed) scratch = Tensor({std::min(k, deepest_of_few), width}, dtype_of<T>());
  for_each_block(k, deepest_of_few, [&](Index k0, Index depth) {
    for_each_block(n, width, [&](Index j, Index columns) {
      const T* panel;
      if (packed) {
        panel = packed->panels<T>() + j * k + k0 * width;
      } else {
        kernels.pack_panel(at(b, ldb, transpose, k0, j), ldb, transpose == Trans, depth, columns,
                           scratch.mutable_data<T>());
        panel = scratch.data<T>();
      }
      const T* bias = addend.bias && k0 == 0 ? addend.bias + j : nullptr;
      kernels.multiply_panel(a + k0, lda, false, m, panel, depth, c + j, ldc, columns, bias,
                             addend.keep_c || k0 > 0);
    });
  });
}

template <class T>
void multiply_many_rows(Transpose a_transpose, Transpose b_transpose, Index m, Index n, Index k,
                        const T* a, Index lda, const T* b, Index ldb, Addend<T> addend, T* c,
                        Index ldc) {
  if (m == 0 || n == 0) return;
  if (k == 0) return start_with(addend, m, n, c, ldc);
  const auto& kernels = simd::kernels<T>();
  const Index width = kernels.panel_width, group = kernels.panel_rows;
  const Index most_rows = rows_at_once / group * group;
  const Index deepest = even_part(k, deepest_of_many);
  Tensor panels({std::min(columns_at_once, up_to_multiple(n, width)), deepest}, dtype_of<T>());
  Tensor rows({std::min(most_rows, m), deepest}, dtype_of<T>());
  T *b_block = panels.mutable_data<T>(), *buffer = rows.mutable_data<T>();
  for_each_block(n, columns_at_once, [&](Index j0, Index columns) {
    for_each_block(k, deepest, [&](Index k0, Index depth) {
      for_each_block(columns, width, [&](Index j, Index panel_columns) {
        kernels.pack_panel(at(b, ldb, b_transpose, k0, j0 + j), ldb, b_transpose == Trans, depth,
                           panel_columns, b_block + j * depth);
      });
      for_each_block(m, most_rows, [&](Index i0, Index height) {
        const T* a_block =
            pack_rows(at(a, lda, a_transpose, i0, k0), lda, a_transpose, height, depth, buffer);
        for_each_block(height, group, [&](Index i, Index group_rows) {
          for_each_block(columns, width, [&](Index j, Index panel_columns) {
            const T* bias = addend.bias && k0 == 0 ? addend.bias + j0 + j : nullptr;
            kernels.multiply_panel(a_block + i * depth, a_transpose == Trans ? group_rows : depth,
                                   a_transpose == Trans, group_rows, b_block + j * depth, depth,
                                   c + (i0 + i) * ldc + j0 + j, ldc, panel_columns, bias,
                                   addend.keep_c || k0 > 0);
          });
        });
      });
    });
  });
}

template <class T>
bool outruns_blas(Index m, Index n) {
  const auto& kernels = simd::kernels<T>();
  return kernels.outruns_blas && m > 1 && n >= kernels.panel_width / 2;
}

template <class T>
void multiply(const T* a, Index lda, Index m, const T* b, Index ldb, Transpose transpose,
              const Packed* packed, Index n, Index k, Addend<T> addend, T* c, Index ldc) {
  if (are_few_rows(m)) {
    return multiply_few_rows(a, lda, m, b, ldb, transpose, packed, n, k, addend, c, ldc);
  }
  if (outruns_blas<T>(m, n)) {
    return multiply_many_rows(NoTrans, transpose, m, n, k, a, lda, b, ldb, addend, c, ldc);
  }
  if (n == 0) return;
  if (addend.bias) start_with(addend, m, n, c, ldc);
  gemm(NoTrans, transpose, m, n, k, a, lda, b, ldb, T(addend.bias || addend.keep_c), c, ldc);
}

template void multiply_few_rows(const float* a, Index lda, Index m, const float* b, Index ldb,
                                Transpose transpose, const Packed* packed, Index n, Index k,
                                Addend<float> addend, float* c, Index ldc);
template void multiply_many_rows(Transpose a_transpose, Transpose b_transpose, Index m, Index n,
                                 Index k, const float* a, Index lda, const float* b, Index ldb,
                                 Addend<float> addend, float* c, Index ldc);
template bool outruns_blas<float>(Index m, Index n);
template void multiply(const float* a, Index lda, Index m, const float* b, Index ldb,
                       Transpose transpose, const Packed* packed, Index n, Index k,
                       Addend<float> addend, float* c, Index ldc);
template void multiply_few_rows(const double* a, Index lda, Index m, const double* b, Index ldb,
                                Transpose transpose, const Packed* packed, Index n, Index k,
                                Addend<double> addend, double* c, Index ldc);
template void multiply_many_rows(Transpose a_transpose, Transpose b_transpose, Index m, Index n,
                                 Index k, const double* a, Index lda, const double* b, Index ldb,
                                 Addend<double> addend, double* c, Index ldc);
template bool outruns_blas<double>(Index m, Index n);
template void multiply(const double* a, Index lda, Index m, const double* b, Index ldb,
                       Transpose transpose, const Packed* packed, Index n, Index k,
                       Addend<double> addend, double* c, Index ldc);

}  // namespace regrad::ops
