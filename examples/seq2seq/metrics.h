#pragma once

#include <array>
#include <cstddef>
#include <map>

#include <nlohmann/json.hpp>

#include "examples/seq2seq/text.h"

namespace regrad::seq2seq {

struct Scores {
  double exact_match = 0;       // share of the hypotheses that equal their reference
  double token_accuracy = 0;    // share of the reference's tokens and <eos> found in their place
  double token_error_rate = 0;  // edits from hypotheses to references over reference tokens
  double bleu = 0;              // 0 to 100
  double nll = 0;               // natural logarithm, mean over target tokens and <eos>
  double perplexity = 0;        // exp(nll)
  std::size_t examples = 0;

  // In this order, under these names. What is not finite becomes null, as JSON has no infinity.
  nlohmann::ordered_json to_json() const;
};

// Insertions, deletions and substitutions that turn one into the other (Levenshtein 1966).
std::size_t edit_distance(const Sentence& a, const Sentence& b);

// Sums from which the scores of any number of sentences follow.
//
// BLEU is that of Papineni et al. (2002) over the corpus, n-grams up to 4, on the tokens as they
// are given, not tokenised again. An order n > 1 without a match counts as 1 / (2^k total_n) for
// the kth such order (Chen and Cherry 2014, method 3; as mteval and sacreBLEU); an order for which
// every hypothesis is too short is left out of the mean. So identical text gives 100 at any length.
class Tally {
 public:
  // nll: the sum over the reference and <eos>, which are nll_tokens predictions.
  void add(const Sentence& hypothesis, const Sentence& reference, double nll,
           std::size_t nll_tokens);
  std::size_t examples() const { return examples_; }
  // Throws Error when nothing was added.
  Scores scores() const;

 private:
  double bleu() const;

  std::size_t examples_ = 0, exact_ = 0;
  std::size_t places_ = 0, places_right_ = 0;
  std::size_t edits_ = 0, hypothesis_tokens_ = 0, reference_tokens_ = 0;
  std::array<std::size_t, 4> ngrams_{}, ngrams_matched_{};
  double nll_ = 0;
  std::size_t nll_tokens_ = 0;
};

// Scores of all sentences, and of those with sources of each length.
class Metrics {
 public:
  void add(const Sentence& hypothesis, const Sentence& reference, std::size_t source_length,
           double nll, std::size_t nll_tokens);
  // Throws Error when nothing was added.
  Scores overall() const { return all_.scores(); }
  std::map<std::size_t, Scores> by_source_length() const;
  // Those of overall().to_json(), then "by_source_length": {"1": {…}, "2": {…}, …}.
  nlohmann::ordered_json to_json() const;

 private:
  Tally all_;
  std::map<std::size_t, Tally> by_length_;
};

}  // namespace regrad::seq2seq
