#include "examples/seq2seq/task.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ops/error.h"

namespace regrad::seq2seq {
namespace {

constexpr std::uint64_t alphabet = 26;

enum class Part { dev, test, train };

// The finaliser of SplitMix64 (Steele, Lea and Flood 2014).
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

Part part_of(const Sentence& word) {
  std::uint64_t hash = 0x5265677261640001u;
  for (const std::string& letter : word) {
    hash = mix(hash + static_cast<unsigned char>(letter.front()));
  }
  switch (hash % 20) {
    case 0:
      return Part::dev;
    case 1:
      return Part::test;
    default:
      return Part::train;
  }
}

std::string letter(std::uint64_t index) {
  return std::string(1, static_cast<char>('a' + static_cast<int>(index)));
}

Sentence random_word(std::size_t length, Rng& rng) {
  Sentence word(length);
  std::ranges::generate(word, [&] { return letter(rng.below(alphabet)); });
  return word;
}

std::size_t random_length(std::size_t max_length, Rng& rng) {
  std::uint64_t rest = rng.below(max_length * (max_length + 1) / 2);
  std::size_t length = 1;
  while (rest >= length) rest -= length++;
  return length;
}

// Up to n different words of this part and length, fewer when there are no more: so many draws that
// the chance of missing one that exists is e^-40.
std::set<Sentence> held_out(Part part, std::size_t length, std::size_t n, Rng& rng) {
  const double draws = 40 * std::pow(static_cast<double>(alphabet), static_cast<double>(length));
  std::set<Sentence> words;
  for (double draw = 0; draw < draws && words.size() < n; ++draw) {
    Sentence word = random_word(length, rng);
    if (part_of(word) == part) words.insert(std::move(word));
  }
  return words;
}

std::vector<TextPair> held_out_pairs(Part part, std::size_t n, std::size_t max_length,
                                     Sentence (*target)(const Sentence&)) {
  Rng rng(0, static_cast<std::uint64_t>(part));
  std::vector<TextPair> pairs;
  for (std::size_t length = 1; length <= max_length; ++length) {
    const std::size_t share = (n - pairs.size()) / (max_length - length + 1);
    for (const Sentence& word : held_out(part, length, share, rng)) {
      pairs.push_back({word, target(word), 0});
    }
  }
  rng.shuffle(std::span(pairs));
  return pairs;
}

Sentence copied(const Sentence& word) { return word; }
Sentence reversed(const Sentence& word) { return {word.rbegin(), word.rend()}; }

}  // namespace

Task::Task(std::string name, Sentence (*target)(const Sentence& source), std::size_t max_length)
    : name_(std::move(name)), target_(target), max_length_(max_length) {
  if (max_length == 0) fail("task {}: the longest word has 0 letters; allow at least 1", name_);
}

std::vector<std::string> Task::source_tokens() const {
  std::vector<std::string> letters;
  for (std::uint64_t i = 0; i < alphabet; ++i) letters.push_back(letter(i));
  return letters;
}

std::vector<TextPair> Task::draw(std::size_t n, Rng& rng) const {
  std::vector<TextPair> pairs;
  pairs.reserve(n);
  while (pairs.size() < n) {
    const std::size_t length = random_length(max_length_, rng);
    Sentence word = random_word(length, rng);
    while (part_of(word) != Part::train) word = random_word(length, rng);
    Sentence target = target_(word);
    pairs.push_back({std::move(word), std::move(target), 0});
  }
  return pairs;
}

std::vector<TextPair> Task::dev(std::size_t n) const {
  return held_out_pairs(Part::dev, n, max_length_, target_);
}

std::vector<TextPair> Task::test(std::size_t n) const {
  return held_out_pairs(Part::test, n, max_length_, target_);
}

Task make_task(std::string_view name, std::size_t max_length) {
  if (name == "copy") return Task("copy", copied, max_length);
  if (name == "reverse") return Task("reverse", reversed, max_length);
  fail("task: '{}' is not known; choose copy or reverse", name);
}

}  // namespace regrad::seq2seq
