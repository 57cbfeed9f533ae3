#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "autograd/attention.h"
#include "autograd/losses.h"
#include "autograd/recurrent.h"
#include "autograd/self_attention.h"
#include "autograd/var.h"
#include "ops/ids.h"
#include "ops/matmul.h"
#include "ops/rearrange.h"
#include "ops/rng.h"

// The catalogue: every differentiable function, here and in attention.h, losses.h, recurrent.h
// and self_attention.h. Shapes broadcast as in NumPy where two tensors meet; types never mix.
// Whatever cannot be computed throws Error, naming the operation and the shapes.
namespace regrad {

// --- elementwise, with broadcasting
Var add(const Var& a, const Var& b);
Var sub(const Var& a, const Var& b);
Var mul(const Var& a, const Var& b);
Var div(const Var& a, const Var& b);
// aᵇ as std::pow: NaN for a < 0 and b no integer. The gradient by b is NaN for a < 0, 0 at a = 0
// with b ≥ 0; that by a is 0 for b = 0, whatever a.
Var pow(const Var& a, const Var& b);
Var pow(const Var& x, double exponent);
// NaN if either is; each gets half of the gradient where they are equal.
Var minimum(const Var& a, const Var& b);
Var minimum(const Var& x, double c);
Var maximum(const Var& a, const Var& b);
Var maximum(const Var& x, double c);
// a where the condition (what a comparison returns) is not 0, else b. What was not taken changes no
// value, though it be NaN or infinite, and its gradient is 0; but a function before it that has no
// finite derivative there (log, sqrt, rsqrt, reciprocal or pow at 0) makes a NaN of that 0. So
// choose what it is taken of: where(c, log(where(c, x, 1)), 0) for where(c, log(x), 0).
Var where(const Tensor& condition, const Var& a, const Var& b);
Var where(const Tensor& condition, const Var& a, double b);
Var where(const Tensor& condition, double a, const Var& b);

// --- elementwise
Var neg(const Var& x);
Var affine(const Var& x, double scale, double shift);  // scale x + shift
Var abs(const Var& x);                                 // the gradient at 0 is 0
Var square(const Var& x);
Var sqrt(const Var& x);   // the gradient at 0 is infinite
Var rsqrt(const Var& x);  // 1 / √x, infinite at 0
Var reciprocal(const Var& x);
Var exp(const Var& x);
Var exp2(const Var& x);   // 2^x
Var expm1(const Var& x);  // e^x - 1, accurate near 0
Var log(const Var& x);
Var log1p(const Var& x);  // log(1 + x), accurate near 0
Var sin(const Var& x);
Var cos(const Var& x);
Var erf(const Var& x);  // 2/√π ∫₀ˣ e^(-t²) dt
// min(max(x, low), high), NaN kept; the gradient is 1 at low and high, 0 beyond. Throws Error
// unless low ≤ high; either may be infinite.
Var clamp(const Var& x, double low, double high);

// --- activations
Var tanh(const Var& x);
Var sigmoid(const Var& x);                          // 1 / (1 + e^-x)
Var log_sigmoid(const Var& x);                      // -log(1 + e^-x), finite for any finite x
Var softplus(const Var& x);                         // log(1 + e^x), finite for any finite x
Var relu(const Var& x);                             // max(x, 0); the gradient at 0 is 0
Var leaky_relu(const Var& x, double slope = 0.01);  // x > 0 ? x : slope x; at 0 the slope
Var elu(const Var& x, double alpha = 1);            // x > 0 ? x : alpha (e^x - 1); at 0 alpha
// x Φ(x), Φ the normal distribution's (Hendrycks and Gimpel 2016); exact, by erf.
Var gelu(const Var& x);
Var silu(const Var& x);  // x sigmoid(x)

// --- comparisons: 1 where true, else 0, of the inputs' type; a NaN equals and exceeds nothing
Tensor greater(const Var& a, const Var& b);
Tensor greater(const Var& a, double b);
Tensor greater_equal(const Var& a, const Var& b);
Tensor greater_equal(const Var& a, double b);
Tensor less(const Var& a, const Var& b);
Tensor less(const Var& a, double b);
Tensor less_equal(const Var& a, const Var& b);
Tensor less_equal(const Var& a, double b);
Tensor equal(const Var& a, const Var& b);
Tensor equal(const Var& a, double b);
Tensor not_equal(const Var& a, const Var& b);
Tensor not_equal(const Var& a, double b);

// --- order; a NaN counts as larger than any number, of equals the first comes first
// Position of the largest entry along an axis, which goes. Throws Error for an empty axis.
Ids argmax(const Var& x, int axis = -1);
struct TopK {
  Var values;   // differentiable
  Ids indices;  // positions along the axis
};
// The k largest along an axis, largest first. Throws Error unless 0 ≤ k ≤ the axis' size.
TopK topk(const Var& x, Index k, int axis = -1);

// --- reductions over any axes, which may be negative; none means all. keep_dims leaves them as 1
Var sum(const Var& x, std::initializer_list<int> axes = {}, bool keep_dims = false);
Var prod(const Var& x, std::initializer_list<int> axes = {}, bool keep_dims = false);  // 1 of none
// These four throw Error where there is nothing to reduce. In a tie the gradient of max and min is
// shared equally; a NaN makes them NaN.
Var mean(const Var& x, std::initializer_list<int> axes = {}, bool keep_dims = false);
Var max(const Var& x, std::initializer_list<int> axes = {}, bool keep_dims = false);
Var min(const Var& x, std::initializer_list<int> axes = {}, bool keep_dims = false);
// Σ (x - mean)² / (n - correction). Throws Error unless n > correction.
Var variance(const Var& x, std::initializer_list<int> axes = {}, bool keep_dims = false,
             double correction = 1);
// Its root, of numbers whose squares over- or underflow too; the gradient where it is 0 is 0.
Var standard_deviation(const Var& x, std::initializer_list<int> axes = {}, bool keep_dims = false,
                       double correction = 1);
// √Σ x², of numbers whose squares over- or underflow too; the gradient at 0 is 0.
Var norm(const Var& x, std::initializer_list<int> axes = {}, bool keep_dims = false);
// log Σ e^x, finite for any finite x; -∞ of none or of nothing but -∞, where the gradient is 0.
Var logsumexp(const Var& x, std::initializer_list<int> axes = {}, bool keep_dims = false);
// y[i] = Σ_{k ≤ i} x[k] along an axis, or Σ_{k ≥ i} from the end.
Var cumsum(const Var& x, int axis, bool from_end = false);

// --- linear algebra
// a [M, K] @ b [K, N], or batches of them [..., M, K] @ [..., K, N] whose leading dimensions
// broadcast; the flags transpose the last two axes. A vector [K] stands for a row at the left and
// a column at the right, and the result lacks that axis. Throws Error for sizes that differ, a
// number (rank 0) and a transposed vector.
Var matmul(const Var& a, const Var& b, Transpose a_transpose = NoTrans,
           Transpose b_transpose = NoTrans);
Var dot(const Var& a, const Var& b);    // Σ a b of two vectors of one size
Var outer(const Var& a, const Var& b);  // a [M], b [N]: a_i b_j, [M, N]
// x [..., I], weight [O, I], bias [O]: x Wᵀ + b. The weight's gradient is gathered over all uses.
Var linear(const Var& x, const Var& weight);
Var linear(const Var& x, const Var& weight, const Var& bias);

// --- shape
Var reshape(const Var& x, const Shape& shape);
// The same with one -1 among the sizes: what the others leave.
Var reshape(const Var& x, std::initializer_list<Index> dims);
Var expand(const Var& x, const Shape& shape);  // repeats size-1 dimensions
Var expand(const Var& x, std::initializer_list<Index> dims);
Var permute(const Var& x, const Shape& axes);
Var permute(const Var& x, std::initializer_list<Index> axes);
Var transpose(const Var& x, int axis_a = -2, int axis_b = -1);
Var squeeze(const Var& x);              // without its size-1 axes
Var squeeze(const Var& x, int axis);    // without that one; throws Error if its size is not 1
Var unsqueeze(const Var& x, int axis);  // a new axis of size 1 before `axis`; -1: at the end
Var concat(std::span<const Var> parts, int axis);
Var concat(std::initializer_list<Var> parts, int axis);
Var stack(std::span<const Var> parts, int axis = 0);  // along a new axis
Var stack(std::initializer_list<Var> parts, int axis = 0);
// So many equal parts of an axis, or parts of these sizes. Throws Error for a remainder.
std::vector<Var> split(const Var& x, Index parts, int axis);
std::vector<Var> split(const Var& x, std::span<const Index> sizes, int axis);
std::vector<Var> split(const Var& x, std::initializer_list<Index> sizes, int axis);
// Entries [begin, end) of an axis; negative positions count from the end.
Var slice(const Var& x, int axis, Index begin, Index end);
Var slice(const Var& x, int axis, Index begin);  // to the end
Var select(const Var& x, int axis, Index i);     // one slice, without the axis
Var sum_to(const Var& x, const Shape& shape);    // adjoint of expand
// Adjoint of slice: zeros of `shape` with x at [begin, …) of the axis.
Var unslice(const Var& x, const Shape& shape, int axis, Index begin);

// Backwards along each of the axes. Throws Error for an axis given twice.
Var flip(const Var& x, std::initializer_list<int> axes);
// x within a larger tensor of `value`: pad(x, {{0, 1, 2}}) puts 1 entry before and 2 after those of
// axis 0. Throws Error for a negative number of entries and for an axis given twice.
Var pad(const Var& x, std::initializer_list<Padding> padding, double value = 0);
// PyTorch's gather: of index's shape, along axis 1, say, y[i, j, k] = x[i, index[i, j, k], k].
// index has x's rank and, but for the axis, no larger size. Throws Error for that, and for an index
// outside of the axis, naming its position.
Var gather(const Var& x, int axis, const Ids& index);
// PyTorch's scatter_add: x with x[i, index[i, j, k], k] += source[i, j, k]; what source has beyond
// index's shape is not read. Throws Error as gather does.
Var scatter_add(const Var& x, int axis, const Ids& index, const Var& source);

// --- convolution over time
// x [T, B, C]: its windows of `kernel` steps, [T', B, kernel, C], with zeros outside of x;
// T' = ⌊(T + 2 padding - kernel) / stride⌋ + 1. Throws Error when that is below 1.
Var unfold(const Var& x, Index kernel, const Conv1dOptions& options = {});
// Adjoint of unfold: windows added up into [T, B, C] of `shape`.
Var fold(const Var& windows, const Shape& shape, const Conv1dOptions& options = {});
// Time-major x [T, B, C_in] (PyTorch's is [B, C_in, T]), PyTorch's weight [C_out, C_in, K] and bias
// [C_out]: y[t] = Σ_k W[:, :, k] x[t stride + k - padding] + b, [T', B, C_out]. Padded steps of x
// are read, so fill them with zeros before (masked_fill). Throws Error as unfold does.
Var conv1d(const Var& x, const Var& weight, const Conv1dOptions& options = {});
Var conv1d(const Var& x, const Var& weight, const Var& bias, const Conv1dOptions& options = {});

// --- rows and lengths
// table [V, E], ids of any shape: [..., E]. Throws Error for an id outside of the table, naming
// position and table size.
Var rows(const Var& table, const Ids& ids);
// As above for ids [T, B]; a padded position, whose id is not read, gives zeros.
Var rows(const Var& table, const Ids& ids, const Lengths& lengths);
// Adjoint of rows: g [..., E] added up by id into [V, E].
Var scatter_rows(const Var& g, const Ids& ids, const Shape& table);
Var scatter_rows(const Var& g, const Ids& ids, const Lengths& lengths, const Shape& table);
// x [T, B, ...] with every padded position replaced by `value`, whatever it holds.
Var masked_fill(const Var& x, const Lengths& lengths, double value);
// x [T, B, ...] with each sequence backwards within its length; zeros at padded positions, whatever
// x holds there. Its own inverse but for padding.
Var reverse(const Var& x, const Lengths& lengths);
// [..., classes]: 1 at the id, else 0; a constant. Throws Error for an id outside of [0, classes),
// naming its position. With lengths, ids are [T, B] and a padded position gives zeros.
Tensor one_hot(const Ids& ids, Index classes, DType dtype = DType::f32);
Tensor one_hot(const Ids& ids, const Lengths& lengths, Index classes, DType dtype = DType::f32);

// --- normalised, over the last axis
// Finite for any finite input; over nothing but -∞, softmax gives zeros and log_softmax -∞.
Var softmax(const Var& x);
Var log_softmax(const Var& x);
// x [..., B, S]: row (…, b) over its first lengths[b] entries; the entries behind them are not read
// and give 0, also as logarithms, so that Σ p log p is what it should be. A row without any valid
// entry is all zeros.
Var softmax(const Var& x, const Lengths& lengths);
Var log_softmax(const Var& x, const Lengths& lengths);
// Scores [..., T, S] of T queries against S keys: query t sees the keys s ≤ t + (S - T), the last
// query all of them; the others are not read and give 0, also as logarithms.
Var causal_softmax(const Var& x);
Var causal_log_softmax(const Var& x);
// (x - mean) / sqrt(variance + ε), the variance without Bessel's correction, times weight [N] plus
// bias [N] (Ba, Kiros and Hinton 2016): x [..., N]. Fused: first derivatives only; the composed
// twin is in nn/composed.h. Padded steps are read: masked_fill them. Throws Error for an empty
// axis, weight or bias of another shape and an ε that is not above 0, also in f32.
Var layer_norm(const Var& x, double epsilon = 1e-5);
Var layer_norm(const Var& x, const Var& weight, double epsilon = 1e-5);
Var layer_norm(const Var& x, const Var& weight, const Var& bias, double epsilon = 1e-5);
// Σ a b / (max(‖a‖, ε) max(‖b‖, ε)) over the last axis, which goes; the others broadcast. Finite
// for zeros and for numbers whose squares overflow. Throws Error for last axes that differ and an ε
// that is not above 0, also in f32.
Var cosine_similarity(const Var& a, const Var& b, double epsilon = 1e-8);
// Zeroes entries with probability p and divides the others by 1 - p (Srivastava et al. 2014).
Var dropout(const Var& x, double p, Rng& rng);

// --- operators
inline Var operator+(const Var& a, const Var& b) { return add(a, b); }
inline Var operator-(const Var& a, const Var& b) { return sub(a, b); }
inline Var operator*(const Var& a, const Var& b) { return mul(a, b); }
inline Var operator/(const Var& a, const Var& b) { return div(a, b); }
inline Var operator-(const Var& x) { return neg(x); }
inline Var operator+(const Var& x, double c) { return affine(x, 1, c); }
inline Var operator+(double c, const Var& x) { return affine(x, 1, c); }
inline Var operator-(const Var& x, double c) { return affine(x, 1, -c); }
inline Var operator-(double c, const Var& x) { return affine(x, -1, c); }
inline Var operator*(const Var& x, double c) { return affine(x, c, 0); }
inline Var operator*(double c, const Var& x) { return affine(x, c, 0); }
inline Var operator/(const Var& x, double c) { return div(x, scalar(c, x.dtype())); }
inline Var operator/(double c, const Var& x) { return div(scalar(c, x.dtype()), x); }
// a += b is a = a + b: another value under the same name; what was recorded of the old one stays.
inline Var& operator+=(Var& a, const Var& b) { return a = a + b; }
inline Var& operator-=(Var& a, const Var& b) { return a = a - b; }
inline Var& operator*=(Var& a, const Var& b) { return a = a * b; }
inline Var& operator/=(Var& a, const Var& b) { return a = a / b; }
inline Var& operator+=(Var& a, double c) { return a = a + c; }
inline Var& operator-=(Var& a, double c) { return a = a - c; }
inline Var& operator*=(Var& a, double c) { return a = a * c; }
inline Var& operator/=(Var& a, double c) { return a = a / c; }

}  // namespace regrad
