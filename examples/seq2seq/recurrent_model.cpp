#include "examples/seq2seq/recurrent_model.h"

namespace regrad::seq2seq {

Encoder::Encoder(Index vocabulary, const Config& config, Rng& rng, DType dtype)
    : embedding(vocabulary, config.embedding, rng, dtype),
      dropout(config.dropout),
      recurrent(make_recurrent(config.cell, config.embedding, config.hidden, rng, dtype,
                               {.layers = config.layers,
                                .bidirectional = true,
                                .dropout = config.layers > 1 ? config.dropout : 0,
                                .variational = config.variational_dropout,
                                .weight_dropout = config.weight_dropout,
                                .learned_initial = config.learned_initial})),
      cell_(config.cell),
      attended_(config.attention != "none"),
      variational_(config.variational_dropout) {}

Encoded Encoder::operator()(const Ids& source, const Lengths& lengths, Rng* rng) const {
  const Var embedded = embedding(source, lengths);
  const Var dropped =
      variational_ ? dropout.same_for_all_steps(embedded, rng) : dropout(embedded, rng);
  const RecurrentOutput states = (*recurrent)(dropped, lengths, rng);
  const Var backward = select(states.final[0], 0, -1);
  const Var summary = attended_ ? backward : concat({select(states.final[0], 0, -2), backward}, 1);
  return {states.outputs, summary, lengths};
}

void Encoder::visit(Visitor& visitor) const {
  visitor("embedding", embedding);
  visitor(cell_, *recurrent);
}

RecurrentModel::RecurrentModel(Index source_vocabulary, Index target_vocabulary,
                               const Config& config, Rng& rng, DType dtype)
    : encoder(source_vocabulary, config, rng, dtype),
      decoder(target_vocabulary, config, rng, dtype) {
  name_parameters(*this);
}

Predictions RecurrentModel::operator()(const Batch& batch, Rng* rng) const {
  const Encoded source = encoder(batch.source, batch.source_lengths, rng);
  return decoder(source, batch.target_in, batch.target_lengths, rng);
}

Search RecurrentModel::search(const Ids& source, const Lengths& lengths) const {
  return decoder.search(encoder(source, lengths, nullptr));
}

void RecurrentModel::visit(Visitor& visitor) const {
  visitor("encoder", encoder);
  visitor("decoder", decoder);
}

}  // namespace regrad::seq2seq
