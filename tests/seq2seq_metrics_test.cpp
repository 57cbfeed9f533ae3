#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "examples/seq2seq/metrics.h"
#include "ops/rng.h"
#include "tests/nn_check.h"

using namespace regrad;
using namespace regrad::seq2seq;
using doctest::Approx;
using regrad::testing::contains;
using regrad::testing::message_of;

namespace {

struct Pair {
  std::string hypothesis, reference;
};

Scores score(const std::vector<Pair>& pairs) {
  Tally tally;
  for (const Pair& pair : pairs) {
    tally.add(tokenize(pair.hypothesis, Tokens::words), tokenize(pair.reference, Tokens::words), 0,
              1);
  }
  return tally.scores();
}

Sentence letters(const std::string& word) { return tokenize(word, Tokens::chars); }

Sentence random_sentence(Rng& rng) {
  Sentence sentence(rng.below(8));
  for (std::string& token : sentence) token = std::string(1, static_cast<char>('a' + rng.below(3)));
  return sentence;
}

// Straight from the recurrence, without a table.
std::size_t slow_distance(const Sentence& a, const Sentence& b, std::size_t i, std::size_t j) {
  if (i == 0 || j == 0) return i + j;
  return std::min({slow_distance(a, b, i - 1, j) + 1, slow_distance(a, b, i, j - 1) + 1,
                   slow_distance(a, b, i - 1, j - 1) + (a[i - 1] == b[j - 1] ? 0 : 1)});
}

}  // namespace

TEST_CASE("edit distance") {
  CHECK(edit_distance({}, {}) == 0);
  CHECK(edit_distance(letters("abc"), {}) == 3);
  CHECK(edit_distance({}, letters("abcd")) == 4);
  CHECK(edit_distance(letters("kitten"), letters("sitting")) == 3);
  CHECK(edit_distance({"to", "be"}, {"to", "bee"}) == 1);
  Rng rng(1);
  for (int i = 0; i < 200; ++i) {
    const Sentence a = random_sentence(rng), b = random_sentence(rng);
    CHECK(edit_distance(a, b) == slow_distance(a, b, a.size(), b.size()));
  }
}

TEST_CASE("exact match, token accuracy and token error rate are pooled over sentences") {
  const Scores scores = score({{"a b c", "a b c"}, {"a x", "a b c d"}, {"", "e"}});
  CHECK(scores.examples == 3);
  CHECK(scores.exact_match == Approx(1.0 / 3));
  // With <eos>: 4 of 4 places, 1 of 5, 0 of 2.
  CHECK(scores.token_accuracy == Approx(5.0 / 11));
  CHECK(scores.token_error_rate == Approx(4.0 / 8));
}

TEST_CASE("token accuracy counts <eos>, so that what is too long is not perfect") {
  CHECK(score({{"a b", "a b"}}).token_accuracy == 1);
  CHECK(score({{"a b c", "a b"}}).token_accuracy == Approx(2.0 / 3));
  CHECK(score({{"a", "a b"}}).token_accuracy == Approx(1.0 / 3));
  CHECK(score({{"", ""}}).token_accuracy == 1);
}

TEST_CASE("BLEU of identical text is 100 at any length") {
  CHECK(score({{"a b c d e", "a b c d e"}, {"f", "f"}}).bleu == Approx(100));
  CHECK(score({{"a", "a"}}).bleu == Approx(100));
  CHECK(score({{"a b", "a b"}}).bleu == Approx(100));
  CHECK(score({{"a b c", "a b c"}, {"b", "b"}}).bleu == Approx(100));
  CHECK(score({{"", ""}}).bleu == Approx(100));
}

TEST_CASE("BLEU is the geometric mean of the corpus' n-gram precisions") {
  const Scores scores = score({{"the cat sat on the mat today", "the cat sat on a mat today"},
                               {"a dog barked at me loudly now", "the dog barked at me loudly"}});
  const double precisions = 11.0 / 14 * 8 / 12 * 5 / 10 * 3 / 8;
  CHECK(scores.bleu == Approx(100 * std::pow(precisions, 0.25)));
}

TEST_CASE("BLEU counts an n-gram at most as often as the reference has it, and smooths zeros") {
  const Scores scores = score({{"the the the the the the the", "the cat is on the mat"}});
  const double precisions = 2.0 / 7 * (1.0 / 2 / 6) * (1.0 / 4 / 5) * (1.0 / 8 / 4);
  CHECK(scores.bleu == Approx(100 * std::pow(precisions, 0.25)));
}

