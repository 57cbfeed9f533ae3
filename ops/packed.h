#pragma once

#include "ops/blas.h"
#include "ops/tensor.h"

namespace regrad::ops {

// Products of our own. With few rows, such as one step of a recurrent layer, BLAS would bring the
// weight into the order in which it is read at every call. Here that can be done once, and what a
// row gives depends on no other row. With many rows they run where BLAS is slower.

// With more rows, bringing the weight into order is little of the work; for a single row it is as
// much as the product.
constexpr Index most_few_rows = 64;
constexpr bool are_few_rows(Index m) { return m > 1 && m <= most_few_rows; }

// op(B) [K, N] as multiply_few_rows reads it.
class Packed {
 public:
  Packed() = default;
  // b [K, N], or [N, K] to be transposed.
  Packed(const Tensor& b, Transpose transpose);

  template <class T>
  const T* panels() const {
    return panels_.data<T>();
  }

 private:
  Tensor panels_;  // [panels, K, panel width]
};

// What a product is added to: a row of n for each of its rows (nullptr: zeros), or C itself.
template <class T>
struct Addend {
  const T* bias = nullptr;
  bool keep_c = false;
};

// C = A op(B) + addend; the same bits with `packed`, which is op(B), and with nullptr.
template <class T>
void multiply_few_rows(const T* a, Index lda, Index m, const T* b, Index ldb, Transpose transpose,
                       const Packed* packed, Index n, Index k, Addend<T> addend, T* c, Index ldc);
// C = op(A) op(B) + addend for any number of rows, in blocks that fit the caches. op(B) is
// brought into order at every call.
template <class T>
void multiply_many_rows(Transpose a_transpose, Transpose b_transpose, Index m, Index n, Index k,
                        const T* a, Index lda, const T* b, Index ldb, Addend<T> addend, T* c,
                        Index ldc);
// Whether multiply_many_rows is faster than BLAS for C [m, n]; a narrow C would mostly be zeros
// that fill a panel up.
template <class T>
bool outruns_blas(Index m, Index n);
// C = A op(B) + addend by the fastest of them and BLAS; `packed` is read where the rows are few.
template <class T>
void multiply(const T* a, Index lda, Index m, const T* b, Index ldb, Transpose transpose,
              const Packed* packed, Index n, Index k, Addend<T> addend, T* c, Index ldc);

// A op(B) for A of so many rows, again and again.
class RepeatedProduct {
 public:
  RepeatedProduct(const Tensor& b, Transpose transpose, Index rows)
      : b_(b), transpose_(transpose), rows_(rows) {
    if (are_few_rows(rows)) packed_ = Packed(b, transpose);
  }
  // C = A op(B) + addend, of contiguous rows.
  template <class T>
  void operator()(const T* a, Addend<T> addend, T* c) const {
    const Index n = b_.shape()[transpose_ == Trans ? 0 : 1];
    const Index k = b_.shape()[transpose_ == Trans ? 1 : 0];
    multiply(a, k, rows_, b_.data<T>(), b_.shape()[1], transpose_, &packed_, n, k, addend, c, n);
  }

 private:
  Tensor b_;
  Transpose transpose_;
  Index rows_;
  Packed packed_;
};

}  // namespace regrad::ops
