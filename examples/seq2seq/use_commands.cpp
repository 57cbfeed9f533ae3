#include <algorithm>
#include <iostream>
#include <set>
#include <span>

#include "examples/seq2seq/commands.h"
#include "examples/seq2seq/decode.h"
#include "examples/seq2seq/task.h"
#include "examples/seq2seq/terminal.h"
#include "examples/seq2seq/unicode.h"
#include "ops/error.h"

namespace regrad::seq2seq {
namespace {

void warn(const std::string& message) { std::cerr << "seq2seq: warning: " << message << '\n'; }

// One warning for all of them.
void warn_of_unknown(const Translator& translator, std::span<const Sentence> sources) {
  constexpr std::size_t shown = 5;
  std::size_t count = 0;
  std::set<std::string> unknown;
  for (const Sentence& source : sources) {
    for (const std::string& token : source) {
      if (translator.source.contains(token)) continue;
      ++count;
      unknown.insert(token);
    }
  }
  if (count == 0) return;
  std::string list;
  std::size_t listed = 0;
  for (const std::string& token : unknown) {
    if (listed++ == shown) break;
    list += (list.empty() ? "" : ", ") + visible(token);
  }
  warn(fmt::format("{} unknown to the model, read as <unk>: {}{}",
                   count == 1 ? "1 source token is" : fmt::format("{} source tokens are", count),
                   list, unknown.size() > shown ? ", …" : ""));
}

void warn_of_unfinished(std::span<const Translation> translations) {
  std::size_t count = 0;
  for (const Translation& translation : translations) count += translation.finished ? 0 : 1;
  if (count == 1) warn("1 translation was cut at the length limit");
  if (count > 1) warn(fmt::format("{} translations were cut at the length limit", count));
}

// References that the model cannot match, as it never writes these tokens. With --replace-unknown
// it writes those of the source.
void warn_of_unreachable(const Translator& translator, std::span<const TextPair> pairs,
                         const EvaluateOptions& options) {
  std::size_t tokens = 0, references = 0;
  std::string first;
  for (const TextPair& pair : pairs) {
    const auto unreachable = [&](const std::string& token) {
      return !translator.target.contains(token) &&
             !(options.decoding.replace_unknown &&
               std::ranges::find(pair.source, token) != pair.source.end());
    };
    const auto count = std::ranges::count_if(pair.target, unreachable);
    if (count == 0) continue;
    tokens += static_cast<std::size_t>(count);
    if (++references > 1) continue;
    first = fmt::format("{} of {}", visible(*std::ranges::find_if(pair.target, unreachable)),
                        pair.line > 0 ? fmt::format("{}: line {}", options.data.string(), pair.line)
                                      : join(pair.target, Tokens::chars));
  }
  if (references == 0) return;
  warn(fmt::format(
      "{} unknown to the model, which cannot produce {} (first: {}): at most {} of {} "
      "examples can match exactly",
      tokens == 1 ? "1 reference token is" : fmt::format("{} reference tokens are", tokens),
      tokens == 1 ? "it" : "them", first, pairs.size() - references, pairs.size()));
}

// All lines at once, so that nothing is written when one of them is bad; a person who types gets an
// answer to each.
std::vector<Sentence> next_lines(LineReader& reader, Tokens kind, bool one) {
  std::vector<Sentence> lines;
  for (std::string line; (!one || lines.empty()) && reader.next(line);) {
    lines.push_back(tokenize(first_column(line), kind));
  }
  return lines;
}

std::string score_row(std::string_view name, const Scores& scores) {
  return fmt::format("{:>13} {:>9} {:>12.4f} {:>15.4f} {:>17.4f} {:>7.2f} {:>8.4f} {:>11.4g}\n",
                     name, scores.examples, scores.exact_match, scores.token_accuracy,
                     scores.token_error_rate, scores.bleu, scores.nll, scores.perplexity);
}

std::string score_table(const Metrics& metrics) {
  std::string table = fmt::format("{:>13} {:>9} {:>12} {:>15} {:>17} {:>7} {:>8} {:>11}\n",
                                  "source length", "examples", "exact match", "token accuracy",
                                  "token error rate", "BLEU", "nll", "perplexity");
  for (const auto& [length, scores] : metrics.by_source_length()) {
    table += score_row(std::to_string(length), scores);
  }
  return table + score_row("all", metrics.overall());
}

std::vector<TextPair> pairs_for(const EvaluateOptions& options, const Config& config) {
  if (!options.task.empty()) return make_task(options.task).test();
  return read_tsv(options.data, tokens_named(config.source_tokens),
                  tokens_named(config.target_tokens));
}

// A line for the best; or for each a line of rank, score and translation.
void write_translations(const std::vector<Translation>& ranked, Tokens kind, bool n_best) {
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    if (n_best) std::cout << fmt::format("{}\t{:.4f}\t", i + 1, ranked[i].score);
    std::cout << join(ranked[i].tokens, kind) << '\n';
  }
}

Translation shown_translation(const AttendOptions& options, const Translator& translator,
                              const Sentence& source) {
  if (!options.target) return translate(translator, {&source, 1}, options.decoding).front();
  check_text(*options.target, "the target line");
  const Sentence target = tokenize(*options.target, tokens_named(translator.config.target_tokens));
  for (const std::string& token : target) {
    if (translator.target.contains(token)) continue;
    warn(
        fmt::format("`{}` is unknown to the model, which never writes it: its probability is that "
                    "of <unk>",
                    visible(token)));
  }
  return force(translator, source, target);
}

}  // namespace

