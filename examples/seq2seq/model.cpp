#include "examples/seq2seq/model.h"

#include <cmath>

#include "examples/seq2seq/recurrent_model.h"
#include "examples/seq2seq/transformer_model.h"
#include "ops/elementwise.h"

namespace regrad::seq2seq {

void shrink(Embedding& embedding) {
  const auto size = static_cast<double>(embedding.weight.shape()[1]);
  embedding.weight.assign(ops::affine(embedding.weight.value(), 1 / std::sqrt(size), 0));
}

OutputLayer::OutputLayer(Index features, const Parameter& embedding, bool tied, Rng& rng,
                         DType dtype) {
  const Index vocabulary = embedding.shape()[0], size = embedding.shape()[1];
  if (tied) projection = std::make_unique<Linear>(features, size, rng, dtype);
  logits = std::make_unique<Linear>(tied ? size : features, vocabulary, rng, dtype);
  if (tied) logits->weight = embedding;
}

Var OutputLayer::operator()(const Var& features) const { return rest(first()(features)); }

Var OutputLayer::rest(const Var& x) const { return projection ? (*logits)(x) : x; }

void OutputLayer::visit(Visitor& visitor) const {
  if (projection) visitor("projection", *projection);
  visitor("weight", logits->weight);
  visitor("bias", logits->bias);
}

std::unique_ptr<Model> make_model(Index source_vocabulary, Index target_vocabulary,
                                  const Config& config, Rng& rng, DType dtype) {
  if (config.architecture == "transformer") {
    return std::make_unique<TransformerModel>(source_vocabulary, target_vocabulary, config, rng,
                                              dtype);
  }
  return std::make_unique<RecurrentModel>(source_vocabulary, target_vocabulary, config, rng, dtype);
}

}  // namespace regrad::seq2seq
