#pragma once

#include <memory>
#include <vector>

#include "autograd/functions.h"
#include "examples/seq2seq/batch.h"
#include "examples/seq2seq/config.h"
#include "nn/beam.h"
#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/module.h"

namespace regrad::seq2seq {

// What a model says of targets when each step is told the right tokens before it (teacher forcing).
struct Predictions {
  Var logits;  // [T, B, V]
  // T times [B, S]: how much a step looks at each source position; a transformer in training, which
  // would have to compute them, has none.
  std::vector<Var> weights;
  // hard-reinforce in training: of the positions that were drawn, [T, B] each; else empty.
  Var log_probability, entropy;
};

// What decoding a batch of sources starts from. Its steps look at the model, which must outlive it.
struct Search {
  DecoderState state;  // a row per sentence
  MakeStep make_step;
  Lengths lengths;  // of the sources
};

class Model : public Module {
 public:
  // Without a generator there is no dropout, and nothing is drawn.
  virtual Predictions operator()(const Batch& batch, Rng* rng = nullptr) const = 0;
  // source [S, B].
  virtual Search search(const Ids& source, const Lengths& lengths) const = 0;
};

// The model that a configuration names. Throws Error for sizes that do not go together.
std::unique_ptr<Model> make_model(Index source_vocabulary, Index target_vocabulary,
                                  const Config& config, Rng& rng, DType dtype = DType::f32);

// Divides a table's first values, which are standard normal, by the root of a vector's size: as the
// weight of an output layer they would give too large logits.
void shrink(Embedding& embedding);

// Logits from features [..., F]; tied, from a projection to the size of the target embedding by
// that embedding's own table (Press and Wolf 2017).
struct OutputLayer : Module {
  OutputLayer(Index features, const Parameter& embedding, bool tied, Rng& rng, DType dtype);

  Var operator()(const Var& features) const;
  // The first product and what follows it, for callers that split the features.
  const Linear& first() const { return projection ? *projection : *logits; }
  Var rest(const Var& x) const;
  void visit(Visitor& visitor) const override;

  std::unique_ptr<Linear> projection;  // tied: [E, F]
  std::unique_ptr<Linear> logits;      // [V, F], or tied [V, E]
};

}  // namespace regrad::seq2seq
