#include "examples/seq2seq/metrics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "ops/error.h"

namespace regrad::seq2seq {
namespace {

double ratio(std::size_t part, std::size_t whole) {
  return static_cast<double>(part) / static_cast<double>(std::max<std::size_t>(whole, 1));
}

std::map<Sentence, std::size_t> count_ngrams(const Sentence& tokens, std::size_t order) {
  std::map<Sentence, std::size_t> counts;
  for (std::size_t begin = 0; begin + order <= tokens.size(); ++begin) {
    const auto first = tokens.begin() + static_cast<std::ptrdiff_t>(begin);
    ++counts[Sentence(first, first + static_cast<std::ptrdiff_t>(order))];
  }
  return counts;
}

// Each n-gram of the hypothesis matches at most as often as the reference has it.
std::size_t count_matches(const Sentence& hypothesis, const Sentence& reference,
                          std::size_t order) {
  const auto available = count_ngrams(reference, order);
  std::size_t matches = 0;
  for (const auto& [ngram, count] : count_ngrams(hypothesis, order)) {
    const auto found = available.find(ngram);
    if (found != available.end()) matches += std::min(count, found->second);
  }
  return matches;
}

// Both with <eos> behind: it counts as found when they are equally long.
std::size_t count_places(const Sentence& hypothesis, const Sentence& reference) {
  std::size_t places = hypothesis.size() == reference.size() ? 1 : 0;
  for (std::size_t i = 0; i < std::min(hypothesis.size(), reference.size()); ++i) {
    if (hypothesis[i] == reference[i]) ++places;
  }
  return places;
}

nlohmann::ordered_json number(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
}

}  // namespace

nlohmann::ordered_json Scores::to_json() const {
  nlohmann::ordered_json json;
  json["exact_match"] = number(exact_match);
  json["token_accuracy"] = number(token_accuracy);
  json["token_error_rate"] = number(token_error_rate);
  json["bleu"] = number(bleu);
  json["nll"] = number(nll);
  json["perplexity"] = number(perplexity);
  json["examples"] = examples;
  return json;
}

std::size_t edit_distance(const Sentence& a, const Sentence& b) {
  std::vector<std::size_t> row(b.size() + 1);  // distances of a's first i tokens to b's first j
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

void Tally::add(const Sentence& hypothesis, const Sentence& reference, double nll,
                std::size_t nll_tokens) {
  ++examples_;
  exact_ += hypothesis == reference ? 1 : 0;
  places_ += reference.size() + 1;
  places_right_ += count_places(hypothesis, reference);
  edits_ += edit_distance(hypothesis, reference);
  hypothesis_tokens_ += hypothesis.size();
  reference_tokens_ += reference.size();
  for (std::size_t order = 1; order <= ngrams_.size(); ++order) {
    ngrams_[order - 1] += hypothesis.size() >= order ? hypothesis.size() - order + 1 : 0;
    ngrams_matched_[order - 1] += count_matches(hypothesis, reference, order);
  }
  nll_ += nll;
  nll_tokens_ += nll_tokens;
}

double Tally::bleu() const {
  if (hypothesis_tokens_ == 0) return reference_tokens_ == 0 ? 100 : 0;
  if (ngrams_matched_[0] == 0) return 0;
  double logarithms = 0, orders = 0, smoothing = 1;
  for (std::size_t i = 0; i < ngrams_.size() && ngrams_[i] > 0; ++i) {
    const auto matched = static_cast<double>(ngrams_matched_[i]);
    if (matched == 0) smoothing /= 2;
    logarithms += std::log((matched == 0 ? smoothing : matched) / static_cast<double>(ngrams_[i]));
    ++orders;
  }
  const double brevity = std::min(
      0.0, 1 - static_cast<double>(reference_tokens_) / static_cast<double>(hypothesis_tokens_));
  return 100 * std::exp(brevity + logarithms / orders);
}

Scores Tally::scores() const {
  if (examples_ == 0) fail("metrics: no examples to score");
  Scores scores;
  scores.exact_match = ratio(exact_, examples_);
  scores.token_accuracy = ratio(places_right_, places_);
  scores.token_error_rate = ratio(edits_, reference_tokens_);
  scores.bleu = bleu();
  scores.nll = nll_tokens_ == 0 ? 0 : nll_ / static_cast<double>(nll_tokens_);
  scores.perplexity = std::exp(scores.nll);
  scores.examples = examples_;
  return scores;
}

void Metrics::add(const Sentence& hypothesis, const Sentence& reference, std::size_t source_length,
                  double nll, std::size_t nll_tokens) {
  all_.add(hypothesis, reference, nll, nll_tokens);
  by_length_[source_length].add(hypothesis, reference, nll, nll_tokens);
}

std::map<std::size_t, Scores> Metrics::by_source_length() const {
  std::map<std::size_t, Scores> scores;
  for (const auto& [length, tally] : by_length_) scores.emplace(length, tally.scores());
  return scores;
}

nlohmann::ordered_json Metrics::to_json() const {
  nlohmann::ordered_json json = overall().to_json();
  json["by_source_length"] = nlohmann::ordered_json::object();
  for (const auto& [length, scores] : by_source_length()) {
    json["by_source_length"][std::to_string(length)] = scores.to_json();
  }
  return json;
}

}  // namespace regrad::seq2seq
