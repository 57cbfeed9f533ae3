#include "nn/transformer_layers.h"
#include "nn/without_padding.h"

namespace regrad {

TransformerDecoderLayer::TransformerDecoderLayer(Index size, Index heads, Rng& rng, DType dtype,
                                                 const TransformerOptions& options)
    : TransformerLayer(size, heads, rng, dtype, options),
      multihead_attn(size, heads, rng, dtype, {.dropout = options.dropout}),
      norm3(size, dtype, options.epsilon) {}

template <class F>
DecoderLayerOutput TransformerDecoderLayer::apply(const Var& x, const KeysValues& memory, Rng* rng,
                                                  const F& attend) const {
  const Var own = residual(x, norm1, rng, attend);
  Var weights;
  const Var informed = residual(own, norm2, rng, [&](const Var& h) {
    MultiheadOutput found =
        multihead_attn.attend(multihead_attn.project_query(h), memory, {.rng = rng});
    weights = found.weights;
    return found.output;
  });
  return {residual(informed, norm3, rng, [&](const Var& h) { return feed_forward(h, rng); }),
          weights};
}

DecoderLayerOutput TransformerDecoderLayer::run(const Var& x, const Lengths& lengths,
                                                const KeysValues& memory, Rng* rng) const {
  return apply(x, memory, rng, [&](const Var& h) {
    const ProjectedSelf self = self_attn.project_self(h);
    return self_attn
        .attend(self.queries, {self.keys, self.values, lengths}, {.causal = true, .rng = rng})
        .output;
  });
}

DecoderLayerOutput TransformerDecoderLayer::step(const Var& x, KeysValues& past,
                                                 const KeysValues& memory, Rng* rng) const {
  return apply(x, memory, rng, [&](const Var& h) {
    const ProjectedSelf self = self_attn.project_self(h);
    const Index batch = x.shape()[1], size = x.shape()[2];
    const auto append = [&](const Var& before, const Var& now) {
      return concat({before, reshape(now, Shape{batch, 1, size})}, 1);
    };
    past.keys = append(past.keys, self.keys);
    past.values = append(past.values, self.values);
    past.lengths = Lengths::full(past.keys.shape()[1], batch);
    return self_attn.attend(self.queries, past, {.rng = rng}).output;
  });
}

DecoderLayerOutput TransformerDecoderLayer::operator()(const Var& x, const Lengths& lengths,
                                                       const Var& memory,
                                                       const Lengths& memory_lengths,
                                                       Rng* rng) const {
  const DecoderLayerOutput y = run(
      without_padding(x, lengths), lengths,
      multihead_attn.project_memory(without_padding(memory, memory_lengths), memory_lengths), rng);
  return {without_padding(y.output, lengths), y.weights};
}

void TransformerDecoderLayer::visit(Visitor& visitor) const {
  visitor("self_attn", self_attn);
  visitor("multihead_attn", multihead_attn);
  visitor("linear1", linear1);
  visitor("linear2", linear2);
  visitor("norm1", norm1);
  visitor("norm2", norm2);
  visitor("norm3", norm3);
}

}  // namespace regrad