void translate(const TranslateOptions& options) {
  check(options.decoding);
  const Translator translator = load_translator(options.model);
  const Tokens source_kind = tokens_named(translator.config.source_tokens);
  const Tokens target_kind = tokens_named(translator.config.target_tokens);
  LineReader reader(std::cin, "standard input");
  DecodeOptions decoding = options.decoding;
  for (;;) {
    const std::vector<Sentence> sources = next_lines(reader, source_kind, is_terminal(Stream::in));
    if (sources.empty()) break;
    const auto translations = translate_n_best(translator, sources, decoding);
    std::vector<Translation> best;
    for (const std::vector<Translation>& ranked : translations) {
      best.push_back(ranked.front());
      write_translations(ranked, target_kind, decoding.n_best > 1);
    }
    decoding.before += sources.size();
    std::cout.flush();
    warn_of_unknown(translator, sources);
    warn_of_unfinished(best);
  }
}

void evaluate(const EvaluateOptions& options) {
  check(options.decoding);
  const Translator translator = load_translator(options.model);
  const std::vector<TextPair> pairs = pairs_for(options, translator.config);
  const Metrics metrics = evaluate(translator, pairs, options.decoding).metrics;
  std::vector<Sentence> sources;
  for (const TextPair& pair : pairs) sources.push_back(pair.source);
  warn_of_unknown(translator, sources);
  warn_of_unreachable(translator, pairs, options);
  std::cout << (options.json ? metrics.to_json().dump() + "\n" : score_table(metrics));
}

void attend(const AttendOptions& options) {
  check(options.decoding);
  const Translator translator = load_translator(options.model);
  check_text(options.line, "the source line");
  const Sentence source = tokenize(options.line, tokens_named(translator.config.source_tokens));
  if (source.empty()) fail("the source line is empty: there is nothing to attend to");
  const Translation translation = shown_translation(options, translator, source);
  const std::size_t columns = terminal_columns(Stream::out);
  std::cout << join(translation.tokens, tokens_named(translator.config.target_tokens)) << "\n";
  if (options.target) fmt::print("log probability {:.4f}\n", translation.log_probability);
  if (translation.weights.rank() < 2) {
    warn("the model attends to nothing (--attention none): there are no weights to show");
  } else {
    std::cout << "\n"
              << draw_text(heat_map(source, translation), output_ink(), columns > 0 ? columns : 80);
  }
  warn_of_unknown(translator, {&source, 1});
  warn_of_unfinished({&translation, 1});
}

}  // namespace regrad::seq2seq
