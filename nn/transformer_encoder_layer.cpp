#include "nn/sizes.h"
#include "nn/transformer_layers.h"
#include "nn/without_padding.h"

namespace regrad {
namespace {

Index checked_hidden(Index size) {
  require_size("transformer layer", "feed_forward", size);
  return size;
}

}  // namespace

TransformerLayer::TransformerLayer(Index size, Index heads, Rng& rng, DType dtype,
                                   const TransformerOptions& options)
    : self_attn(size, heads, rng, dtype, {.dropout = options.dropout}),
      linear1(size, checked_hidden(options.feed_forward), rng, dtype),
      linear2(options.feed_forward, size, rng, dtype),
      norm1(size, dtype, options.epsilon),
      norm2(size, dtype, options.epsilon),
      dropout(options.dropout),
      activation(options.activation),
      norm_first(options.norm_first) {}

Var TransformerLayer::feed_forward(const Var& x, Rng* rng) const {
  const Var hidden = linear1(x);
  return linear2(dropout(activation == Activation::relu ? relu(hidden) : gelu(hidden), rng));
}

TransformerEncoderLayer::TransformerEncoderLayer(Index size, Index heads, Rng& rng, DType dtype,
                                                 const TransformerOptions& options)
    : TransformerLayer(size, heads, rng, dtype, options) {}

Var TransformerEncoderLayer::operator()(const Var& x, const Lengths& lengths, Rng* rng) const {
  return without_padding(run(without_padding(x, lengths), lengths, rng), lengths);
}

Var TransformerEncoderLayer::run(const Var& x, const Lengths& lengths, Rng* rng) const {
  const Var attended = residual(x, norm1, rng, [&](const Var& h) {
    const ProjectedSelf self = self_attn.project_self(h);
    return self_attn.attend(self.queries, {self.keys, self.values, lengths}, {.rng = rng}).output;
  });
  return residual(attended, norm2, rng, [&](const Var& h) { return feed_forward(h, rng); });
}

void TransformerEncoderLayer::visit(Visitor& visitor) const {
  visitor("self_attn", self_attn);
  visitor("linear1", linear1);
  visitor("linear2", linear2);
  visitor("norm1", norm1);
  visitor("norm2", norm2);
}

}  // namespace regrad
