#include "ops/blas.h"

#include <algorithm>
#include <limits>

#include <cblas.h>

#include "ops/error.h"
#include "ops/packed.h"
#include "ops/simd/kernels.h"

namespace regrad::ops {
namespace {

blasint checked(Index n) {
  if (n > std::numeric_limits<blasint>::max()) fail("matmul: dimension {} is too large", n);
  return static_cast<blasint>(n);
}

// Two pools of threads would fight over the cores, and a product split over threads loses at the
// sizes of recurrent models.
void use_one_thread() {
  static const bool done = (openblas_set_num_threads(1), true);
  static_cast<void>(done);
}

void clear(Index m, Index n, auto* c, Index ldc) {
  for (Index i = 0; i < m; ++i) std::fill_n(c + i * ldc, n, 0);
}

template <class T, class Gemm>
void multiply(Transpose a_transpose, Transpose b_transpose, Index m, Index n, Index k, const T* a,
              Index lda, const T* b, Index ldb, T beta, T* c, Index ldc, Gemm gemm) {
  if (m == 0 || n == 0) return;
  if (k == 0) return beta == 0 ? clear(m, n, c, ldc) : void();
  if (a_transpose == NoTrans && are_few_rows(m)) {
    return multiply_few_rows(a, lda, m, b, ldb, b_transpose, nullptr, n, k,
                             Addend<T>{.keep_c = beta == 1}, c, ldc);
  }
  if (outruns_blas<T>(m, n)) {
    return multiply_many_rows(a_transpose, b_transpose, m, n, k, a, lda, b, ldb,
                              Addend<T>{.keep_c = beta == 1}, c, ldc);
  }
  if (m == 1 && a_transpose == NoTrans) {
    if (beta == 0) clear(1, n, c, ldc);
    return simd::kernels<T>().multiply_row(a, b, ldb, b_transpose == Trans, n, k, c);
  }
  use_one_thread();
  gemm(CblasRowMajor, a_transpose == Trans ? CblasTrans : CblasNoTrans,
       b_transpose == Trans ? CblasTrans : CblasNoTrans, checked(m), checked(n), checked(k), T(1),
       a, checked(lda), b, checked(ldb), beta, c, checked(ldc));
}

}  // namespace

void gemm(Transpose a_transpose, Transpose b_transpose, Index m, Index n, Index k, const float* a,
          Index lda, const float* b, Index ldb, float beta, float* c, Index ldc) {
  multiply(a_transpose, b_transpose, m, n, k, a, lda, b, ldb, beta, c, ldc, cblas_sgemm);
}

void gemm(Transpose a_transpose, Transpose b_transpose, Index m, Index n, Index k, const double* a,
          Index lda, const double* b, Index ldb, double beta, double* c, Index ldc) {
  multiply(a_transpose, b_transpose, m, n, k, a, lda, b, ldb, beta, c, ldc, cblas_dgemm);
}

}  // namespace regrad::ops
