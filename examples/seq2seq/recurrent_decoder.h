#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "examples/seq2seq/model.h"
#include "nn/attention.h"
#include "nn/dropout.h"
#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/recurrent.h"

namespace regrad::seq2seq {

// What the decoder needs to know of the sources.
struct Encoded {
  Var annotations;  // [S, B, 2H]: what both directions know at each position
  // The last states: of the backward direction, which has seen the whole source, [B, H]; without
  // attention of both, [B, 2H].
  Var summary;
  Lengths lengths;
};

// With y a token's vector and s_0 = tanh(W summary + b), in one of these forms:
// bahdanau: c_t = attention(s_{t-1}), s_t = cell([y_{t-1}; c_t], s_{t-1}),
//           logits_t = U [s_t; c_t; y_{t-1}] + d (Bahdanau, Cho and Bengio 2014);
// luong:    s_t = cell([y_{t-1}; a_{t-1}], s_{t-1}), c_t = attention(s_t),
//           a_t = tanh(V [s_t; c_t] + e), logits_t = U a_t + d (Luong, Pham and Manning 2015);
// without attention: as bahdanau with c_t = summary (Cho et al. 2014), or with no c_t at all
//           (Sutskever, Vinyals and Le 2014).
// With hard-marginal neither c_t nor a_t is fed to the cell, so that each step's position can be
// summed out exactly (Wu, Shapiro and Cotterell 2018).
struct Decoder : Module {
  Decoder(Index vocabulary, const Config& config, Rng& rng, DType dtype);

  // target_in [T, B].
  Predictions operator()(const Encoded& source, const Ids& target_in, const Lengths& target_lengths,
                         Rng* rng) const;
  Search search(const Encoded& source) const;
  void visit(Visitor& visitor) const override;

  Embedding embedding;
  Dropout dropout, weight_dropout;  // the latter on the cell's hidden-to-hidden matrix
  Linear initial;
  std::optional<Attention> attention;
  std::unique_ptr<RecurrentCell> cell;
  std::unique_ptr<Linear> combination;  // luong: V, e
  OutputLayer output;

 private:
  struct Source;
  struct Carried;
  struct Step;
  Source prepare(const Encoded& source, Rng* rng) const;
  Source rows_of(const Source& source, const Ids& sentences) const;
  Carried start(const Encoded& source, const Source& prepared) const;
  DecoderState pack(const Carried& carried) const;
  Carried unpack(const DecoderState& state) const;
  Step advance(const Source& source, const Var& from_token, const Carried& carried, Rng* rng) const;
  Var drop(const Var& x, Rng* rng) const;
  Var logits(const Source& source, const Step& step, const Var& tokens, Rng* rng) const;
  Var marginal_logits(const Source& source, const Step& step, const Var& tokens, Rng* rng) const;

  bool luong_, marginal_, feeds_, variational_;
};

}  // namespace regrad::seq2seq
