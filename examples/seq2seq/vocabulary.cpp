#include "examples/seq2seq/vocabulary.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "ops/error.h"

namespace regrad::seq2seq {
namespace {

constexpr std::array<std::string_view, Vocabulary::specials> special_tokens = {"<pad>", "<unk>",
                                                                               "<bos>", "<eos>"};

}  // namespace

Vocabulary::Vocabulary(const std::vector<std::string>& tokens)
    : tokens_(special_tokens.begin(), special_tokens.end()) {
  if (tokens.size() > static_cast<std::size_t>(std::numeric_limits<Id>::max() - specials)) {
    fail("vocabulary: {} tokens are more than ids can number", tokens.size());
  }
  for (const std::string& token : tokens) {
    const std::size_t id = tokens_.size();
    if (token.empty()) fail("vocabulary: token {} is empty", id);
    check_text(token, fmt::format("vocabulary: token {}", id));
    if (!ids_.emplace(token, static_cast<Id>(id)).second) {
      fail("vocabulary: '{}' is there twice, as {} and {}", token, ids_.at(token), id);
    }
    tokens_.push_back(token);
  }
}

Vocabulary Vocabulary::build(const std::vector<TextPair>& pairs, Sentence TextPair::*side,
                             const VocabularyLimits& limits) {
  std::map<std::string, std::size_t> counts;
  for (const TextPair& pair : pairs) {
    for (const std::string& token : pair.*side) ++counts[token];
  }
  std::vector<std::pair<std::string, std::size_t>> frequent(counts.begin(), counts.end());
  std::erase_if(frequent, [&](const auto& entry) { return entry.second < limits.min_count; });
  std::ranges::stable_sort(frequent, std::ranges::greater{},
                           [](const auto& entry) { return entry.second; });
  if (limits.max_size > 0 && frequent.size() > limits.max_size) frequent.resize(limits.max_size);
  std::vector<std::string> tokens;
  for (auto& [token, count] : frequent) tokens.push_back(std::move(token));
  return Vocabulary(tokens);
}

std::vector<Id> Vocabulary::encode(const Sentence& tokens) const {
  std::vector<Id> ids;
  ids.reserve(tokens.size());
  for (const std::string& token : tokens) {
    const auto found = ids_.find(token);
    ids.push_back(found == ids_.end() ? unk : found->second);
  }
  return ids;
}

Sentence Vocabulary::decode(std::span<const Id> ids) const {
  Sentence tokens;
  tokens.reserve(ids.size());
  for (const Id id : ids) {
    if (id < 0 || static_cast<std::size_t>(id) >= size()) {
      fail("vocabulary: id {} at {} is outside of [0, {})", id, tokens.size(), size());
    }
    tokens.push_back(tokens_[static_cast<std::size_t>(id)]);
  }
  return tokens;
}

nlohmann::json Vocabulary::to_json() const { return tokens_; }

Vocabulary Vocabulary::from_json(const nlohmann::json& json) {
  if (!json.is_array()) fail("vocabulary: a JSON {} in place of an array", json.type_name());
  std::vector<std::string> tokens;
  for (const nlohmann::json& token : json) {
    if (!token.is_string()) {
      fail("vocabulary: token {} is a JSON {}, not a string", tokens.size(), token.type_name());
    }
    tokens.push_back(token.get<std::string>());
  }
  for (std::size_t id = 0; id < special_tokens.size(); ++id) {
    if (id >= tokens.size() || tokens[id] != special_tokens[id]) {
      fail("vocabulary: token {} must be {}", id, special_tokens[id]);
    }
  }
  return Vocabulary({tokens.begin() + specials, tokens.end()});
}

}  // namespace regrad::seq2seq
