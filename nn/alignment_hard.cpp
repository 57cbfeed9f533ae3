#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "autograd/functions.h"
#include "nn/alignment.h"

namespace regrad {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Rows of x [B, S], each 1 at position choose(row, length), unless that is -1, and 0 elsewhere; NaN
// where a valid entry is. `choose` is called for every row, so that random numbers of one do not
// depend on the lengths of others.
template <class Choose>
Tensor one_hot_rows(const Tensor& x, const Lengths& lengths, const Choose& choose) {
  const std::vector<double> values = x.to_vector();
  std::vector<double> result(values.size());
  const double* row = values.data();
  double* out = result.data();
  for (Index b = 0; b < lengths.batch(); ++b, row += lengths.time(), out += lengths.time()) {
    const Index chosen = choose(row, lengths[b]);
    if (chosen >= 0) out[chosen] = 1;
    for (Index s = 0; s < lengths[b]; ++s) {
      if (std::isnan(row[s])) out[s] = row[s];
    }
  }
  return tensor(result, x.shape(), x.dtype());
}

Tensor likeliest(const Tensor& x, const Lengths& lengths) {
  return one_hot_rows(x, lengths, [](const double* row, Index n) {
    const double* best = std::max_element(row, row + n);
    return n == 0 || *best == -infinity ? Index{-1} : static_cast<Index>(best - row);
  });
}

// One position of each row, by its probability.
Tensor draw(const Tensor& probabilities, const Lengths& lengths, Rng& rng) {
  return one_hot_rows(probabilities, lengths, [&](const double* row, Index n) {
    double left = rng.uniform() * std::accumulate(row, row + n, 0.0);
    Index last = -1;  // that has a probability above 0
    for (Index s = 0; s < n; ++s) {
      if (!(row[s] > 0)) continue;
      last = s;
      left -= row[s];
      if (left < 0) break;
    }
    return last;
  });
}

// -log(-log u): the largest of scores with such noise is distributed as their softmax.
Tensor gumbel(const Shape& shape, Rng& rng, DType dtype) {
  std::vector<double> noise(static_cast<std::size_t>(shape.size()));
  // Neither 0 nor 1.
  for (double& value : noise) value = -std::log(-std::log((rng.bits() + 0.5) * 0x1p-32));
  return tensor(noise, shape, dtype);
}

}  // namespace

Aligned HardReinforceAlignment::operator()(const Var& scores, const Var&,
                                           const AttentionMemory& memory, const AttentionState&,
                                           Rng* rng) const {
  const Lengths& lengths = memory.lengths;
  if (!rng) return {.weights = likeliest(scores.value(), lengths)};
  const Var p = softmax(scores, lengths), log_p = log_softmax(scores, lengths);
  const Tensor drawn = draw(p.value(), lengths, *rng);
  // 0 log 0 is 0, and what was not drawn counts nothing.
  const Var surprise = p * where(greater(p, 0), log_p, 0);
  return {.weights = drawn,
          .log_probability = sum(where(drawn, log_p, 0), {-1}),
          .entropy = -sum(surprise, {-1})};
}

HardGumbelAlignment::HardGumbelAlignment(const AttentionOptions& options, DType dtype)
    : temperature_(options.temperature) {
  require_positive("hard-gumbel attention", "temperature", temperature_, dtype);
}

Aligned HardGumbelAlignment::operator()(const Var& scores, const Var&,
                                        const AttentionMemory& memory, const AttentionState&,
                                        Rng* rng) const {
  const Lengths& lengths = memory.lengths;
  if (!rng) return {.weights = likeliest(scores.value(), lengths)};
  const Var noisy = scores + Var(gumbel(scores.shape(), *rng, scores.dtype()));
  const Var relaxed = softmax(noisy / temperature_, lengths);
  return {.weights = straight_through(likeliest(noisy.value(), lengths), relaxed)};
}

Aligned HardMarginalAlignment::operator()(const Var& scores, const Var&,
                                          const AttentionMemory& memory, const AttentionState&,
                                          Rng*) const {
  return {.weights = softmax(scores, memory.lengths),
          .log_weights = log_softmax(scores, memory.lengths)};
}

Var marginal_log_likelihood(const Var& log_weights, const Var& log_p, const Lengths& lengths) {
  require_same_dtype(log_weights.value(), log_p.value(), "marginal_log_likelihood");
  const Var likelihoods = log_p.rank() < 2 ? log_p : transpose(log_p);  // [..., B, S]
  if (log_p.rank() < 2 || !(log_weights.shape() == likelihoods.shape())) {
    fail(
        "marginal_log_likelihood: log_weights {} [..., batch, time] do not fit log_p {} "
        "[..., time, batch]",
        log_weights.shape(), log_p.shape());
  }
  require_lengths(lengths, log_weights.shape()[-1], log_weights.shape()[-2],
                  "marginal_log_likelihood");
  // [B, S] and [B]: 1 where there is something valid.
  const Var steps = ones({lengths.time(), lengths.batch()}, log_p.dtype());
  const Tensor valid = transpose(masked_fill(steps, lengths, 0)).value();
  const Tensor any = greater(sum(Var(valid), {-1}), 0);
  const Var joint = where(valid, log_weights + likelihoods, -infinity);
  return where(any, logsumexp(joint, {-1}), 0);
}

}  // namespace regrad
