#include "examples/seq2seq/decode.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "autograd/functions.h"
#include "examples/seq2seq/batch.h"
#include "nn/beam.h"
#include "nn/decoding.h"
#include "nn/sampling.h"
#include "ops/error.h"

namespace regrad::seq2seq {
namespace {

constexpr std::size_t batch_size = 64;

// Generous, so that only a translation that goes in circles meets it; and bounded by what was seen
// in training, so that a huge source does not make a huge translation.
std::vector<Index> limits(const Translator& translator, const Lengths& source) {
  const Index longest = translator.longest_target;
  const Config& config = translator.config;
  const bool learned = config.positions == "learned";
  std::vector<Index> limits;
  for (Index b = 0; b < source.batch(); ++b) {
    const Index generous = 2 * std::clamp(source[b], longest, 10 * longest) + 10;
    // Behind the last token comes one more step, for <eos>.
    limits.push_back(learned ? std::min(generous, config.longest - 1) : generous);
  }
  return limits;
}

// [V]: added to logits, keeps out of a translation what no text contains.
Tensor forbidden(std::size_t vocabulary, bool allow_unknown) {
  constexpr double never = -std::numeric_limits<double>::infinity();
  std::vector<double> shift(vocabulary, 0);
  for (const Id id : {Vocabulary::pad, Vocabulary::bos}) shift.at(id) = never;
  if (!allow_unknown) shift.at(Vocabulary::unk) = never;
  return tensor(shift, {static_cast<Index>(vocabulary)});
}

MakeStep constrained(MakeStep make_step, const Var& shift) {
  return [=](const Ids& sentences) -> DecoderStep {
    return [=, step = make_step(sentences)](const Ids& previous, DecoderState& state) {
      DecoderOutput output = step(previous, state);
      output.logits += shift;
      return output;
    };
  };
}

Ids all_rows(Index batch) {
  Ids rows(Shape{batch});
  for (Index i = 0; i < batch; ++i) rows.mutable_data()[i] = static_cast<std::int32_t>(i);
  return rows;
}

// The hypotheses of each sentence; `numbers` tell which sentences of all these are, for drawing.
std::vector<std::vector<Hypothesis>> decode(const Translator& translator, const Ids& source,
                                            const Lengths& lengths, const Indices& numbers,
                                            const DecodeOptions& options) {
  const Search search = translator.model->search(source, lengths);
  const MakeStep make_step =
      constrained(search.make_step, forbidden(translator.target.size(), options.replace_unknown));
  const DecodingOptions decoding{Vocabulary::bos, Vocabulary::eos, limits(translator, lengths)};
  if (options.beam > 1) {
    return beam_search(make_step, search.state, lengths, decoding,
                       {.beam = options.beam,
                        .n_best = options.n_best,
                        .length_penalty = options.length_penalty,
                        .coverage_penalty = options.coverage_penalty});
  }
  const DecoderStep step = make_step(all_rows(lengths.batch()));
  std::vector<Hypothesis> found;
  if (options.sample) {
    std::vector<Rng> random;
    for (const std::size_t number : numbers)
      random.emplace_back(options.seed, options.before + number);
    found =
        sample(step, search.state, lengths, decoding,
               {.temperature = options.temperature, .top_k = options.top_k, .top_p = options.top_p},
               random);
  } else {
    found = greedy(step, search.state, lengths, decoding);
  }
  std::vector<std::vector<Hypothesis>> result;
  for (Hypothesis& hypothesis : found) result.push_back({std::move(hypothesis)});
  return result;
}

Translation translation_of(const Translator& translator, const Hypothesis& hypothesis,
                           const Sentence& source, const DecodeOptions& options) {
  Sentence words = translator.target.decode(hypothesis.tokens);
  if (options.replace_unknown) {
    words = replace_unknown(std::move(words), hypothesis, Vocabulary::unk, source);
  }
  return {std::move(words), hypothesis.attention, hypothesis.finished, hypothesis.log_probability,
          hypothesis.score};
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

template <class... Args>
void require(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) throw UsageError(fmt::format(format, std::forward<Args>(args)...));
}

// What the options ask of the model.
void check_for(const Translator& translator, const DecodeOptions& options) {
  check(options);
  const Config& config = translator.config;
  const bool attends = config.attention != "none" || config.architecture == "transformer";
  require(
      attends || !options.replace_unknown,
      "--replace-unknown needs a model that attends; this one was trained with --attention none");
  require(
      attends || options.coverage_penalty == 0,
      "--coverage-penalty needs a model that attends; this one was trained with --attention none");
}

// Learned positions have an end. A target takes one more, for <bos>. `number` is the sentence's
// line, from 1, or 0 for the only one.
void require_positions(const Translator& translator, std::string_view what, std::size_t number,
                       std::size_t positions) {
  const Config& config = translator.config;
  if (config.positions != "learned" || static_cast<Index>(positions) <= config.longest) return;
  fail(
      "{}{} takes {} positions, and this model has learned {}: shorten it, or train with a larger "
      "--longest or --positions sinusoidal",
      what, number > 0 ? fmt::format(" {}", number) : "", positions, config.longest);
}

void require_positions(const Translator& translator, const std::vector<TextPair>& pairs) {
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const std::size_t line = pairs[i].line > 0 ? pairs[i].line : i + 1;
    require_positions(translator, "the source of line", line, pairs[i].source.size());
    require_positions(translator, "the target of line", line, pairs[i].target.size() + 1);
  }
}

}  // namespace

