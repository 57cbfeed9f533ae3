#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "autograd/functions.h"
#include "autograd/record.h"
#include "ops/elementwise.h"
#include "ops/loss.h"
#include "ops/reduce.h"

namespace regrad {
namespace {

// What a sum is multiplied with: 1 / total for a mean, which over nothing is 0.
double factor(bool mean, double total) { return !mean ? 1 : total > 0 ? 1 / total : 0; }

Var cross_entropy(const Var& logits, const Ids& labels, const Lengths* lengths,
                  const CrossEntropyOptions& options) {
  ops::Targets targets = ops::targets("cross_entropy", logits.value(), labels, lengths,
                                      options.ignore_index, options.class_weights);
  auto [loss, normaliser] = ops::cross_entropy(logits.value(), targets, options.label_smoothing);
  double scale = factor(options.mean, targets.total);
  auto pullback = [x = logits.value(), targets, smoothing = options.label_smoothing,
                   log_normaliser = normaliser,
                   scale](const Tensor& g, GradientSink& sink) mutable {
    sink.add(0, ops::cross_entropy_backward(sink.last() ? std::move(x) : x, targets, smoothing,
                                            log_normaliser, scale * g.item()));
  };
  return record_fused("cross_entropy", ops::affine(loss, scale, 0), {&logits}, std::move(pullback));
}

Var nll_sum(const Var& x, const ops::Targets& targets);

// Adjoint of nll_sum: -g w[label] at each label, in zeros of `shape`.
Var nll_spread(const Var& g, const ops::Targets& targets, const Shape& shape) {
  Tensor y = zeros(shape, g.dtype());
  ops::add_nll(y, targets, g.item());
  return record("nll_spread", std::move(y),
                Edge{g, [targets](const Var& h) { return nll_sum(h, targets); }});
}

Var nll_sum(const Var& x, const ops::Targets& targets) {
  return record(
      "nll", ops::nll(x.value(), targets),
      AddingEdge{
          x, [targets, shape = x.shape()](const Var& g) { return nll_spread(g, targets, shape); },
          [targets](const Tensor& g, Tensor& sum) { ops::add_nll(sum, targets, g.item()); }});
}

Var nll(const Var& x, const Ids& labels, const Lengths* lengths, const NllOptions& options) {
  ops::Targets targets =
      ops::targets("nll", x.value(), labels, lengths, options.ignore_index, options.class_weights);
  return affine(nll_sum(x, targets), factor(options.mean, targets.total), 0);
}

}  // namespace

Var cross_entropy(const Var& logits, const Ids& labels, const Lengths& lengths,
                  const CrossEntropyOptions& options) {
  return cross_entropy(logits, labels, &lengths, options);
}

Var cross_entropy(const Var& logits, const Ids& labels, const CrossEntropyOptions& options) {
  return cross_entropy(logits, labels, nullptr, options);
}

Var nll(const Var& log_p, const Ids& labels, const Lengths& lengths, const NllOptions& options) {
  return nll(log_p, labels, &lengths, options);
}

Var nll(const Var& log_p, const Ids& labels, const NllOptions& options) {
  return nll(log_p, labels, nullptr, options);
}

namespace {

void require_lengths_of(const Var& x, const Lengths& lengths, const char* operation) {
  if (x.rank() < 2) fail("{}: shape {} is not [time, batch, …]", operation, x.shape());
  require_lengths(lengths, x.shape()[0], x.shape()[1], operation);
}

// The mean or sum of terms(x, target), one per element or per row of `row_size` elements. Padding
// is replaced before and after, so that neither values nor gradients pass it.
template <class F>
Var reduce(const char* operation, const Var& x, const Var& target, const Lengths* lengths,
           bool mean, Index row_size, const F& terms) {
  if (!(x.shape() == target.shape())) {
    fail("{}: input {} and target {} differ in shape", operation, x.shape(), target.shape());
  }
  require_same_dtype(x.value(), target.value(), operation);
  auto rows = static_cast<double>(x.size()) / static_cast<double>(std::max<Index>(row_size, 1));
  if (!lengths) return affine(sum(terms(x, target)), factor(mean, rows), 0);
  require_lengths_of(x, *lengths, operation);
  Var all = terms(masked_fill(x, *lengths, 0), masked_fill(target, *lengths, 0));
  auto positions = static_cast<double>(std::max<Index>(lengths->time() * lengths->batch(), 1));
  return affine(sum(masked_fill(all, *lengths, 0)),
                factor(mean, rows * static_cast<double>(lengths->total()) / positions), 0);
}

// Throws Error for a target outside of [0, highest].
void require_targets(const char* operation, const Tensor& target, double highest) {
  visit(target.dtype(), [&](auto zero) {
    const auto* t = target.data<decltype(zero)>();
    for (Index i = 0; i < target.size(); ++i) {
      if (t[i] >= 0 && t[i] <= highest) continue;
      fail("{}: the target at position {} of shape {} is {}, no probability", operation, i,
           target.shape(), t[i]);
    }
  });
}

Var mse(const Var& x, const Var& target, const Lengths* lengths, const LossOptions& options) {
  return reduce("mse", x, target, lengths, options.mean, 1,
                [](const Var& a, const Var& b) { return square(sub(a, b)); });
}

Var smooth_l1(const Var& x, const Var& target, const Lengths* lengths,
              const SmoothL1Options& options) {
  double beta = options.beta;
  if (!(beta >= 0 && std::isfinite(beta))) fail("smooth_l1: beta {} is not 0 or above", beta);
  return reduce("smooth_l1", x, target, lengths, options.mean, 1, [&](const Var& a, const Var& b) {
    Var d = sub(a, b);
    // Not only of 0: within a β whose inverse is beyond all numbers there is nothing either.
    if (!std::isfinite(as_element(1 / beta, d.dtype()))) return abs(d);
    Var c = clamp(d, -beta, beta);
    return mul(affine(c, 1 / beta, 0), sub(d, affine(c, 0.5, 0)));
  });
}

Var bce_with_logits(const Var& x, const Var& target, const Lengths* lengths,
                    const BceOptions& options) {
  const Tensor& weight = options.pos_weight;
  bool weighted = weight.size() > 0;
  if (weighted && !(broadcast(x.shape(), weight.shape(), "bce_with_logits") == x.shape())) {
    fail("bce_with_logits: pos_weight {} is larger than the input {}", weight.shape(), x.shape());
  }
  if (weighted) require_same_dtype(x.value(), weight, "bce_with_logits");
  if (weighted && (ops::range(weight).low < 0 || ops::range(weight).not_finite >= 0)) {
    fail("bce_with_logits: pos_weight has a negative or infinite weight: {}", weight);
  }
  auto terms = [&](const Var& logit, const Var& t) {
    require_targets("bce_with_logits", t.value(), 1);
    Var positive = weighted ? mul(t, Var(weight)) : t;
    return add(mul(positive, softplus(neg(logit))), mul(affine(t, -1, 1), softplus(logit)));
  };
  return reduce("bce_with_logits", x, target, lengths, options.mean, 1, terms);
}

Var kl_div(const Var& log_q, const Var& target, const Lengths* lengths,
           const KlDivOptions& options) {
  if (log_q.rank() < (lengths ? 3 : 1)) {
    fail("kl_div: shape {} has no rows of classes{}", log_q.shape(),
         lengths ? "; with lengths it is [time, batch, classes]" : "");
  }
  auto terms = [&](const Var& input, const Var& t) {
    constexpr double any = std::numeric_limits<double>::infinity();
    if (!options.log_target) require_targets("kl_div", t.value(), any);
    Tensor counts = not_equal(options.log_target ? Var(exp(t).value()) : t, 0);
    Var kept = where(counts, t, options.log_target ? 0 : 1);
    Var log_p = options.log_target ? kept : log(kept), p = options.log_target ? exp(kept) : kept;
    return where(counts, mul(p, sub(log_p, where(counts, input, 0))), 0);
  };
  return reduce("kl_div", log_q, target, lengths, options.mean, log_q.shape()[-1], terms);
}

}  // namespace

Var mse(const Var& x, const Var& target, const LossOptions& options) {
  return mse(x, target, nullptr, options);
}
Var mse(const Var& x, const Var& target, const Lengths& lengths, const LossOptions& options) {
  return mse(x, target, &lengths, options);
}
Var smooth_l1(const Var& x, const Var& target, const SmoothL1Options& options) {
  return smooth_l1(x, target, nullptr, options);
}
Var smooth_l1(const Var& x, const Var& target, const Lengths& lengths,
              const SmoothL1Options& options) {
  return smooth_l1(x, target, &lengths, options);
}
Var bce_with_logits(const Var& x, const Var& target, const BceOptions& options) {
  return bce_with_logits(x, target, nullptr, options);
}
Var bce_with_logits(const Var& x, const Var& target, const Lengths& lengths,
                    const BceOptions& options) {
  return bce_with_logits(x, target, &lengths, options);
}
Var kl_div(const Var& log_q, const Var& target, const KlDivOptions& options) {
  return kl_div(log_q, target, nullptr, options);
}
Var kl_div(const Var& log_q, const Var& target, const Lengths& lengths,
           const KlDivOptions& options) {
  return kl_div(log_q, target, &lengths, options);
}

}  // namespace regrad
