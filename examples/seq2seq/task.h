#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "examples/seq2seq/tsv.h"
#include "ops/rng.h"

namespace regrad::seq2seq {

// A synthetic task on words of letters a to z: its training pairs are drawn afresh, its dev and
// test pairs held out. A hash of the word decides where it belongs (1 in 20 to dev, 1 in 20 to
// test), so no word of dev or test is ever drawn for training, at any length.
class Task {
 public:
  Task(std::string name, Sentence (*target)(const Sentence& source), std::size_t max_length);

  const std::string& name() const { return name_; }
  Tokens source_kind() const { return Tokens::chars; }
  Tokens target_kind() const { return Tokens::chars; }
  // Every token that can occur, for the vocabularies.
  std::vector<std::string> source_tokens() const;
  std::vector<std::string> target_tokens() const { return source_tokens(); }

  // n training pairs; a length of L is drawn with probability proportional to L.
  std::vector<TextPair> draw(std::size_t n, Rng& rng) const;
  // The same at every call, shuffled, without duplicates; equally many of each length as far as
  // there are enough words of that length. Fewer than `n` only when there are no more.
  std::vector<TextPair> dev(std::size_t n = 500) const;
  std::vector<TextPair> test(std::size_t n = 1000) const;

 private:
  std::string name_;
  Sentence (*target_)(const Sentence&);
  std::size_t max_length_;
};

// "copy" or "reverse". Throws Error for another name, listing the known, and for max_length 0.
Task make_task(std::string_view name, std::size_t max_length = 10);

}  // namespace regrad::seq2seq
