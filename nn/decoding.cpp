#include "nn/decoding.h"

#include <algorithm>
#include <utility>

#include "nn/decoding_rows.h"

namespace regrad {

std::vector<Hypothesis> greedy(const DecoderStep& step, DecoderState state,
                               const Lengths& source_lengths, const DecodingOptions& options) {
  return decode_rows("greedy", step, std::move(state), source_lengths, options,
                     [](Index, Index, const LogitRow& row) { return row.likeliest(); });
}

std::vector<Hypothesis> force(const DecoderStep& step, DecoderState state,
                              const Lengths& source_lengths,
                              const std::vector<std::vector<std::int32_t>>& targets,
                              const DecodingOptions& options) {
  if (targets.size() != static_cast<std::size_t>(source_lengths.batch())) {
    fail("force: {} targets for {} sentences", targets.size(), source_lengths.batch());
  }
  DecodingOptions limited = options;
  limited.max_length.clear();
  for (const auto& target : targets) {
    limited.max_length.push_back(static_cast<Index>(target.size()));
    if (std::ranges::find(target, options.eos) == target.end()) continue;
    fail("force: target {} holds <eos>; give it without", limited.max_length.size() - 1);
  }
  const Choose choose = [&](Index sentence, Index step_index, const LogitRow& row) {
    const auto& target = targets[static_cast<std::size_t>(sentence)];
    const auto position = static_cast<std::size_t>(step_index);
    const std::int32_t token = position < target.size() ? target[position] : options.eos;
    if (token < 0 || token >= row.classes()) {
      fail("force: token {} at position {} of target {} is outside of [0, {})", token, step_index,
           sentence, row.classes());
    }
    return token;
  };
  return decode_rows("force", step, std::move(state), source_lengths, limited, choose);
}

std::vector<Index> aligned_positions(const Tensor& attention) {
  if (attention.rank() != 2) {
    fail("aligned_positions: attention must be [tokens, S], not {}", attention.shape());
  }
  const Index length = attention.shape()[1];
  std::vector<Index> positions(static_cast<std::size_t>(attention.shape()[0]), -1);
  if (length == 0) return positions;
  const std::vector<double> weights = attention.to_vector();
  auto row = weights.begin();
  for (Index& position : positions) {
    position = std::max_element(row, row + length) - row;
    row += length;
  }
  return positions;
}

std::vector<std::string> replace_unknown(std::vector<std::string> words,
                                         const Hypothesis& hypothesis, std::int32_t unknown,
                                         const std::vector<std::string>& source) {
  const Shape expected{static_cast<Index>(words.size()), static_cast<Index>(source.size())};
  if (words.size() != hypothesis.tokens.size() || !(hypothesis.attention.shape() == expected)) {
    fail("replace_unknown: {} words for {} tokens, attention {} for {} source words", words.size(),
         hypothesis.tokens.size(), hypothesis.attention.shape(), source.size());
  }
  const std::vector<Index> positions = aligned_positions(hypothesis.attention);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (hypothesis.tokens[i] != unknown || positions[i] < 0) continue;
    words[i] = source[static_cast<std::size_t>(positions[i])];
  }
  return words;
}

}  // namespace regrad
