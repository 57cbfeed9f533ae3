#include "examples/seq2seq/transformer_model.h"

#include <cmath>

namespace regrad::seq2seq {
namespace {

TransformerStackOptions stack(const Config& config) {
  const bool first = config.norm == "pre";
  return {
      .layers = config.layers,
      .final_norm = first,
      .layer = {.feed_forward = 4 * config.hidden, .dropout = config.dropout, .norm_first = first}};
}

// Vectors times √H are of the size of the positions.
Embedding embedding_of(Index vocabulary, Index size, Rng& rng, DType dtype) {
  Embedding embedding(vocabulary, size, rng, dtype);
  shrink(embedding);
  return embedding;
}

}  // namespace

TransformerModel::TransformerModel(Index source_vocabulary, Index target_vocabulary,
                                   const Config& config, Rng& rng, DType dtype)
    : source_embedding(embedding_of(source_vocabulary, config.hidden, rng, dtype)),
      target_embedding(embedding_of(target_vocabulary, config.hidden, rng, dtype)),
      dropout(config.dropout),
      source_positions(make_positions(config.positions, config.longest, config.hidden, rng, dtype)),
      target_positions(make_positions(config.positions, config.longest, config.hidden, rng, dtype)),
      encoder(config.hidden, config.heads, rng, dtype, stack(config)),
      decoder(config.hidden, config.heads, rng, dtype, stack(config)),
      output(config.hidden, target_embedding.weight, config.tied_embeddings, rng, dtype),
      learned_(config.positions == "learned") {
  name_parameters(*this);
}

// x [T, B, H], the vectors of tokens from position `first` on. Learned positions begin as small as
// the vectors.
Var TransformerModel::placed(const Var& x, const Positions& positions, Index first,
                             Rng* rng) const {
  const double scale = std::sqrt(static_cast<double>(x.shape()[2]));
  return dropout(learned_ ? positions(x, first) * scale : positions(x * scale, first), rng);
}

Var TransformerModel::placed_source(const Ids& source, const Lengths& lengths, Rng* rng) const {
  return placed(source_embedding(source, lengths), *source_positions, 0, rng);
}

Predictions TransformerModel::operator()(const Batch& batch, Rng* rng) const {
  const Var memory =
      encoder(placed_source(batch.source, batch.source_lengths, rng), batch.source_lengths, rng);
  const TransformerDecoderOutput decoded = decoder(
      placed(target_embedding(batch.target_in, batch.target_lengths), *target_positions, 0, rng),
      batch.target_lengths, memory, batch.source_lengths, rng);
  Predictions predictions{output(decoded.output), {}, {}, {}};
  if (rng) return predictions;                            // training looks at no weights
  const Var weights = mean(decoded.weights.back(), {1});  // [B, T, S]
  for (Index t = 0; t < batch.target_lengths.time(); ++t) {
    predictions.weights.push_back(select(weights, 1, t));
  }
  return predictions;
}

Search TransformerModel::search(const Ids& source, const Lengths& lengths) const {
  const Var memory = encoder(placed_source(source, lengths, nullptr), lengths);
  // The state holds all that a step needs, so that it is the same for any rows.
  const DecoderStep step = [this](const Ids& previous, DecoderState& cache) {
    const Index so_far = cache.at(1).shape()[1];
    const Var x =
        placed(unsqueeze(target_embedding(previous), 0), *target_positions, so_far, nullptr);
    const TransformerDecoderOutput decoded = decoder.step(select(x, 0, 0), cache);
    return DecoderOutput{output(decoded.output), mean(decoded.weights.back(), {1})};
  };
  return {decoder.start(memory, lengths), [step](const Ids&) { return step; }, lengths};
}

void TransformerModel::visit(Visitor& visitor) const {
  visitor("source_embedding", source_embedding);
  visitor("target_embedding", target_embedding);
  visitor("source_positions", *source_positions);
  visitor("target_positions", *target_positions);
  visitor("encoder", encoder);
  visitor("decoder", decoder);
  visitor("output", output);
}

}  // namespace regrad::seq2seq
