#include "ops/sparsemax.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

namespace regrad::ops {
namespace {

// τ of sparsemax: with the k largest z, τ_k = (Σ z - 1) / k; the support is the largest k whose
// last entry still is above its threshold. z is sorted, the largest first, and that is 0.
double sparsemax_threshold(const std::vector<double>& z) {
  double sum = 0, threshold = 0, count = 0;
  for (const double value : z) {
    const double with_it = (sum + value - 1) / (count + 1);
    if (value <= with_it) break;
    sum += value;
    count += 1;
    threshold = with_it;
  }
  return threshold;
}

// τ of 1.5-entmax: Σ (z - τ)² = 1 over the k largest gives τ_k = mean - √((1 - k variance) / k).
// Mean and Σ (z - mean)² are carried on as Welford (1962) does, without cancellation.
double entmax_threshold(const std::vector<double>& z) {
  double mean = 0, squares = 0, threshold = 0, count = 0;
  for (const double value : z) {
    count += 1;
    const double from_old = value - mean;
    mean += from_old / count;
    squares += from_old * (value - mean);
    const double with_it = mean - std::sqrt(std::max(0.0, 1 - squares) / count);
    if (value <= with_it) break;
    threshold = with_it;
  }
  return threshold;
}

// y = power(max(scale (x - largest) - τ, 0)) of one row; `candidates` is scratch space.
template <class T, class Threshold, class Power>
void sparse_row(const T* x, T* y, Index n, double scale, const Threshold& threshold,
                const Power& power, std::vector<double>& candidates) {
  double largest = -std::numeric_limits<double>::infinity();
  for (Index i = 0; i < n && !std::isnan(largest); ++i) {
    const double value = x[i];
    if (!(value <= largest)) largest = value;
  }
  if (!std::isfinite(largest)) {
    std::fill_n(y, n, largest < 0 ? T(0) : std::numeric_limits<T>::quiet_NaN());
    return;
  }
  // τ ≥ -1, so that nothing at or below it is in the support.
  candidates.clear();
  for (Index i = 0; i < n; ++i) {
    const double z = scale * (x[i] - largest);
    if (z > -1) candidates.push_back(z);
  }
  std::sort(candidates.begin(), candidates.end(), std::greater<>());
  const double tau = threshold(candidates);
  for (Index i = 0; i < n; ++i) {
    y[i] = static_cast<T>(power(std::max(scale * (x[i] - largest) - tau, 0.0)));
  }
}

template <class Threshold, class Power>
Tensor by_rows(const char* operation, const Tensor& x, const Lengths* lengths, double scale,
               const Threshold& threshold, const Power& power) {
  if (x.rank() < (lengths ? 2 : 1)) {
    fail("{}: shape {} has no rows{}", operation, x.shape(), lengths ? " [..., batch, time]" : "");
  }
  const Index n = x.shape()[-1], rows = x.shape().product(0, x.rank() - 1);
  if (lengths) require_lengths(*lengths, n, x.shape()[-2], operation);
  Tensor y(x.shape(), x.dtype());
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* in = x.data<T>();
    T* out = y.mutable_data<T>();
    std::vector<double> candidates;
    for (Index row = 0; row < rows; ++row, in += n, out += n) {
      const Index valid = lengths ? (*lengths)[row % lengths->batch()] : n;
      sparse_row(in, out, valid, scale, threshold, power, candidates);
      std::fill(out + valid, out + n, T(0));
    }
  });
  return y;
}

}  // namespace

Tensor sparsemax(const Tensor& x, const Lengths* lengths) {
  return by_rows("sparsemax", x, lengths, 1, sparsemax_threshold, [](double p) { return p; });
}

Tensor entmax(const Tensor& x, const Lengths* lengths) {
  return by_rows("entmax", x, lengths, 0.5, entmax_threshold, [](double p) { return p * p; });
}

}  // namespace regrad::ops
