#include "ops/packed.h"

#include <algorithm>
#include <cassert>

#include "ops/simd/kernels.h"

namespace regrad::ops {
namespace {

// Rows of a panel that stay in the first cache, together with those of A that meet them.
constexpr Index block = 256;
constexpr Index widest_panel = 16;

// Where row k and column n of op(B) are.
template <class T>
const T* at(const T* b, Index ldb, Transpose transpose, Index k, Index n) {
  return transpose == Trans ? b + n * ldb + k : b + k * ldb + n;
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
  assert(width <= widest_panel);
  alignas(64) T scratch[block * widest_panel];
  for (Index k0 = 0; k0 < k; k0 += block) {
    const Index rows = std::min(block, k - k0);
    for (Index j = 0; j < n; j += width) {
      const Index columns = std::min(width, n - j);
      const T* panel = scratch;
      if (packed) {
        panel = packed->panels<T>() + (j / width * k + k0) * width;
      } else {
        kernels.pack_panel(at(b, ldb, transpose, k0, j), ldb, transpose == Trans, rows, columns,
                           scratch);
      }
      const T* bias = addend.bias && k0 == 0 ? addend.bias + j : nullptr;
      kernels.multiply_panel(a + k0, lda, m, panel, rows, c + j, ldc, columns, bias,
                             addend.keep_c || k0 > 0);
    }
  }
}

template <class T>
void multiply(const T* a, Index lda, Index m, const T* b, Index ldb, Transpose transpose,
              const Packed* packed, Index n, Index k, Addend<T> addend, T* c, Index ldc) {
  if (are_few_rows(m)) {
    return multiply_few_rows(a, lda, m, b, ldb, transpose, packed, n, k, addend, c, ldc);
  }
  if (n == 0) return;
  if (addend.bias) start_with(addend, m, n, c, ldc);
  gemm(NoTrans, transpose, m, n, k, a, lda, b, ldb, T(addend.bias || addend.keep_c), c, ldc);
}

template void multiply_few_rows(const float* a, Index lda, Index m, const float* b, Index ldb,
                                Transpose transpose, const Packed* packed, Index n, Index k,
                                Addend<float> addend, float* c, Index ldc);
template void multiply(const float* a, Index lda, Index m, const float* b, Index ldb,
                       Transpose transpose, const Packed* packed, Index n, Index k,
                       Addend<float> addend, float* c, Index ldc);
template void multiply_few_rows(const double* a, Index lda, Index m, const double* b, Index ldb,
                                Transpose transpose, const Packed* packed, Index n, Index k,
                                Addend<double> addend, double* c, Index ldc);
template void multiply(const double* a, Index lda, Index m, const double* b, Index ldb,
                       Transpose transpose, const Packed* packed, Index n, Index k,
                       Addend<double> addend, double* c, Index ldc);

}  // namespace regrad::ops
