#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "examples/seq2seq/vocabulary.h"
#include "ops/rng.h"
#include "tests/nn_check.h"

using namespace regrad;
using namespace regrad::seq2seq;
using nlohmann::json;
using regrad::testing::contains;
using regrad::testing::message_of;

namespace {

std::vector<TextPair> sources(const std::vector<Sentence>& sentences) {
  std::vector<TextPair> pairs;
  for (const Sentence& sentence : sentences) pairs.push_back({sentence, {"target"}, 0});
  return pairs;
}

Vocabulary build(const std::vector<Sentence>& sentences, const VocabularyLimits& limits = {}) {
  return Vocabulary::build(sources(sentences), &TextPair::source, limits);
}

Sentence tokens_of(const Vocabulary& vocabulary) { return vocabulary.to_json().get<Sentence>(); }

const std::vector<Id> no_ids;

}  // namespace

TEST_CASE("specials come first, then tokens by count and bytes") {
  const auto vocabulary = build({{"b", "a", "c"}, {"b", "ä", "Z"}, {"c", "b"}});
  CHECK(tokens_of(vocabulary) ==
        Sentence{"<pad>", "<unk>", "<bos>", "<eos>", "b", "c", "Z", "a", "ä"});
  CHECK(Vocabulary::pad == 0);
  CHECK(Vocabulary::unk == 1);
  CHECK(Vocabulary::bos == 2);
  CHECK(Vocabulary::eos == 3);
}

TEST_CASE("each side has its own tokens") {
  const std::vector<TextPair> pairs = {{{"a"}, {"x", "y"}, 1}};
  CHECK(Vocabulary::build(pairs, &TextPair::source).size() == 5);
  CHECK(Vocabulary::build(pairs, &TextPair::target).encode({"x", "y", "a"}) ==
        std::vector<Id>{4, 5, 1});
}

TEST_CASE("the order of the text does not matter") {
  Sentence text;
  for (int i = 0; i < 300; ++i) text.insert(text.end(), 1 + i % 3, fmt::format("w{}", i));
  const auto expected = build({text});
  Rng rng(3);
  for (int i = 0; i < 5; ++i) {
    rng.shuffle(std::span(text));
    CHECK(build({text}) == expected);
  }
}

TEST_CASE("limits drop rare tokens, which become <unk>") {
  const std::vector<Sentence> text = {{"a", "a", "a", "b", "b", "c", "d"}};
  CHECK(build(text, {2, 0}).size() == 6);
  CHECK(build(text, {2, 0}).encode({"a", "b", "c"}) == std::vector<Id>{4, 5, 1});
  CHECK(build(text, {1, 3}).size() == 7);
  CHECK(build(text, {1, 3}).encode({"c", "d"}) == std::vector<Id>{6, 1});
  CHECK(build(text, {1, 100}).size() == 8);
  CHECK(build(text, {9, 0}).size() == 4);
  CHECK(build({}).size() == 4);
}

TEST_CASE("ids and tokens turn into each other") {
  const auto vocabulary = build({{"a", "b"}});
  CHECK(vocabulary.encode({"b", "a", "?", ""}) == std::vector<Id>{5, 4, 1, 1});
  CHECK(vocabulary.decode(std::vector<Id>{5, 1, 3}) == Sentence{"b", "<unk>", "<eos>"});
  CHECK(vocabulary.encode({}) == no_ids);
  CHECK(vocabulary.decode(no_ids).empty());
  CHECK(vocabulary.contains("a"));
  CHECK_FALSE(vocabulary.contains("<unk>"));
}

TEST_CASE("an id that is none is an error") {
  const auto vocabulary = build({{"a"}});
  CHECK(contains(message_of([&] {
                   vocabulary.decode(std::vector<Id>{4, 5});
                 }),
                 "id 5 at 1 is outside of [0, 5)"));
  CHECK(contains(message_of([&] { vocabulary.decode(std::vector<Id>{-1}); }), "id -1 at 0"));
}

TEST_CASE("a token spelled like a special is none") {
  const Sentence literal = {"<pad>", "<unk>", "<bos>", "<eos>"};
  CHECK(build({{"a"}}).encode(literal) == std::vector<Id>(4, Vocabulary::unk));
  const auto vocabulary = build({literal});
  CHECK(vocabulary.size() == 8);
  const auto ids = vocabulary.encode(literal);
  CHECK(*std::ranges::min_element(ids) == 4);
  CHECK(vocabulary.decode(ids) == literal);
  CHECK(Vocabulary::from_json(vocabulary.to_json()) == vocabulary);
  CHECK(Vocabulary::from_json(vocabulary.to_json()).encode(literal) == ids);
}

TEST_CASE("a vocabulary survives JSON text") {
  const auto vocabulary = build({{"a", "ä", "漢", "\"", "\\", "\u00A0", "e\u0301", "\u2028", " "}});
  const auto restored = Vocabulary::from_json(json::parse(vocabulary.to_json().dump()));
  CHECK(restored == vocabulary);
  CHECK(restored.encode({"漢", "e\u0301", " "}) == vocabulary.encode({"漢", "e\u0301", " "}));
}

TEST_CASE("JSON that to_json does not write is an error") {
  const auto fault = [](const char* text) {
    return message_of([&] { Vocabulary::from_json(json::parse(text)); });
  };
  CHECK(contains(fault("{}"), "JSON object"));
  CHECK(contains(fault("null"), "JSON null"));
  CHECK(contains(fault("[]"), "token 0 must be <pad>"));
  CHECK(contains(fault(R"(["<pad>", "<unk>", "<bos>"])"), "token 3 must be <eos>"));
  CHECK(contains(fault(R"(["<unk>", "<pad>", "<bos>", "<eos>"])"), "token 0 must be <pad>"));
  CHECK(contains(fault(R"(["<pad>", "<unk>", "<bos>", "<eos>", 7])"), "token 4 is a JSON number"));
  CHECK(contains(fault(R"(["<pad>", "<unk>", "<bos>", "<eos>", ""])"), "token 4 is empty"));
  CHECK(contains(fault(R"(["<pad>", "<unk>", "<bos>", "<eos>", "a", "b", "a"])"),
                 "'a' is there twice, as 4 and 6"));
  CHECK(contains(fault(R"(["<pad>", "<unk>", "<bos>", "<eos>", "a\u0000"])"), "token 4, byte 2"));
}
