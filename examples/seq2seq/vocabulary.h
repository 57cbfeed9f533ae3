#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <nlohmann/json.hpp>

#include "examples/seq2seq/tsv.h"

namespace regrad::seq2seq {

using Id = std::int32_t;

struct VocabularyLimits {
  std::size_t min_count = 1;  // rarer tokens become <unk>
  std::size_t max_size = 0;   // at most so many tokens besides the four specials; 0: no limit
};

// Numbers for tokens: four specials, then what was found in the training text. A token of the text
// that is spelled like a special ("<unk>", "<pad>", …) is a token like any other and gets a number
// of its own, or that of <unk> when it is not in the vocabulary; never that of its namesake.
class Vocabulary {
 public:
  static constexpr Id pad = 0, unk = 1, bos = 2, eos = 3, specials = 4;

  // The specials, then `tokens` in this order. Throws Error for an empty token or one given twice.
  explicit Vocabulary(const std::vector<std::string>& tokens = {});
  // Tokens of one side of the pairs by descending count, ties by their bytes.
  static Vocabulary build(const std::vector<TextPair>& pairs, Sentence TextPair::*side,
                          const VocabularyLimits& limits = {});

  std::size_t size() const { return tokens_.size(); }  // with the specials
  bool contains(const std::string& token) const { return ids_.contains(token); }
  // Unknown tokens become unk.
  std::vector<Id> encode(const Sentence& tokens) const;
  // Specials appear as they are spelled. Throws Error for an id outside of [0, size).
  Sentence decode(std::span<const Id> ids) const;

  // All tokens in order of their ids, the specials first.
  nlohmann::json to_json() const;
  // Throws Error for anything that to_json does not write.
  static Vocabulary from_json(const nlohmann::json& json);

  bool operator==(const Vocabulary& other) const { return tokens_ == other.tokens_; }

 private:
  std::vector<std::string> tokens_;
  std::unordered_map<std::string, Id> ids_;  // without the specials
};

}  // namespace regrad::seq2seq
