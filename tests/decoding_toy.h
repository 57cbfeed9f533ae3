#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include <doctest/doctest.h>

#include "nn/beam.h"
#include "ops/rng.h"

// A decoder small enough for brute force.
namespace regrad::testing {

// h_0 depends on the sentence, h_t = tanh(2 W h_{t-1} + E[y_{t-1}]), logits = 2 U h_t, weights =
// softmax over the source's positions of 2 A h_t. Plain loops over one row: no bit of a row depends
// on another row.
class ToyDecoder {
 public:
  using Row = std::vector<double>;
  static constexpr Index hidden = 3, longest_source = 4;

  ToyDecoder(Index classes, std::uint64_t seed) : classes_(classes) {
    Rng rng(seed);
    const auto random = [&](Index n) {
      return normal({n * hidden}, 0, 1, rng, DType::f64).to_vector();
    };
    w_ = random(hidden), e_ = random(classes), u_ = random(classes), a_ = random(longest_source);
  }

  Index classes() const { return classes_; }
  static Row start(Index sentence) {
    const auto x = static_cast<double>(sentence);
    return {std::sin(x), std::cos(3 * x), std::sin(2 * x + 1)};
  }
  Row next(const Row& h, std::int32_t token) const {
    Row next = product(w_, h, hidden);
    for (std::size_t i = 0; i < next.size(); ++i) {
      next[i] = std::tanh(next[i] + e_[static_cast<std::size_t>(token * hidden) + i]);
    }
    return next;
  }
  Row logits(const Row& h) const { return product(u_, h, classes_); }
  Row weights(const Row& h, Index length) const {
    Row weights = product(a_, h, longest_source);
    double total = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      weights[i] = static_cast<Index>(i) < length ? std::exp(weights[i]) : 0;
      total += weights[i];
    }
    for (double& weight : weights) weight = total > 0 ? weight / total : 0;
    return weights;
  }

  // For rows of these sentences out of the batch.
  DecoderStep step(const Ids& sentences, const Lengths& lengths) const {
    return [this, sentences, lengths](const Ids& previous, DecoderState& state) {
      const Index rows = sentences.size();
      REQUIRE(state[0].shape() == Shape{rows, 1, hidden});
      REQUIRE(previous.shape() == Shape{rows});
      const Row before = state[0].value().to_vector();
      Row after, logit, weight;
      for (Index r = 0; r < rows; ++r) {
        const auto first = before.begin() + r * hidden;
        const Row h = next(Row(first, first + hidden), previous[r]);
        append(after, h);
        append(logit, logits(h));
        append(weight, weights(h, lengths[sentences[r]]));
      }
      state[0] = tensor(after, {rows, 1, hidden}, DType::f64);
      return DecoderOutput{tensor(logit, {rows, classes_}, DType::f64),
                           tensor(weight, {rows, longest_source}, DType::f64)};
    };
  }
  // The state of sentences first, first + 1, …
  static DecoderState start_state(Index first, Index count) {
    Row all;
    for (Index b = first; b < first + count; ++b) append(all, start(b));
    return {tensor(all, {count, 1, hidden}, DType::f64)};
  }
  static Ids all(Index count) {
    Ids ids(Shape{count});
    for (Index b = 0; b < count; ++b) ids.mutable_data()[b] = static_cast<std::int32_t>(b);
    return ids;
  }

 private:
  static void append(Row& to, const Row& from) { to.insert(to.end(), from.begin(), from.end()); }
  static Row product(const Row& matrix, const Row& h, Index rows) {
    Row y(static_cast<std::size_t>(rows), 0);
    for (std::size_t i = 0; i < y.size(); ++i) {
      for (std::size_t j = 0; j < h.size(); ++j) y[i] += 2 * matrix[i * h.size() + j] * h[j];
    }
    return y;
  }

  Index classes_;
  Row w_, e_, u_, a_;
};

// Every output of at most `limit` tokens that ends with <eos>, with its score.
class BruteForce {
 public:
  struct Found {
    std::vector<std::int32_t> tokens;
    double log_probability, score;
  };

  BruteForce(const ToyDecoder& toy, Index length, Index limit, std::int32_t bos, std::int32_t eos,
             const BeamOptions& options)
      : toy_(toy), length_(length), limit_(limit), bos_(bos), eos_(eos), options_(options) {}

  std::vector<Found> all(Index sentence) {
    extend({}, ToyDecoder::start(sentence), 0,
           std::vector<double>(static_cast<std::size_t>(length_), 0));
    std::ranges::sort(found_, std::greater{}, &Found::score);
    return found_;
  }

 private:
  void extend(const std::vector<std::int32_t>& tokens, const ToyDecoder::Row& before,
              double log_probability, std::vector<double> coverage) {
    const ToyDecoder::Row h = toy_.next(before, tokens.empty() ? bos_ : tokens.back());
    const ToyDecoder::Row logits = toy_.logits(h), weights = toy_.weights(h, length_);
    double total = 0;
    for (const double logit : logits) total += std::exp(logit);
    for (std::size_t i = 0; i < coverage.size(); ++i) coverage[i] += weights[i];
    for (Index token = 0; token < toy_.classes(); ++token) {
      const double log_p =
          log_probability + logits[static_cast<std::size_t>(token)] - std::log(total);
      std::vector<std::int32_t> longer = tokens;
      longer.push_back(static_cast<std::int32_t>(token));
      if (token == eos_) {
        found_.push_back({tokens, log_p, score(longer.size(), log_p, coverage)});
      } else if (static_cast<Index>(tokens.size()) < limit_) {
        extend(longer, h, log_p, coverage);
      }
    }
  }
  double score(std::size_t length, double log_p, const std::vector<double>& coverage) const {
    double penalty = 0;
    for (const double looked : coverage) penalty += std::log(std::min(looked, 1.0));
    return log_p / std::pow((5 + static_cast<double>(length)) / 6, options_.length_penalty) +
           options_.coverage_penalty * penalty;
  }

  const ToyDecoder& toy_;
  Index length_, limit_;
  std::int32_t bos_, eos_;
  BeamOptions options_;
  std::vector<Found> found_;
};

}  // namespace regrad::testing
