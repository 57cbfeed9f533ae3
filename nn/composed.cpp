#include "nn/composed.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "ops/loss.h"
#include "ops/tensor.h"

namespace regrad {
namespace {

// Padding is replaced at the start of everything below: 0 · NaN would be NaN.

// x [S, B, ...]: the largest valid entry of each column, [1, B, ...]; 0 where there is none.
Tensor largest_valid(const Tensor& x, const Lengths& lengths) {
  const std::vector<double> values = x.to_vector();
  const Index inner = x.shape().product(2, x.rank());
  std::vector<double> largest(static_cast<std::size_t>(lengths.batch() * inner));
  for (Index b = 0; b < lengths.batch(); ++b) {
    for (Index i = b * inner; i < (b + 1) * inner && lengths[b] > 0; ++i) {
      double& best = largest[static_cast<std::size_t>(i)];
      best = -std::numeric_limits<double>::infinity();
      for (Index s = 0; s < lengths[b]; ++s) {
        best = std::max(best, values[static_cast<std::size_t>(s * lengths.batch() * inner + i)]);
      }
    }
  }
  return tensor(largest, x.shape().with(0, 1), x.dtype());
}

// Of one step, valid for the sequences that have any.
Lengths any_valid(const Lengths& lengths) {
  std::vector<std::int32_t> any;
  for (Index b = 0; b < lengths.batch(); ++b) any.push_back(lengths[b] > 0 ? 1 : 0);
  return Lengths(any, 1);
}

// Of logits' shape: what log p is multiplied with, (1 - ε) w[v] [v = label] + ε w[v] / V, and 0
// where no label is read.
Tensor target_distribution(const Tensor& logits, const ops::Targets& targets, double epsilon) {
  const Index classes = logits.shape()[-1];
  std::vector<double> weights = targets.weights.to_vector();
  if (weights.empty()) weights.assign(static_cast<std::size_t>(classes), 1);
  std::vector<double> target(static_cast<std::size_t>(logits.size()));
  double* row = target.data();
  for (const std::int32_t label : targets.labels) {
    for (Index v = 0; label >= 0 && v < classes; ++v) {
      const double share = epsilon / static_cast<double>(classes) + (v == label ? 1 - epsilon : 0);
      row[v] = share * weights[static_cast<std::size_t>(v)];
    }
    row += classes;
  }
  return tensor(target, logits.shape(), logits.dtype());
}

}  // namespace

Var additive_score_composed(const Var& query, const Var& keys, const Var& v,
                            const Lengths& lengths) {
  const Var hidden = tanh(query + masked_fill(keys, lengths, 0));
  return transpose(masked_fill(sum(hidden * v, {2}), lengths, 0));
}

Var dot_score_composed(const Var& query, const Var& keys, const Lengths& lengths) {
  return transpose(sum(query * masked_fill(keys, lengths, 0), {2}));
}

Var weighted_sum_composed(const Var& weights, const Var& values, const Lengths& lengths) {
  const Var weight = masked_fill(transpose(weights), lengths, 0);
  return sum(reshape(weight, weight.shape().appended(1)) * masked_fill(values, lengths, 0), {0});
}

Var softmax_composed(const Var& x, const Lengths& lengths) {
  // masked_fill wants [S, B, ...]: the last two axes in front, and back in the end.
  const Index rank = x.rank();
  std::vector<Index> to_front{rank - 1, rank - 2}, back;
  for (Index axis = 0; axis < rank - 2; ++axis) {
    to_front.push_back(axis);
    back.push_back(axis + 2);
  }
  back.insert(back.end(), {1, 0});
  const Var scores = masked_fill(permute(x, Shape(to_front)), lengths, 0);
  const Var shifted = scores - Var(largest_valid(scores.value(), lengths));
  const Var e = masked_fill(exp(masked_fill(shifted, lengths, 0)), lengths, 0);
  const Var total = sum(e, {0}, true);
  // Without any valid entry the total is 0, and so must be the weights.
  const Var empty = masked_fill(Var(zeros(total.shape(), x.dtype())), any_valid(lengths), 1);
  return permute(e / (total + empty), Shape(back));
}

Var cross_entropy_composed(const Var& logits, const Ids& labels, const Lengths& lengths,
                           const CrossEntropyOptions& options) {
  const Var log_p = log_softmax(masked_fill(logits, lengths, 0));
  const ops::Targets targets = ops::targets("cross_entropy_composed", logits.value(), labels,
                                            &lengths, options.ignore_index, options.class_weights);
  const Var target = target_distribution(logits.value(), targets, options.label_smoothing);
  return -sum(target * log_p) / (options.mean && targets.total > 0 ? targets.total : 1);
}

Var layer_norm_composed(const Var& x, double epsilon) {
  const Var centred = x - mean(x, {-1}, true);
  return centred / sqrt(mean(square(centred), {-1}, true) + epsilon);
}

Var layer_norm_composed(const Var& x, const Var& weight, double epsilon) {
  return layer_norm_composed(x, epsilon) * weight;
}

Var layer_norm_composed(const Var& x, const Var& weight, const Var& bias, double epsilon) {
  return layer_norm_composed(x, epsilon) * weight + bias;
}

}  // namespace regrad
