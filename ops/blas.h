#pragma once

#include "ops/shape.h"

namespace regrad {

enum Transpose { NoTrans, Trans };

namespace ops {

// C = op(A) op(B) + beta C, row-major, op(A) [m, k], op(B) [k, n], beta 0 or 1; lda, ldb and ldc
// are the row strides as stored. C is not read when beta is 0. One thread: batches are split above,
// not here. Calls OpenBLAS, or what ops/packed.h has where that is faster.
void gemm(Transpose a_transpose, Transpose b_transpose, Index m, Index n, Index k, const float* a,
          Index lda, const float* b, Index ldb, float beta, float* c, Index ldc);
void gemm(Transpose a_transpose, Transpose b_transpose, Index m, Index n, Index k, const double* a,
          Index lda, const double* b, Index ldb, double beta, double* c, Index ldc);

}  // namespace ops
}  // namespace regrad
