#include "examples/seq2seq/decode.h"

#include <algorithm>
#include <utility>

#include "autograd/functions.h"
#include "examples/seq2seq/batch.h"
#include "nn/decoding.h"
#include "ops/error.h"

namespace regrad::seq2seq {
namespace {

constexpr std::size_t batch_size = 64;

// Generous, so that only a translation that goes in circles meets it; and bounded by what was seen
// in training, so that a huge source does not make a huge translation.
std::vector<Index> limits(const Translator& translator, const Lengths& source) {
  const Index longest = translator.longest_target;
  std::vector<Index> limits;
  for (Index b = 0; b < source.batch(); ++b) {
    limits.push_back(2 * std::clamp(source[b], longest, 10 * longest) + 10);
  }
  return limits;
}

std::vector<Hypothesis> decode(const Translator& translator, const Encoded& source) {
  const Decoder& decoder = translator.model.decoder;
  return greedy(decoder.stepper(source), {decoder.initial_state(source)}, source.lengths,
                {Vocabulary::bos, Vocabulary::eos, limits(translator, source.lengths)});
}

// -Σ_t log p(label_t) for each sentence; logits [T, B, V].
std::vector<double> negative_log_likelihoods(const Var& logits, const Batch& batch) {
  const Tensor log_p = log_softmax(logits).value().to(DType::f64);
  const Index columns = batch.target_lengths.batch(), classes = log_p.shape()[2];
  std::vector<double> nll(static_cast<std::size_t>(columns), 0);
  for (Index t = 0; t < batch.target_lengths.time(); ++t) {
    for (Index b = 0; b < columns; ++b) {
      if (!batch.target_lengths.valid(t, b)) continue;
      const Index position = t * columns + b;
      nll[static_cast<std::size_t>(b)] -=
          log_p.data<double>()[position * classes + batch.target_out[position]];
    }
  }
  return nll;
}

struct BatchResult {
  std::vector<double> nll;
  std::vector<Hypothesis> decoded;
};

BatchResult evaluate_batch(const Translator& translator, const Batch& batch) {
  const Model& model = translator.model;
  const Encoded source = model.encoder(batch.source, batch.source_lengths, nullptr);
  const Var logits = model.decoder(source, batch.target_in, batch.target_lengths, nullptr).logits;
  return {negative_log_likelihoods(logits, batch), decode(translator, source)};
}

}  // namespace

std::vector<Translation> translate(const Translator& translator,
                                   std::span<const Sentence> sources) {
  std::vector<Translation> translations(sources.size());
  std::vector<Example> examples;
  std::vector<std::size_t> places;  // of the examples among the sources
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (sources[i].empty()) continue;
    examples.push_back({translator.source.encode(sources[i]), {}});
    places.push_back(i);
  }
  for (const Indices& indices : sorted_batches(examples, batch_size)) {
    const Batch batch = make_batch(examples, indices);
    const std::vector<Hypothesis> result =
        decode(translator, translator.model.encoder(batch.source, batch.source_lengths, nullptr));
    for (std::size_t j = 0; j < indices.size(); ++j) {
      translations[places[indices[j]]] = {translator.target.decode(result[j].tokens),
                                          result[j].attention, result[j].finished};
    }
  }
  return translations;
}

HeatMap heat_map(const Sentence& source, const Translation& translation) {
  return {translation.tokens, source, translation.weights.to_vector()};
}

std::optional<Evaluation> evaluate(const Translator& translator, const std::vector<TextPair>& pairs,
                                   const std::function<bool()>& stop) {
  const std::vector<Example> examples = encode(pairs, translator.source, translator.target);
  Evaluation evaluation;
  evaluation.hypotheses.resize(pairs.size());
  for (const Indices& indices : sorted_batches(examples, batch_size)) {
    if (stop()) return std::nullopt;
    const BatchResult result = evaluate_batch(translator, make_batch(examples, indices));
    for (std::size_t j = 0; j < indices.size(); ++j) {
      const TextPair& pair = pairs[indices[j]];
      Sentence& hypothesis = evaluation.hypotheses[indices[j]];
      hypothesis = translator.target.decode(result.decoded[j].tokens);
      evaluation.metrics.add(hypothesis, pair.target, pair.source.size(), result.nll[j],
                             pair.target.size() + 1);
    }
  }
  return evaluation;
}

Evaluation evaluate(const Translator& translator, const std::vector<TextPair>& pairs) {
  return *evaluate(translator, pairs, [] { return false; });
}

}  // namespace regrad::seq2seq
