#pragma once

#include "nn/attention.h"
#include "nn/beam.h"
#include "nn/embedding.h"
#include "nn/gru.h"
#include "nn/linear.h"
#include "tests/benchmarks/workload.h"

// The model of workload.h from public layers, as a user would build it.
namespace bench {

using namespace regrad;

struct RnnSearch : Module {
  RnnSearch(const Workload& size, Rng& rng);

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

 private:
  Var features(const Ids& source, const Ids& target_in) const;  // [T, B, 3 H + E]
};

}  // namespace bench
