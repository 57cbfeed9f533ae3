#include "nn/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "nn/decoding_rows.h"

namespace regrad {
namespace {

void require_options(const SamplingOptions& options) {
  if (!(options.temperature > 0) || !std::isfinite(options.temperature)) {
    fail("sample: temperature must be finite and above 0, not {}; greedy is its limit at 0",
         options.temperature);
  }
  if (options.top_k < 0) fail("sample: top_k must be at least 0, not {}", options.top_k);
  if (!(options.top_p > 0 && options.top_p <= 1)) {
    fail("sample: top_p must be in (0, 1], not {}", options.top_p);
  }
}

// The tokens, likeliest first, the lower id first of equal ones.
std::vector<std::int32_t> sorted_tokens(const LogitRow& row) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(row.classes()));
  std::iota(tokens.begin(), tokens.end(), 0);
  std::ranges::stable_sort(tokens, [&](std::int32_t a, std::int32_t b) { return row[a] > row[b]; });
  return tokens;
}

std::int32_t draw(const LogitRow& row, const SamplingOptions& options, Rng& random) {
  std::vector<std::int32_t> tokens = sorted_tokens(row);
  const auto limit = static_cast<std::size_t>(options.top_k);
  if (limit > 0 && limit < tokens.size()) tokens.resize(limit);
  const double largest = row[tokens[0]];
  std::vector<double> masses;  // of the tokens so far
  double total = 0;
  for (const std::int32_t token : tokens) {
    total += std::exp((row[token] - largest) / options.temperature);
    masses.push_back(total);
  }
  // The nucleus ends with the first token that brings it to top_p; the draw is within it.
  const auto last = std::ranges::lower_bound(masses, options.top_p * total);
  const double nucleus = last == masses.end() ? total : *last;
  const auto drawn = std::ranges::upper_bound(masses, random.uniform() * nucleus);
  return tokens[static_cast<std::size_t>(std::min(drawn, last) - masses.begin())];
}

}  // namespace

std::vector<Hypothesis> sample(const DecoderStep& step, DecoderState state,
                               const Lengths& source_lengths, const DecodingOptions& options,
                               const SamplingOptions& sampling, std::span<Rng> random) {
  require_options(sampling);
  if (random.size() != static_cast<std::size_t>(source_lengths.batch())) {
    fail("sample: {} generators for {} sentences", random.size(), source_lengths.batch());
  }
  const Choose choose = [&](Index sentence, Index, const LogitRow& row) {
    return draw(row, sampling, random[static_cast<std::size_t>(sentence)]);
  };
  return decode_rows("sample", step, std::move(state), source_lengths, options, choose);
}

}  // namespace regrad
