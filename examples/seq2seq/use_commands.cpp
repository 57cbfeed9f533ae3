#include <fstream>
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
  warn(fmt::format("{} source tokens are unknown to the model and were read as <unk>: {}{}", count,
                   list, unknown.size() > shown ? ", …" : ""));
}

void warn_of_unfinished(std::span<const Translation> translations) {
  std::size_t count = 0;
  for (const Translation& translation : translations) count += translation.finished ? 0 : 1;
  if (count > 0) warn(fmt::format("{} translations were cut at the length limit", count));
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

}  // namespace

void translate(const TranslateOptions& options) {
  const Translator translator = load_translator(options.model);
  const Tokens source_kind = tokens_named(translator.config.source_tokens);
  const Tokens target_kind = tokens_named(translator.config.target_tokens);
  LineReader reader(std::cin, "standard input");
  for (;;) {
    const std::vector<Sentence> sources = next_lines(reader, source_kind, is_terminal(Stream::in));
    if (sources.empty()) break;
    const std::vector<Translation> translations = translate(translator, sources);
    for (const Translation& translation : translations) {
      std::cout << join(translation.tokens, target_kind) << '\n';
    }
    std::cout.flush();
    warn_of_unknown(translator, sources);
    warn_of_unfinished(translations);
  }
}

void evaluate(const EvaluateOptions& options) {
  const Translator translator = load_translator(options.model);
  const std::vector<TextPair> pairs = pairs_for(options, translator.config);
  const Metrics metrics = evaluate(translator, pairs).metrics;
  std::vector<Sentence> sources;
  for (const TextPair& pair : pairs) sources.push_back(pair.source);
  warn_of_unknown(translator, sources);
  std::cout << (options.json ? metrics.to_json().dump() + "\n" : score_table(metrics));
}

void attend(const AttendOptions& options) {
  const Translator translator = load_translator(options.model);
  check_text(options.line, "the source line");
  const Sentence source = tokenize(options.line, tokens_named(translator.config.source_tokens));
  if (source.empty()) fail("the source line is empty: there is nothing to attend to");
  const std::vector<Translation> translations = translate(translator, {&source, 1});
  const std::size_t columns = terminal_columns(Stream::out);
  std::cout << join(translations[0].tokens, tokens_named(translator.config.target_tokens)) << "\n\n"
            << draw_text(heat_map(source, translations[0]), output_ink(),
                         columns > 0 ? columns : 80);
  warn_of_unknown(translator, {&source, 1});
  warn_of_unfinished(translations);
}

}  // namespace regrad::seq2seq
