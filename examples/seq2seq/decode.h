#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "examples/seq2seq/heatmap.h"
#include "examples/seq2seq/metrics.h"
#include "examples/seq2seq/model_file.h"

namespace regrad::seq2seq {

struct Translation {
  Sentence tokens;
  Tensor weights;        // [tokens, source tokens]
  bool finished = true;  // <eos> came before the limit
};

// Greedily, in the order of the sources. An empty source gives an empty translation. A sentence's
// translation does not depend on the others.
std::vector<Translation> translate(const Translator& translator, std::span<const Sentence> sources);

// How much each token of the translation looked at each token of the source.
HeatMap heat_map(const Sentence& source, const Translation& translation);

struct Evaluation {
  Metrics metrics;
  std::vector<Sentence> hypotheses;  // in the order of the pairs
};

// Greedy translations against their references, and the references' probability. `stop` is asked
// between batches; once it says yes, there is no result.
std::optional<Evaluation> evaluate(const Translator& translator, const std::vector<TextPair>& pairs,
                                   const std::function<bool()>& stop);
Evaluation evaluate(const Translator& translator, const std::vector<TextPair>& pairs);

}  // namespace regrad::seq2seq