void check(const DecodeOptions& options) {
  const DecodeOptions usual;
  require(options.beam >= 1 && options.beam <= 10'000, "--beam must be from 1 to 10000, not {}",
          options.beam);
  require(options.n_best >= 1 && options.n_best <= options.beam,
          "--n-best must be from 1 to the --beam's {}, not {}", options.beam, options.n_best);
  require(!options.sample || options.beam == 1, "--sample draws one translation: leave out --beam");
  require(options.length_penalty >= 0 && options.length_penalty <= 100,
          "--length-penalty must be from 0 to 100, not {}", options.length_penalty);
  require(options.coverage_penalty >= 0 && options.coverage_penalty <= 100,
          "--coverage-penalty must be from 0 to 100, not {}", options.coverage_penalty);
  require(options.temperature > 0 && options.temperature <= 1000,
          "--temperature must be above 0 and at most 1000, not {}", options.temperature);
  require(options.top_k >= 0, "--top-k must be at least 0, which means all, not {}", options.top_k);
  require(options.top_p > 0 && options.top_p <= 1, "--top-p must be above 0 and at most 1, not {}",
          options.top_p);
  require(options.beam > 1 || (options.length_penalty == usual.length_penalty &&
                               options.coverage_penalty == usual.coverage_penalty),
          "--length-penalty and --coverage-penalty are for a --beam above 1");
  require(options.sample || (options.temperature == usual.temperature &&
                             options.top_k == usual.top_k && options.top_p == usual.top_p),
          "--temperature, --top-k and --top-p are for --sample");
}

std::vector<std::vector<Translation>> translate_n_best(const Translator& translator,
                                                       std::span<const Sentence> sources,
                                                       const DecodeOptions& options) {
  check_for(translator, options);
  std::vector<std::vector<Translation>> translations(sources.size(), {Translation()});
  std::vector<Example> examples;
  std::vector<std::size_t> places;  // of the examples among the sources
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (sources[i].empty()) continue;
    const bool only = sources.size() == 1;
    require_positions(translator, only ? "the source" : "source line", only ? 0 : i + 1,
                      sources[i].size());
    examples.push_back({translator.source.encode(sources[i]), {}});
    places.push_back(i);
  }
  for (const Indices& indices : sorted_batches(examples, batch_size)) {
    const Batch batch = make_batch(examples, indices);
    Indices numbers;
    for (const std::size_t index : indices) numbers.push_back(places[index]);
    const auto found = decode(translator, batch.source, batch.source_lengths, numbers, options);
    for (std::size_t j = 0; j < indices.size(); ++j) {
      std::vector<Translation>& best = translations[numbers[j]];
      best.clear();
      for (const Hypothesis& hypothesis : found[j]) {
        best.push_back(translation_of(translator, hypothesis, sources[numbers[j]], options));
      }
    }
  }
  return translations;
}

std::vector<Translation> translate(const Translator& translator, std::span<const Sentence> sources,
                                   const DecodeOptions& options) {
  std::vector<Translation> translations;
  for (auto& best : translate_n_best(translator, sources, options)) {
    translations.push_back(std::move(best.front()));
  }
  return translations;
}

Translation force(const Translator& translator, const Sentence& source, const Sentence& target) {
  require_positions(translator, "the source", 0, source.size());
  require_positions(translator, "the target", 0, target.size() + 1);
  const std::vector<Example> examples{{translator.source.encode(source), {}}};
  const Batch batch = make_batch(examples, {0});
  const Search search = translator.model->search(batch.source, batch.source_lengths);
  const std::vector<Hypothesis> forced =
      regrad::force(search.make_step(all_rows(1)), search.state, batch.source_lengths,
                    {translator.target.encode(target)}, {Vocabulary::bos, Vocabulary::eos, {}});
  Translation translation = translation_of(translator, forced.front(), source, {});
  translation.tokens = target;
  return translation;
}

HeatMap heat_map(const Sentence& source, const Translation& translation) {
  return {translation.tokens, source, translation.weights.to_vector()};
}

std::optional<Evaluation> evaluate(const Translator& translator, const std::vector<TextPair>& pairs,
                                   const DecodeOptions& options,
                                   const std::function<bool()>& stop) {
  check_for(translator, options);
  require_positions(translator, pairs);
  const std::vector<Example> examples = encode(pairs, translator.source, translator.target);
  Evaluation evaluation;
  evaluation.hypotheses.resize(pairs.size());
  for (const Indices& indices : sorted_batches(examples, batch_size)) {
    if (stop()) return std::nullopt;
    const Batch batch = make_batch(examples, indices);
    const std::vector<double> nll =
        negative_log_likelihoods((*translator.model)(batch).logits, batch);
    const auto found = decode(translator, batch.source, batch.source_lengths, indices, options);
    for (std::size_t j = 0; j < indices.size(); ++j) {
      const TextPair& pair = pairs[indices[j]];
      Sentence& hypothesis = evaluation.hypotheses[indices[j]];
      hypothesis = translation_of(translator, found[j].front(), pair.source, options).tokens;
      evaluation.metrics.add(hypothesis, pair.target, pair.source.size(), nll[j],
                             pair.target.size() + 1);
    }
  }
  return evaluation;
}

Evaluation evaluate(const Translator& translator, const std::vector<TextPair>& pairs,
                    const DecodeOptions& options) {
  return *evaluate(translator, pairs, options, [] { return false; });
}

}  // namespace regrad::seq2seq
