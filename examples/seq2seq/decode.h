#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "examples/seq2seq/heatmap.h"
#include "examples/seq2seq/metrics.h"
#include "examples/seq2seq/model_file.h"

namespace regrad::seq2seq {

// How translations are found: greedily, by beam search, or by drawing.
struct DecodeOptions {
  Index beam = 1;                                     // 1: greedily
  Index n_best = 1;                                   // at most the beam
  double length_penalty = 0.6, coverage_penalty = 0;  // of the beam (Wu et al. 2016)
  bool sample = false;
  double temperature = 1;
  Index top_k = 0;  // 0: all
  double top_p = 1;
  std::uint64_t seed = 1;        // of what is drawn
  std::uint64_t before = 0;      // sources that were drawn from already: these are others
  bool replace_unknown = false;  // an unknown word by the source word that it looked at most
};
// Throws Error for options out of range or that do not go together.
void check(const DecodeOptions& options);

struct Translation {
  Sentence tokens;
  Tensor weights;              // [tokens, source tokens]; without elements where nothing attends
  bool finished = true;        // <eos> came before the limit
  double log_probability = 0;  // of the tokens and, where it came, <eos>
  double score = 0;            // what the beam ranks by; elsewhere the log probability
};

// The best of each source, in their order. An empty source gives an empty translation. A sentence's
// translation does not depend on the others.
std::vector<Translation> translate(const Translator& translator, std::span<const Sentence> sources,
                                   const DecodeOptions& options = {});
// The n best of each, best first.
std::vector<std::vector<Translation>> translate_n_best(const Translator& translator,
                                                       std::span<const Sentence> sources,
                                                       const DecodeOptions& options);
// The given target as the model's translation: how probable it is, and where it looks.
Translation force(const Translator& translator, const Sentence& source, const Sentence& target);

// How much each token of the translation looked at each token of the source.
HeatMap heat_map(const Sentence& source, const Translation& translation);

struct Evaluation {
  Metrics metrics;
  std::vector<Sentence> hypotheses;  // in the order of the pairs
};

// Translations against their references, and the references' probability. `stop` is asked between
// batches; once it says yes, there is no result.
std::optional<Evaluation> evaluate(const Translator& translator, const std::vector<TextPair>& pairs,
                                   const DecodeOptions& options, const std::function<bool()>& stop);
Evaluation evaluate(const Translator& translator, const std::vector<TextPair>& pairs,
                    const DecodeOptions& options = {});

}  // namespace regrad::seq2seq
