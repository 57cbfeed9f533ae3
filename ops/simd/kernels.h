#pragma once

#include <atomic>
#include <cstdint>

#include "ops/shape.h"

// The inner loops. Each is compiled once per instruction set and chosen at run time; an element's
// rounding does not depend on its position, as tails run through the same vector code.
namespace regrad::ops {

enum class Unary {
  copy,
  neg,
  abs,
  sign,  // -1, 0, 1; of NaN 0
  relu,
  square,
  sqrt,
  rsqrt,
  reciprocal,
  exp,
  expm1,
  log,
  log1p,
  sin,
  cos,
  tanh,
  sigmoid,
  softplus,
  log_sigmoid,
  erf,
  gelu
};
enum class Binary {
  add,
  sub,
  mul,
  div,
  pow,
  minimum,  // both keep NaN
  maximum,
  share,             // a's part in the gradient of minimum(a, b): 1, 0, or ½ in a tie
  leaky_relu,        // of x and the slope below 0
  elu,               // of x and alpha
  tanh_backward,     // g and y: g (1 - y²)
  sigmoid_backward,  // g and y: g y (1 - y)
  relu_backward,     // g and x: x > 0 ? g : 0
  greater,           // comparisons: 1 or 0
  greater_equal,
  less,
  less_equal,
  equal,
  not_equal
};
enum class Nonlinearity { tanh, relu };  // of the plain recurrent layer

namespace simd {

struct AdamConstants {
  double step_size;   // learning rate over 1 - β₁ᵗ
  double root_scale;  // 1 / sqrt(1 - β₂ᵗ)
  double beta1, beta2, epsilon, weight_decay;
  double shrink = 1;  // multiplies the parameter first: decoupled weight decay
};
struct SgdConstants {
  double learning_rate, momentum, weight_decay;
  bool nesterov;
};
struct AdadeltaConstants {
  double learning_rate, rho, epsilon, weight_decay;
};

// high + low: a sum, rounded, and what the rounding lost. So a shift of 1e4 keeps its decimals, and
// one of 1e30 still has the log Σ that was added to it.
template <class T>
struct Shift {
  T high, low;
};

constexpr Index philox_blocks = 16;

// Asks for n numbers that are needed soon. Inlined everywhere: it belongs to no instruction set.
template <class T>
[[gnu::always_inline]] inline void prefetch(const T* x, Index n) {
  constexpr Index line = 64 / sizeof(T);
  for (Index i = 0; i < n; i += line) __builtin_prefetch(x + i);
}

template <class T>
struct Kernels {
  // elementwise
  void (*map)(Unary op, const T* x, T* y, Index n);
  // a_step and b_step are 1, or 0 for one value that stands for all.
  void (*zip)(Binary op, const T* a, Index a_step, const T* b, Index b_step, T* y, Index n);
  // y = a where the condition is not 0, else b; steps as above.
  void (*select)(const T* condition, Index c_step, const T* a, Index a_step, const T* b,
                 Index b_step, T* y, Index n);
  void (*affine)(const T* x, T scale, T shift, T* y, Index n);
  void (*accumulate)(T* y, const T* x, T factor, Index n);  // y += factor x

  // reductions
  T (*sum)(const T* x, Index n);
  T (*largest)(const T* x, Index n);  // n > 0; both NaN if one is
  T (*smallest)(const T* x, Index n);
  T (*dot)(const T* a, const T* b, Index n);
  double (*sum_squares)(const T* x, Index n);  // in double: survives 1e20 in f32

  // one row; in place is allowed
  void (*softmax)(const T* x, T* y, Index n);
  Shift<T> (*log_sum_exp)(const T* x, Index n);                            // -∞ over nothing
  void (*exp_minus)(const T* x, Shift<T> shift, T factor, T* y, Index n);  // factor e^(x - shift)