TEST_CASE("BLEU punishes short output by brevity and long output by precision only") {
  const std::string reference = "a b c d e f g h";
  const double part = score({{"a b c d", reference}}).bleu;
  CHECK(part == Approx(100 * std::exp(1 - 8.0 / 4)));
  const double longer = score({{reference + " i j", reference}}).bleu;
  CHECK(longer == Approx(100 * std::pow(8.0 / 10 * 7 / 9 * 6 / 8 * 5 / 7, 0.25)));
  CHECK(score({{"a", reference}}).bleu < score({{"a b", reference}}).bleu);
}

TEST_CASE("brevity is that of the corpus, not of each sentence") {
  CHECK(score({{"a b c d", "a b c d e"}, {"v w x y z", "v w x y"}}).bleu ==
        Approx(100 * std::pow(8.0 / 9 * 6 / 7 * 4 / 5 * 2 / 3, 0.25)));
}

TEST_CASE("BLEU survives output that is empty or all wrong") {
  CHECK(score({{"", "a b c"}}).bleu == 0);
  CHECK(score({{"x y z", "a b c"}}).bleu == 0);
  CHECK(score({{"x y z", ""}}).bleu == 0);
  CHECK(score({{"", "a b c d"}, {"a b c d", "a b c d"}}).bleu == Approx(100 * std::exp(1 - 2.0)));
  CHECK(score({{"", "a b c"}}).token_error_rate == 1);
  CHECK(score({{"x y z", ""}}).token_error_rate == 3);
}

TEST_CASE("nll is a mean over tokens, however they are grouped") {
  Tally together, apart;
  together.add({"a"}, {"a"}, 3.0, 6);
  apart.add({"a"}, {"a"}, 1.0, 4);
  apart.add({"a"}, {"a"}, 2.0, 2);
  CHECK(together.scores().nll == Approx(0.5));
  CHECK(apart.scores().nll == Approx(0.5));
  CHECK(apart.scores().perplexity == Approx(std::exp(0.5)));
}

TEST_CASE("scores by source length add up to all") {
  Metrics metrics;
  metrics.add({"a"}, {"a"}, 2, 1.0, 2);
  metrics.add({"b"}, {"a"}, 2, 3.0, 2);
  metrics.add({"a", "b"}, {"a", "b"}, 10, 0.5, 3);
  const auto by_length = metrics.by_source_length();
  REQUIRE(by_length.size() == 2);
  CHECK(by_length.at(2).exact_match == 0.5);
  CHECK(by_length.at(2).nll == 1.0);
  CHECK(by_length.at(2).examples == 2);
  CHECK(by_length.at(10).exact_match == 1);
  CHECK(metrics.overall().examples == 3);
  CHECK(metrics.overall().exact_match == Approx(2.0 / 3));
  CHECK(metrics.overall().nll == Approx(4.5 / 7));
}

TEST_CASE("the JSON has the promised keys in the promised order") {
  Metrics metrics;
  metrics.add({"a"}, {"a"}, 10, 0.0, 2);
  metrics.add({"a"}, {"a"}, 9, 0.0, 2);
  const std::string scores =
      R"("exact_match":1.0,"token_accuracy":1.0,"token_error_rate":0.0,"bleu":100.0,"nll":0.0,)"
      R"("perplexity":1.0,"examples":)";
  CHECK(metrics.to_json().dump() == "{" + scores + R"(2,"by_source_length":{"9":{)" + scores +
                                        R"(1},"10":{)" + scores + "1}}}");
}

TEST_CASE("what is not finite is null in JSON") {
  Tally tally;
  tally.add({"a"}, {"a"}, 1e6, 1);
  CHECK(tally.scores().to_json()["perplexity"].is_null());
  CHECK(tally.scores().to_json()["nll"] == 1e6);
  tally.add({"a"}, {"a"}, std::numeric_limits<double>::quiet_NaN(), 1);
  CHECK(tally.scores().to_json()["nll"].is_null());
}

TEST_CASE("scores of nothing are an error") {
  CHECK(contains(message_of([] { Tally().scores(); }), "no examples"));
  CHECK(contains(message_of([] { Metrics().to_json(); }), "no examples"));
}
