#include "nn/beam_sentence.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "nn/decoding_rows.h"

namespace regrad {
namespace {

constexpr double least_coverage = 1e-10;  // log 0 would make all of a sentence's hypotheses equal

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

double length_penalty(Index length, double alpha) {
  return std::pow((5 + static_cast<double>(length)) / 6, alpha);
}

// The k likeliest tokens of a row, the lowest ids of equal ones.
std::vector<std::int32_t> likeliest(const LogitRow& row, Index k) {
  std::vector<std::int32_t> tokens(at(row.classes()));
  std::iota(tokens.begin(), tokens.end(), 0);
  const auto end = tokens.begin() + std::min(k, row.classes());
  std::partial_sort(tokens.begin(), end, tokens.end(), [&](std::int32_t a, std::int32_t b) {
    return row[a] > row[b] || (row[a] == row[b] && a < b);
  });
  tokens.erase(end, tokens.end());
  return tokens;
}

}  // namespace

std::int32_t BeamSentence::last_token(const Live& hypothesis, std::int32_t bos) const {
  return hypothesis.node < 0 ? bos : nodes_[at(hypothesis.node)].token;
}

// The continuations that stay in the beam, likeliest first; of equal ones those of the better
// parent, then the lower id.
std::vector<BeamSentence::Candidate> BeamSentence::candidates(const Tensor& logits,
                                                              Index first_row) const {
  const Index room = options_.beam - static_cast<Index>(finished_.size());
  std::vector<Candidate> all;
  for (std::size_t i = 0; i < live_.size(); ++i) {
    const auto parent = static_cast<Index>(i);
    const LogitRow row("beam_search", logits, first_row + parent, sentence_, step_);
    for (const std::int32_t token : likeliest(row, room)) {
      const double log_p = row.log_probability(token);
      if (std::isinf(log_p)) break;  // a forbidden token
      all.push_back({parent, token, log_p, live_[i].log_probability + log_p});
    }
  }
  std::ranges::stable_sort(all, std::greater{}, &Candidate::log_probability);
  all.erase(all.begin() + std::min(room, static_cast<Index>(all.size())), all.end());
  return all;
}

Index BeamSentence::add_node(const Candidate& candidate, Index first_row) {
  nodes_.push_back({live_[at(candidate.parent)].node, first_row + candidate.parent, candidate.token,
                    candidate.token_log_probability});
  return static_cast<Index>(nodes_.size()) - 1;
}

void BeamSentence::advance(const Tensor& logits, Index first_row,
                           const std::vector<Tensor>& weights) {
  const std::vector<Candidate> kept = candidates(logits, first_row);
  if (step_ == max_length_) end_unfinished(kept, weights);
  std::vector<Live> next;
  for (const Candidate& candidate : kept) {
    const bool is_end = candidate.token == eos_;
    if (!is_end && step_ == max_length_) continue;
    const Index node = add_node(candidate, first_row);
    if (is_end) {
      end(finished_, node, candidate.log_probability, weights);
    } else {
      next.push_back({node, first_row + candidate.parent, candidate.log_probability});
    }
  }
  live_ = std::move(next);
  ++step_;
  stop_if_beaten();
}

// At the limit, what has not come to <eos> stays as it is.
void BeamSentence::end_unfinished(const std::vector<Candidate>& kept,
                                  const std::vector<Tensor>& weights) {
  std::vector<bool> has_end(live_.size(), false);
  for (const Candidate& candidate : kept) {
    if (candidate.token == eos_) has_end[at(candidate.parent)] = true;
  }
  for (std::size_t i = 0; i < live_.size(); ++i) {
    if (!has_end[i]) end(unfinished_, live_[i].node, live_[i].log_probability, weights);
  }
}

// Keeps the list sorted, the first found of equal scores first.
void BeamSentence::end(std::vector<Ended>& list, Index node, double log_probability,
                       const std::vector<Tensor>& weights) const {
  const Ended ended{node, log_probability, score(node, log_probability, weights)};
  list.insert(std::ranges::upper_bound(list, ended.score, std::greater{}, &Ended::score), ended);
}

// A log probability only falls as its hypothesis grows, lp is largest at the limit, and cp ≤ 0.
void BeamSentence::stop_if_beaten() {
  if (live_.empty() || static_cast<Index>(finished_.size()) < options_.n_best) return;
  const double bound =
      live_[0].log_probability / length_penalty(max_length_ + 1, options_.length_penalty);
  if (bound <= finished_[at(options_.n_best - 1)].score) live_.clear();
}

std::vector<Index> BeamSentence::path(Index node) const {
  std::vector<Index> path;
  for (; node >= 0; node = nodes_[at(node)].parent) path.push_back(node);
  std::ranges::reverse(path);
  return path;
}

double BeamSentence::score(Index node, double log_probability,
                           const std::vector<Tensor>& weights) const {
  const std::vector<Index> nodes = path(node);
  const auto length = static_cast<Index>(nodes.size());
  double score = log_probability / length_penalty(length, options_.length_penalty);
  if (options_.coverage_penalty == 0) return score;
  std::vector<double> coverage(at(source_length_), 0);
  for (std::size_t t = 0; t < nodes.size(); ++t) {
    const Index row[] = {nodes_[at(nodes[t])].row};
    const std::vector<double> looked =
        collect_attention({weights[t]}, row, source_length_).to_vector();
    for (std::size_t i = 0; i < coverage.size(); ++i) coverage[i] += looked[i];
  }
  for (const double looked : coverage) {
    score += options_.coverage_penalty * std::log(std::clamp(looked, least_coverage, 1.0));
  }
  return score;
}

Hypothesis BeamSentence::hypothesis(const Ended& ended, bool finished,
                                    const std::vector<Tensor>& weights) const {
  Hypothesis result;
  result.finished = finished;
  result.log_probability = ended.log_probability;
  result.score = ended.score;
  std::vector<Index> rows;
  for (const Index index : path(ended.node)) {
    const Node& node = nodes_[at(index)];
    result.token_log_probabilities.push_back(node.log_probability);
    if (node.token == eos_) continue;
    result.tokens.push_back(node.token);
    rows.push_back(node.row);
  }
  result.attention = collect_attention(weights, rows, source_length_);
  return result;
}

std::vector<Hypothesis> BeamSentence::best(const std::vector<Tensor>& weights) {
  std::vector<Hypothesis> best;
  for (const bool finished : {true, false}) {
    for (const Ended& ended : finished ? finished_ : unfinished_) {
      if (static_cast<Index>(best.size()) == options_.n_best) return best;
      best.push_back(hypothesis(ended, finished, weights));
    }
  }
  return best;
}

}  // namespace regrad
