#include "autograd/functions.h"
#include "autograd/record.h"
#include "ops/elementwise.h"
#include "ops/softmax.h"

namespace regrad {
namespace {

// J ᵀg of a softmax: y (g - Σ y g)
Var softmax_pullback(const Var& g, const Var& y) {
  return mul(y, sub(g, sum(mul(y, g), {-1}, true)));
}

}  // namespace

Var softmax(const Var& x) {
  return record("softmax", ops::softmax(x.value()), Edge{x, softmax_pullback});
}

Var softmax(const Var& x, const Lengths& lengths) {
  return record("softmax", ops::softmax(x.value(), &lengths), Edge{x, softmax_pullback});
}

Var log_softmax(const Var& x) {
  return record(
      "log_softmax", ops::log_softmax(x.value()),
      Edge{x, [](const Var& g, const Var& y) { return sub(g, mul(exp(y), sum(g, {-1}, true))); }});
}

Var dropout(const Var& x, double p, Rng& rng) {
  if (!(p >= 0 && p < 1)) fail("dropout: probability {} is outside of [0, 1)", p);
  Tensor mask(x.shape(), x.dtype());
  auto drop_below = static_cast<std::uint64_t>(p * 0x1p32);
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* entries = mask.mutable_data<T>();
    T keep = static_cast<T>(1 / (1 - p));
    for (Index i = 0; i < mask.size(); ++i) entries[i] = rng.bits() < drop_below ? T(0) : keep;
  });
  return mul(x, Var(mask));
}

namespace {

Var cross_entropy(const Var& logits, const Ids& labels, const Lengths* lengths,
                  const CrossEntropyOptions& options) {
  auto [loss, normaliser] =
      ops::cross_entropy(logits.value(), labels, lengths, options.label_smoothing);
  Index valid = lengths ? lengths->total() : labels.size();
  double factor = options.mean ? 1 / static_cast<double>(std::max<Index>(valid, 1)) : 1;
  auto pullback = [x = logits.value(), labels, kept = lengths ? *lengths : Lengths(),
                   masked = lengths != nullptr, smoothing = options.label_smoothing,
                   log_normaliser = normaliser, factor](const Tensor& g, GradientSink& sink) {
    sink.add(0, ops::cross_entropy_backward(x, labels, masked ? &kept : nullptr, smoothing,
                                            log_normaliser, factor * g.item()));
  };
  return record_fused("cross_entropy", ops::affine(loss, factor, 0), {&logits},
                      std::move(pullback));
}

}  // namespace

Var cross_entropy(const Var& logits, const Ids& labels, const Lengths& lengths,
                  const CrossEntropyOptions& options) {
  return cross_entropy(logits, labels, &lengths, options);
}

Var cross_entropy(const Var& logits, const Ids& labels, const CrossEntropyOptions& options) {
  return cross_entropy(logits, labels, nullptr, options);
}

}  // namespace regrad
