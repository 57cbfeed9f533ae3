#pragma once

#include <memory>

#include "examples/seq2seq/model.h"
#include "nn/embedding.h"
#include "nn/positions.h"
#include "nn/transformer.h"

namespace regrad::seq2seq {

// The Transformer of Vaswani et al. (2017) with layers that normalise first (Xiong et al. 2020) or
// last: tokens' vectors times √H plus sinusoidal positions, or both learned and times √H, and
// `layers` layers on either side. Its weights are those of the last layer over the source, the mean
// over the heads.
struct TransformerModel : Model {
  TransformerModel(Index source_vocabulary, Index target_vocabulary, const Config& config, Rng& rng,
                   DType dtype = DType::f32);

  Predictions operator()(const Batch& batch, Rng* rng = nullptr) const override;
  Search search(const Ids& source, const Lengths& lengths) const override;
  void visit(Visitor& visitor) const override;

  Embedding source_embedding, target_embedding;
  Dropout dropout;
  std::unique_ptr<Positions> source_positions, target_positions;
  TransformerEncoder encoder;
  TransformerDecoder decoder;
  OutputLayer output;

 private:
  Var placed_source(const Ids& source, const Lengths& lengths, Rng* rng) const;
  Var placed(const Var& x, const Positions& positions, Index first, Rng* rng) const;

  bool learned_;
};

}  // namespace regrad::seq2seq
