#include <algorithm>
#include <array>
#include <optional>

#include "autograd/functions.h"
#include "autograd/record.h"
#include "ops/axis.h"
#include "ops/elementwise.h"
#include "ops/layer_norm.h"
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
  return record("softmax", ops::softmax(x.value(), {.lengths = lengths}),
                Edge{x, softmax_pullback});
}

namespace {

void require_queries(const char* operation, const Var& x) {
  if (x.rank() < 2) fail("{}: shape {} has no rows [..., queries, keys]", operation, x.shape());
}

}  // namespace

Var causal_softmax(const Var& x) {
  require_queries("causal_softmax", x);
  return record("causal_softmax", ops::softmax(x.value(), {.causal = true}),
                Edge{x, softmax_pullback});
}

Var log_softmax(const Var& x) {
  return record(
      "log_softmax", ops::log_softmax(x.value()),
      Edge{x, [](const Var& g, const Var& y) { return sub(g, mul(exp(y), sum(g, {-1}, true))); }});
}

namespace {

Var keep_valid(const Var& x, const ops::RowMask& mask) {
  return record("keep_valid", ops::keep_valid(x.value(), mask),
                Edge{x, [mask](const Var& g) { return keep_valid(g, mask); }});
}

Var log_softmax(const Var& x, const ops::RowMask& mask, const char* name) {
  return record(name, ops::log_softmax(x.value(), mask),
                Edge{x, [mask](const Var& g, const Var& y) {
                       Var valid = keep_valid(g, mask);
                       return keep_valid(sub(valid, mul(exp(y), sum(valid, {-1}, true))), mask);
                     }});
}

}  // namespace

Var log_softmax(const Var& x, const Lengths& lengths) {
  return log_softmax(x, {.lengths = lengths}, "log_softmax");
}

Var causal_log_softmax(const Var& x) {
  require_queries("causal_log_softmax", x);
  return log_softmax(x, {.causal = true}, "causal_log_softmax");
}

namespace {

Var layer_norm(const Var& x, const Var* weight, const Var* bias, double epsilon) {
  const Tensor* w = weight ? &weight->value() : nullptr;
  auto [y, moments] = ops::layer_norm(x.value(), w, bias ? &bias->value() : nullptr, epsilon);
  auto pullback = [x = x.value(), w = weight ? weight->value() : Tensor(), moments = moments,
                   has_weight = weight != nullptr,
                   has_bias = bias != nullptr](const Tensor& g, GradientSink& sink) {
    auto wanted = [&](bool given, int input) {
      return given && sink.wants(input) ? &sink.accumulator(input) : nullptr;
    };
    ops::layer_norm_backward(g, x, has_weight ? &w : nullptr, moments,
                             {wanted(true, 0), wanted(has_weight, 1), wanted(has_bias, 2)});
  };
  std::array<const Var*, 3> inputs{&x, weight, bias};
  std::size_t count = 1 + (weight != nullptr) + (bias != nullptr);
  return record_fused("layer_norm", y, std::span(inputs).first(count), std::move(pullback));
}

}  // namespace

Var layer_norm(const Var& x, double epsilon) { return layer_norm(x, nullptr, nullptr, epsilon); }

Var layer_norm(const Var& x, const Var& weight, double epsilon) {
  return layer_norm(x, &weight, nullptr, epsilon);
}

Var layer_norm(const Var& x, const Var& weight, const Var& bias, double epsilon) {
  return layer_norm(x, &weight, &bias, epsilon);
}

Var cosine_similarity(const Var& a, const Var& b, double epsilon) {
  require_positive("cosine_similarity", "epsilon", epsilon, a.dtype());
  require_same_dtype(a.value(), b.value(), "cosine_similarity");
  const int last_of_a = require_axis(a.shape(), -1, "cosine_similarity");
  const int last_of_b = require_axis(b.shape(), -1, "cosine_similarity");
  if (a.shape()[last_of_a] != b.shape()[last_of_b]) {
    fail("cosine_similarity: the last axes of shapes {} and {} differ", a.shape(), b.shape());
  }
  broadcast(a.shape(), b.shape(), "cosine_similarity");
  auto unit = [&](const Var& x) { return div(x, maximum(norm(x, {-1}, true), epsilon)); };
  return sum(mul(unit(a), unit(b)), {-1});
}

Var dropout(const Var& x, double p, Rng& rng) {
  if (!(p >= 0 && p < 1)) fail("dropout: probability {} is outside of [0, 1)", p);
  Tensor mask(x.shape(), x.dtype());
  const auto drop_below = static_cast<std::uint32_t>(p * 0x1p32);
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* entries = mask.mutable_data<T>();
    const T keep = static_cast<T>(1 / (1 - p));
    std::array<std::uint32_t, 1024> bits;
    for (Index begin = 0, count; begin < mask.size(); begin += count) {
      count = std::min(mask.size() - begin, static_cast<Index>(bits.size()));
      rng.bits(std::span(bits).first(static_cast<std::size_t>(count)));
      for (Index i = 0; i < count; ++i) {
        entries[begin + i] = bits[static_cast<std::size_t>(i)] < drop_below ? T(0) : keep;
      }
    }
  });
  return mul(x, Var(mask));
}

}  // namespace regrad
