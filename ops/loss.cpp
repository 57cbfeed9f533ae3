#include "ops/loss.h"

#include <algorithm>
#include <cmath>

#include "ops/simd/kernels.h"

namespace regrad::ops {
namespace {

void require_labels(std::string_view operation, const Tensor& x, const Ids& labels,
                    const Lengths* lengths) {
  if (x.rank() < 1 || !(x.shape().without(-1) == labels.shape())) {
    fail("{}: input {} does not fit labels {}; its last axis holds the classes", operation,
         x.shape(), labels.shape());
  }
  if (!lengths) return;
  if (labels.shape().rank() != 2) {
    fail("{}: labels {} with lengths are [time, batch]", operation, labels.shape());
  }
  require_lengths(*lengths, labels.shape()[0], labels.shape()[1], operation);
}

void require_weights(std::string_view operation, const Tensor& x, const Tensor& weights) {
  require_same_dtype(x, weights, operation);
  if (!(weights.shape() == Shape{x.shape()[-1]})) {
    fail("{}: class weights {} for {} classes", operation, weights.shape(), x.shape()[-1]);
  }
  visit(weights.dtype(), [&](auto zero) {
    const auto* w = weights.data<decltype(zero)>();
    for (Index i = 0; i < weights.size(); ++i) {
      if (!std::isfinite(w[i]) || w[i] < 0) {
        fail("{}: class {} of {} has weight {}", operation, i, weights.size(), w[i]);
      }
    }
  });
}

// f(position, label) for every label that is read.
template <class F>
void for_each_label(const Targets& targets, const F& f) {
  for (Index i = 0; i < targets.labels.size(); ++i) {
    if (targets.labels[i] >= 0) f(i, Index{targets.labels[i]});
  }
}

// The classes' weights, or nullptr where all are 1.
template <class T>
const T* class_weights(const Targets& targets) {
  return targets.weights.size() ? targets.weights.data<T>() : nullptr;
}

// Σ w[v] x[v]; x nullptr: all 1.
template <class T>
double weighted_sum(const T* weights, const T* x, Index n) {
  if (!x) return weights ? simd::kernels<T>().sum(weights, n) : static_cast<T>(n);
  return weights ? simd::kernels<T>().dot(weights, x, n) : simd::kernels<T>().sum(x, n);
}

}  // namespace

Targets targets(std::string_view operation, const Tensor& x, const Ids& labels,
                const Lengths* lengths, std::optional<std::int32_t> ignore_index,
                const Tensor& class_weights) {
  require_labels(operation, x, labels, lengths);
  if (class_weights.size()) require_weights(operation, x, class_weights);
  Index classes = x.shape()[-1];
  Targets result{labels, class_weights, 0};
  std::int32_t* kept = result.labels.mutable_data();
  for (Index i = 0; i < labels.size(); ++i) {
    bool padded = lengths && !lengths->valid(i / lengths->batch(), i % lengths->batch());
    if (padded || kept[i] == ignore_index) {
      kept[i] = -1;
    } else if (kept[i] < 0 || kept[i] >= classes) {
      fail("{}: label {} at position {} of labels {} is outside of the {} classes", operation,
           kept[i], i, labels.shape(), classes);
    }
  }
  visit(x.dtype(), [&](auto zero) {
    const auto* w = ops::class_weights<decltype(zero)>(result);
    for_each_label(result, [&](Index, Index label) { result.total += w ? w[label] : 1; });
  });
  return result;
}

CrossEntropy cross_entropy(const Tensor& logits, const Targets& targets, double label_smoothing) {
  if (!(label_smoothing >= 0 && label_smoothing < 1)) {
    fail("cross_entropy: label smoothing {} is outside of [0, 1)", label_smoothing);
  }
  Index classes = logits.shape()[-1];
  Tensor log_normaliser = zeros({targets.labels.size(), 2}, logits.dtype());
  Tensor shifted({label_smoothing > 0 ? classes : 0}, logits.dtype());
  double total = 0;
  visit(logits.dtype(), [&](auto zero) {
    using T = decltype(zero);
    auto& kernels = simd::kernels<T>();
    T* normalisers = log_normaliser.mutable_data<T>();
    T* scratch = shifted.mutable_data<T>();
    const T* weights = class_weights<T>(targets);
    double mean_weight = weighted_sum<T>(weights, nullptr, classes) / static_cast<double>(classes);
    for_each_label(targets, [&](Index i, Index label) {
      const T* row = logits.data<T>() + i * classes;
      const auto [high, low] = kernels.log_sum_exp(row, classes);
      normalisers[2 * i] = high;
      normalisers[2 * i + 1] = low;
      double weight = weights ? weights[label] : 1;
      double log_p = (static_cast<double>(row[label]) - high) - low;
      if (weight > 0) total -= (1 - label_smoothing) * weight * log_p;
      if (label_smoothing > 0) {
        kernels.affine(row, T(1), -high, scratch, classes);
        double mean = weighted_sum(weights, scratch, classes) / static_cast<double>(classes);
        total += label_smoothing * (mean_weight * low - mean);
      }
    });
  });
  return {scalar(total, logits.dtype()), log_normaliser};
}

Tensor cross_entropy_backward(Tensor logits, const Targets& targets, double label_smoothing,
                              const Tensor& log_normaliser, double factor) {
  const bool in_place = logits.unique();
  Tensor gradient = in_place ? std::move(logits) : Tensor(logits.shape(), logits.dtype());
  const Tensor& x = in_place ? gradient : logits;
  Index classes = x.shape()[-1];
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    auto& kernels = simd::kernels<T>();
    T* out = gradient.mutable_data<T>();
    const T* row = x.data<T>();
    const T* normalisers = log_normaliser.data<T>();
    const T* weights = class_weights<T>(targets);
    double even = factor * label_smoothing / static_cast<double>(classes);
    double even_total = even * weighted_sum<T>(weights, nullptr, classes);
    for (Index i = 0; i < targets.labels.size(); ++i, out += classes, row += classes) {
      Index label = targets.labels[i];
      double weight = weights && label >= 0 ? weights[label] : 1;
      if (label < 0 || (weight == 0 && label_smoothing == 0)) {
        std::fill_n(out, classes, T(0));
        continue;
      }
      double peak = factor * (1 - label_smoothing) * weight;
      kernels.exp_minus(row, {normalisers[2 * i], normalisers[2 * i + 1]},
                        static_cast<T>(peak + even_total), out, classes);
      if (even != 0 && weights) kernels.accumulate(out, weights, static_cast<T>(-even), classes);
      if (even != 0 && !weights) kernels.affine(out, T(1), static_cast<T>(-even), out, classes);
      out[label] -= static_cast<T>(peak);
    }
  });
  return gradient;
}

Tensor nll(const Tensor& x, const Targets& targets) {
  double total = 0;
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* weights = class_weights<T>(targets);
    for_each_label(targets, [&](Index i, Index label) {
      double weight = weights ? weights[label] : 1;
      if (weight > 0) total -= weight * x.data<T>()[i * x.shape()[-1] + label];
    });
  });
  return scalar(total, x.dtype());
}

void add_nll(Tensor& x, const Targets& targets, double factor) {
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* out = x.mutable_data<T>();
    const T* weights = class_weights<T>(targets);
    for_each_label(targets, [&](Index i, Index label) {
      double weight = weights ? weights[label] : 1;
      out[i * x.shape()[-1] + label] -= static_cast<T>(factor * weight);
    });
  });
}

}  // namespace regrad::ops
