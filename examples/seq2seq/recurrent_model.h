#pragma once

#include <memory>
#include <string>

#include "examples/seq2seq/recurrent_decoder.h"

namespace regrad::seq2seq {

struct Encoder : Module {
  Encoder(Index vocabulary, const Config& config, Rng& rng, DType dtype);

  // source [S, B].
  Encoded operator()(const Ids& source, const Lengths& lengths, Rng* rng) const;
  void visit(Visitor& visitor) const override;

  Embedding embedding;
  Dropout dropout;
  std::unique_ptr<Recurrent> recurrent;  // bidirectional, under the name of its cell

 private:
  std::string cell_;
  bool attended_, variational_;
};

// A recurrent encoder and a recurrent decoder.
struct RecurrentModel : Model {
  RecurrentModel(Index source_vocabulary, Index target_vocabulary, const Config& config, Rng& rng,
                 DType dtype = DType::f32);

  Predictions operator()(const Batch& batch, Rng* rng = nullptr) const override;
  Search search(const Ids& source, const Lengths& lengths) const override;
  void visit(Visitor& visitor) const override;

  Encoder encoder;
  Decoder decoder;
};

}  // namespace regrad::seq2seq
