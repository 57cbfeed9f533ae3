#pragma once

#include <memory>
#include <vector>

#include "autograd/functions.h"
#include "examples/seq2seq/batch.h"
#include "examples/seq2seq/config.h"
#include "nn/attention.h"
#include "nn/decoding.h"
#include "nn/dropout.h"
#include "nn/embedding.h"
#include "nn/gru.h"
#include "nn/linear.h"

namespace regrad::seq2seq {

// What the decoder needs to know of the sources.
struct Encoded {
  Var annotations;  // [S, B, 2H]: what both directions know at each position
  Var backward;     // [B, H]: the backward direction's last state, which has seen the whole source
  Lengths lengths;
};

struct Encoder : Module {
  Encoder(Index vocabulary, const Config& config, Rng& rng, DType dtype);

  // source [S, B].
  Encoded operator()(const Ids& source, const Lengths& lengths, Rng* rng) const;
  void visit(Visitor& visitor) const override;

  Embedding embedding;
  Dropout dropout;
  GRU gru;  // bidirectional
};

// s_0 = tanh(W backward + b), c_t = attention(s_{t-1}), s_t = GRU([y_{t-1}; c_t], s_{t-1}),
// logits_t = U [s_t; c_t; y_{t-1}] + d, where y is a token's vector.
struct Decoder : Module {
  Decoder(Index vocabulary, const Config& config, Rng& rng, DType dtype);

  struct Output {
    Var logits;                // [T, B, V]
    std::vector<Var> weights;  // T times [B, S]: how much a step looks at each source position
  };
  // target_in [T, B]: all steps, each told the right tokens before it (teacher forcing).
  Output operator()(const Encoded& source, const Ids& target_in, const Lengths& target_lengths,
                    Rng* rng) const;

  // For decoding: the first state [B, D], and one step after it.
  Var initial_state(const Encoded& source) const;
  DecoderStep stepper(const Encoded& source) const;

  void visit(Visitor& visitor) const override;

  Embedding embedding;
  Dropout dropout;
  Linear initial;
  std::unique_ptr<Attention> attention;
  GRUCell cell;
  Linear output;

 private:
  struct Prepared;
  struct Step;
  Prepared prepare(const Encoded& source) const;
  Step advance(const Prepared& prepared, const Var& from_token, const Var& state) const;
};

// The encoder-decoder with attention of Bahdanau, Cho and Bengio (2014), with PyTorch's GRU.
struct Model : Module {
  Model(Index source_vocabulary, Index target_vocabulary, const Config& config, Rng& rng,
        DType dtype = DType::f32);

  // Without a generator there is no dropout.
  Decoder::Output operator()(const Batch& batch, Rng* rng = nullptr) const;
  void visit(Visitor& visitor) const override;

  Encoder encoder;
  Decoder decoder;
};

}  // namespace regrad::seq2seq