  // one sequence at one step
  void (*rnn)(Nonlinearity f, const T* from_input, const T* from_hidden, T* h_next, Index size);
  void (*rnn_backward)(Nonlinearity f, const T* g, const T* h_next, T* g_gates, Index size);
  // `kept` holds i, f, g, o and tanh(c'): 5H. g_c may be g_c_next.
  void (*lstm)(const T* from_input, const T* from_hidden, const T* c, T* h_next, T* c_next, T* kept,
               Index size);
  void (*lstm_backward)(const T* g_h, const T* g_c_next, const T* kept, const T* c, T* g_gates,
                        T* g_c, Index size);
  // `kept` holds r, z, n and the hidden part of n: 4H
  void (*gru)(const T* from_input, const T* from_hidden, const T* h, T* h_next, T* kept,
              Index size);
  void (*gru_backward)(const T* g, const T* kept, const T* h, T* g_input, T* g_hidden, T* g_h,
                       Index size);

  // one query against the keys of its sentence, `count` rows `stride` apart
  void (*additive_score)(const T* query, const T* keys, Index stride, Index count, const T* v,
                         T* scores, Index n);
  void (*additive_score_backward)(const T* g, const T* query, const T* keys, Index stride,
                                  Index count, const T* v, T* g_query, T* g_keys, T* g_v,
                                  Index n);  // each adds

  // A product, C = op(A) op(B), panel by panel: panel_width columns of op(B), which is
  // [k, n ≤ panel_width], laid row after row, filled up with zeros.
  Index panel_width;
  void (*pack_panel)(const T* b, Index ldb, bool transposed, Index k, Index n, T* panel);
  // c [m, n] = op(a) [m, k] panel + bias [n], or adds it to c; no bias: nullptr. Each sum runs over
  // k in order, whatever m is; it is fastest where panel_rows divide m.
  Index panel_rows;
  // Columns of a [k, m] in groups of panel_rows, each [k, rows of the group]: a transposed a.
  void (*pack_groups)(const T* a, Index lda, Index m, Index k, T* out);
  bool outruns_blas;  // with many rows, too; OpenBLAS 0.3.21 has AVX-512 for some processors only
  void (*multiply_panel)(const T* a, Index lda, bool transposed, Index m, const T* panel, Index k,
                         T* c, Index ldc, Index n, const T* bias, bool accumulate);
  // c [n] += a [k] op(B), op(B) read where it lies, in the order of memory.
  void (*multiply_row)(const T* a, const T* b, Index ldb, bool transposed, Index n, Index k, T* c);

  // The blocks of consecutive counters, philox_blocks of four words each (see Rng).
  void (*philox)(std::uint64_t seed, std::uint64_t stream, std::uint64_t counter,
                 std::uint32_t* out);

  void (*adam)(T* x, const T* g, T* m, T* v, Index n, const AdamConstants& c);
  void (*sgd)(T* x, const T* g, T* buffer, Index n, const SgdConstants& c);  // buffer or nullptr
  void (*adadelta)(T* x, const T* g, T* squares, T* changes, Index n, const AdadeltaConstants& c);
};

namespace detail {
template <class T>
inline constinit std::atomic<const Kernels<T>*> chosen = nullptr;  // at the first call
template <class T>
const Kernels<T>& choose_kernels();
}  // namespace detail

// The kernels for this machine: of the widest instruction set that it has. REGRAD_SIMD in the
// environment allows no wider one than it names. Throws Error for a name that there is not.
template <class T>
const Kernels<T>& kernels() {
  const Kernels<T>* table = detail::chosen<T>.load(std::memory_order_acquire);
  return table ? *table : detail::choose_kernels<T>();
}

// The instruction set that kernels() chose: `avx512`, `avx2` or `baseline`.
const char* instruction_set();

// Tags: one compilation of the kernel sources each.
struct Baseline;
struct Avx2;
struct Avx512;

template <class Set, class T>
void add_elementwise(Kernels<T>& table);
template <class Set, class T>
void add_reductions(Kernels<T>& table);
template <class Set, class T>
void add_rows(Kernels<T>& table);
template <class Set, class T>
void add_recurrent(Kernels<T>& table);
template <class Set, class T>
void add_attention(Kernels<T>& table);
template <class Set, class T>
void add_product(Kernels<T>& table);
template <class Set, class T>
void add_random(Kernels<T>& table);
template <class Set, class T>
void add_optimizer(Kernels<T>& table);

}  // namespace simd
}  // namespace regrad::ops
