#pragma once

#include <vector>

#include "examples/seq2seq/model.h"
#include "nn/embedding.h"
#include "nn/positions.h"
#include "nn/transformer.h"

namespace regrad::seq2seq {

// The Transformer of Vaswani et al. (2017) with layers that normalise first (Xiong et al. 2020):
// tokens' vectors times √H plus sinusoidal positions, `layers` layers on either side. Its weights
// are those of the last layer over the source, the mean over the heads.
struct TransformerModel : Model {
  TransformerModel(Index source_vocabulary, Index target_vocabulary, const Config& config, Rng& rng,
                   DType dtype = DType::f32);

  Predictions operator()(const Batch& batch, Rng* rng = nullptr) const override;
  Search search(const Ids& source, const Lengths& lengths) const override;
  void visit(Visitor& visitor) const override;

  Embedding source_embedding, target_embedding;
  Dropout dropout;
  SinusoidalPositions positions;
  TransformerEncoder encoder;
  TransformerDecoder decoder;
  OutputLayer output;

 private:
  Var placed(const Var& x, Index first, Rng* rng) const;
};

}  // namespace regrad::seq2seq
