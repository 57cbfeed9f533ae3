#pragma once

#include <string>
#include <vector>

#include "nn/attention.h"
#include "nn/beam.h"
#include "nn/embedding.h"
#include "nn/gru.h"
#include "nn/linear.h"

// RNNsearch (Bahdanau, Cho and Bengio 2014) from public layers, and the sizes it is measured at.
namespace regrad::benchmark {

struct Size {
  std::string name;
  Index batch, time, embedding, hidden, vocabulary;  // source and target are equally long
};
const std::vector<Size>& sizes();
// Throws Error for an unknown name, listing the known.
const Size& size_named(const std::string& name);

struct RnnSearch : Module {
  RnnSearch(const Size& size, Rng& rng);

  struct Encoded {
    AttentionMemory memory;
    Var state;  // s_0 [B, H]
  };
  Encoded encode(const Ids& source) const;  // [S, B]
  // Logits [T, B, V] of the tokens that follow target_in [T, B].
  Var operator()(const Ids& source, const Ids& target_in) const;
  // For greedy and beam_search.
  MakeStep make_step(const Encoded& encoded) const;

  void visit(Visitor& visitor) const override;

  Embedding source_embedding, target_embedding;
  GRU encoder;
  Linear initial;
  Attention attention;
  GRUCell cell;
  Linear output;
};

}  // namespace regrad::benchmark
