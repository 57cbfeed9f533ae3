#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "examples/seq2seq/decode.h"
#include "examples/seq2seq/model_file.h"
#include "ops/storage.h"
#include "tests/nn_check.h"

using namespace regrad;
using namespace regrad::seq2seq;
using regrad::testing::contains;
using regrad::testing::message_of;
using regrad::testing::TemporaryFolder;

namespace {

Translator tiny_translator() {
  Config config = make_config({{"train", "a"}, {"dev", "b"}, {"hidden", 6}, {"embedding", 4}});
  Translator translator(config, Vocabulary({"x", "y"}), Vocabulary({"u", "<unk>", "w"}));
  translator.longest_target = 3;
  return translator;
}

std::vector<Sentence> outputs(const Translator& translator, const std::vector<Sentence>& sources) {
  std::vector<Sentence> tokens;
  for (const Translation& translation : translate(translator, sources)) {
    tokens.push_back(translation.tokens);
  }
  return tokens;
}

Parameter output_bias(const Translator& translator) {
  for (const auto& [path, parameter] : parameters(*translator.model)) {
    if (path == "decoder.output.bias") return parameter;
  }
  return {};
}

}  // namespace

TEST_CASE("one file is enough to translate as before") {
  const TemporaryFolder folder;
  const Translator translator = tiny_translator();
  save_safetensors(folder / "m", to_safetensors(translator));
  const Translator loaded = load_translator(folder / "m");
  CHECK(to_json(loaded.config) == to_json(translator.config));
  CHECK(loaded.source == translator.source);
  CHECK(loaded.target == translator.target);
  CHECK(loaded.longest_target == 3);
  for (const auto& [path, parameter] : parameters(*translator.model)) {
    CHECK(identical(to_safetensors(loaded).tensors.at(path), parameter.value()));
  }
  const std::vector<Sentence> sources = {{"x"}, {}, {"y", "x", "?"}, {"y"}};
  CHECK(outputs(loaded, sources) == outputs(translator, sources));
  CHECK(outputs(loaded, sources)[1].empty());
}

TEST_CASE("a model of long targets is saved and loaded") {
  Translator translator = tiny_translator();
  for (const Index longest : {Index{10'001}, most_target_tokens}) {
    translator.longest_target = longest;
    CHECK(translator_from(to_safetensors(translator)).longest_target == longest);
  }
}

TEST_CASE("models of the rarer options are saved and loaded") {
  const nlohmann::ordered_json all[] = {
      {{"variational-dropout", true},
       {"weight-dropout", 0.2},
       {"learned-initial", true},
       {"embedding", 4}},
      {{"architecture", "transformer"}, {"positions", "learned"}, {"longest", 5}},
      {{"architecture", "transformer"}, {"norm", "post"}}};
  for (nlohmann::ordered_json given : all) {
    CAPTURE(given.dump());
    given.update({{"train", "a"}, {"dev", "b"}, {"hidden", 8}});
    Translator translator(make_config(given), Vocabulary({"x", "y"}), Vocabulary({"u", "w"}));
    translator.longest_target = 3;
    const SafeTensors content = to_safetensors(translator);
    const Translator loaded = translator_from(content);
    CHECK(to_json(loaded.config) == to_json(translator.config));
    CHECK(to_safetensors(loaded).tensors.size() == content.tensors.size());
    const std::vector<Sentence> sources = {{"x"}, {"y", "x", "x", "y", "x"}};
    CHECK(outputs(loaded, sources) == outputs(translator, sources));
  }
}

TEST_CASE("a translation is no longer than the learned positions, a longer source is an error") {
  Translator translator(make_config({{"train", "a"},
                                     {"dev", "b"},
                                     {"hidden", 8},
                                     {"architecture", "transformer"},
                                     {"positions", "learned"},
                                     {"longest", 5}}),
                        Vocabulary({"x", "y"}), Vocabulary({"u", "w"}));
  translator.longest_target = 3;
  for (const auto& [path, parameter] : parameters(*translator.model)) {
    if (path == "output.bias") parameter.assign(tensor({0, 0, 0, 0, 100, 0}));  // "u" for ever
  }
  const std::vector<Sentence> source = {{"x"}};
  CHECK(translate(translator, source)[0].tokens == Sentence(4, "u"));
  CHECK(translate(translator, source, {.beam = 3})[0].tokens.size() <= 4);
  CHECK(contains(message_of([&] { outputs(translator, {Sentence(6, "x")}); }),
                 "the source takes 6 positions, and this model has learned 5: shorten it, or train "
                 "with a larger --longest"));
  CHECK(contains(message_of([&] {
                   outputs(translator, {{"x"}, {}, Sentence(6, "x")});
                 }),
                 "source line 3 takes 6 positions"));
  CHECK(contains(message_of([&] {
                   evaluate(translator, {{{"x"}, Sentence(5, "u"), 7}});
                 }),
                 "the target of line 7 takes 6 positions"));
  CHECK(contains(message_of([&] { force(translator, {"x"}, Sentence(5, "u")); }),
                 "the target takes 6 positions"));
  CHECK(evaluate(translator, {{Sentence(5, "x"), Sentence(4, "u"), 7}}).hypotheses.size() == 1);
}

TEST_CASE("translations keep the order of their sources and do not depend on each other") {
  const Translator translator = tiny_translator();
  std::vector<Sentence> sources;
  for (std::size_t i = 0; i < 150; ++i) sources.emplace_back(i % 7, i % 2 ? "x" : "y");
  const std::vector<Sentence> together = outputs(translator, sources);
  for (std::size_t i = 0; i < 20; ++i) CHECK(outputs(translator, {sources[i]})[0] == together[i]);
}

TEST_CASE("a thousand decoded sentences ask the system for memory at the start only") {
  const Translator translator = tiny_translator();
  const std::vector<Sentence> sources = {{"x", "y"}, {"y"}, {"x", "x", "x"}, {"y", "y"}};
  for (int i = 0; i < 10; ++i) outputs(translator, sources);
  const PoolStats warm = pool_stats();
  for (int i = 0; i < 250; ++i) outputs(translator, sources);
  CHECK(pool_stats().system_allocations == warm.system_allocations);
  CHECK(pool_stats().bytes_in_use == warm.bytes_in_use);
}

TEST_CASE("a translation that goes in circles is cut at its limit, and says so") {
  const Translator translator = tiny_translator();
  Tensor bias = zeros({7});
  bias.mutable_data<float>()[4] = 100;  // "u" for ever
  output_bias(translator).assign(bias);
  const std::vector<Sentence> sources = {{"x"}, Sentence(10, "y"), Sentence(500, "y")};
  const std::vector<Translation> translations = translate(translator, sources);
  CHECK_FALSE(translations[0].finished);
  CHECK(translations[0].tokens == Sentence(2 * 3 + 10, "u"));
  CHECK(translations[1].tokens == Sentence(2 * 10 + 10, "u"));
  CHECK(translations[1].weights.shape() == Shape{30, 10});
  CHECK(translations[2].tokens == Sentence(2 * 30 + 10, "u"));  // ten times what training had
  CHECK(heat_map(sources[1], translations[1]).at(29, 9) >= 0);
}

TEST_CASE("evaluation counts what was translated and how likely the reference was") {
  const Translator translator = tiny_translator();
  Tensor bias = zeros({7});
  bias.mutable_data<float>()[Vocabulary::eos] = 100;  // nothing, with certainty
  output_bias(translator).assign(bias);
  const std::vector<TextPair> pairs = {{{"x"}, {}, 0}, {{"y", "x"}, {"u"}, 0}};
  const Evaluation evaluation = evaluate(translator, pairs);
  const Scores scores = evaluation.metrics.overall();
  CHECK(scores.exact_match == 0.5);
  CHECK(scores.examples == 2);
  // <eos> costs nothing, u about 100, and <eos> nothing: three predictions.
  CHECK(scores.nll == doctest::Approx(100.0 / 3).epsilon(0.05));
  CHECK(evaluation.hypotheses[1].empty());
  CHECK_FALSE(evaluate(translator, pairs, {}, [] { return true; }));
}

TEST_CASE("content that is no such model is a named error") {
  const SafeTensors good = to_safetensors(tiny_translator());
  const auto message_with = [&](const std::string& key, const std::string& value) {
    SafeTensors content = good;
    content.metadata[key] = value;
    return message_of([&] { translator_from(content); });
  };
  CHECK(contains(message_with("format", "regrad seq2seq 99"), "regrad seq2seq 99"));
  CHECK(contains(message_with("config", "{"), "`config` is no JSON"));
  CHECK(contains(message_with("config", "[]"), "no JSON object"));
  CHECK(contains(message_with("longest_target", "-1"), "longest_target"));
  CHECK(contains(message_with("longest_target", "99999999999999"), "longest_target"));
  CHECK(message_with("source_vocabulary", "[1]") != "");
  CHECK(message_with("target_vocabulary", "{}") != "");
  CHECK(contains(message_with("target_vocabulary", Vocabulary({"u"}).to_json().dump()),
                 "decoder.embedding.weight"));
  SafeTensors bare;
  CHECK(contains(message_of([&] { translator_from(bare); }), "no `format`"));
}

TEST_CASE("metadata that nests deeply is refused before anything is printed or compared") {
  SafeTensors content = to_safetensors(tiny_translator());
  const std::size_t depth = 1'000'000;
  const std::string nested = std::string(depth, '[') + std::string(depth, ']');
  for (const char* key : {"config", "source_vocabulary", "target_vocabulary", "longest_target"}) {
    for (const std::string& value : {nested, "{\"hidden\":" + nested + "}"}) {
      SafeTensors deep = content;
      deep.metadata[key] = value;
      CHECK(contains(message_of([&] { translator_from(deep); }),
                     std::string("the metadata `") + key + "` is no JSON, or nests too deeply"));
    }
  }
}

TEST_CASE("the file decides how much memory a model may take") {
  SafeTensors content = to_safetensors(tiny_translator());
  for (const auto& change : {std::pair{"hidden", 65536}, {"embedding", 65536}, {"layers", 64}}) {
    auto config =
        nlohmann::ordered_json::parse(to_safetensors(tiny_translator()).metadata["config"]);
    config[change.first] = change.second;
    content.metadata["config"] = config.dump();
    CAPTURE(change.first);
    CHECK(message_of([&] { translator_from(content); }) != "");
  }
}

TEST_CASE("missing, unexpected and wrong tensors are errors") {
  SafeTensors content = to_safetensors(tiny_translator());
  content.tensors.erase("decoder.attention.v");
  CHECK(contains(message_of([&] { translator_from(content); }), "decoder.attention.v"));
  content = to_safetensors(tiny_translator());
  content.tensors["extra"] = zeros({2});
  CHECK(contains(message_of([&] { translator_from(content); }), "extra"));
  content = to_safetensors(tiny_translator());
  content.tensors.at("encoder.embedding.weight") = zeros({6, 4}, DType::f64);
  CHECK(contains(message_of([&] { translator_from(content); }), "encoder.embedding.weight"));
}

TEST_CASE("<pad>, <unk> and <bos> are never produced, however likely") {
  const Translator translator = tiny_translator();
  Tensor bias = zeros({7});
  for (const Id id : {Vocabulary::pad, Vocabulary::unk, Vocabulary::bos}) {
    bias.mutable_data<float>()[id] = 100;
  }
  output_bias(translator).assign(bias);
  for (const Index beam : {1, 3}) {
    const std::vector<Sentence> sources{{"x"}, {"y", "x"}};
    for (const Translation& found : translate(translator, sources, {.beam = beam})) {
      for (const std::string& token : found.tokens) CHECK(token != "<pad>");
    }
  }
}

TEST_CASE("a beam wider than the vocabulary finds texts only") {
  const Translator translator = tiny_translator();
  const std::vector<Sentence> sources{{"x"}, {"y", "x"}};
  for (const DecodeOptions& options :
       {DecodeOptions{.beam = 50, .n_best = 50},
        DecodeOptions{.beam = 50, .n_best = 50, .coverage_penalty = 1}}) {
    for (const auto& ranked : translate_n_best(translator, sources, options)) {
      CHECK(ranked.size() == 50);
      for (const Translation& found : ranked) {
        CHECK(std::isfinite(found.score));
        for (const std::string& token : found.tokens) CHECK((token != "<pad>" && token != "<bos>"));
      }
    }
  }
}

TEST_CASE("samples are texts only, however hot") {
  const Translator translator = tiny_translator();
  const std::vector<Sentence> sources(50, {"x"});
  for (const Translation& found :
       translate(translator, sources, {.sample = true, .temperature = 1000})) {
    CHECK(std::isfinite(found.log_probability));
    for (const std::string& token : found.tokens) CHECK((token != "<pad>" && token != "<bos>"));
  }
}

TEST_CASE("an unknown word is replaced by the source word that it looked at") {
  const Translator translator = tiny_translator();
  Tensor bias = zeros({7});
  bias.mutable_data<float>()[Vocabulary::unk] = 100;
  output_bias(translator).assign(bias);
  const Sentence source{"x", "y"};
  const Translation found = translate(translator, {&source, 1}, {.replace_unknown = true}).front();
  REQUIRE(!found.tokens.empty());
  for (const std::string& token : found.tokens) CHECK((token == "x" || token == "y"));
}

TEST_CASE("a forced target has the probability that evaluation gives it") {
  const Translator translator = tiny_translator();
  const Sentence source{"x", "y", "x"}, target{"u", "w"};
  const Translation forced = force(translator, source, target);
  CHECK(forced.tokens == target);
  CHECK(forced.weights.shape() == Shape{2, 3});
  const Scores scores = evaluate(translator, {{source, target, 0}}).metrics.overall();
  CHECK(-forced.log_probability / 3 == doctest::Approx(scores.nll).epsilon(1e-6));
}

TEST_CASE("options of decoding that cannot be are usage errors") {
  const Translator translator = tiny_translator();
  const Sentence source{"x"};
  auto message = [&](const DecodeOptions& options) {
    return message_of([&] { translate(translator, {&source, 1}, options); });
  };
  CHECK(contains(message({.beam = 0}), "--beam"));
  CHECK(contains(message({.beam = 2, .n_best = 3}), "--n-best"));
  CHECK(contains(message({.beam = 2, .sample = true}), "--sample"));
  CHECK(contains(message({.beam = 2, .length_penalty = -1}), "--length-penalty must"));
  CHECK(contains(message({.beam = 2, .coverage_penalty = -1}), "--coverage-penalty must"));
  CHECK(contains(message({.sample = true, .temperature = 0}), "--temperature must"));
  CHECK(contains(message({.sample = true, .top_k = -1}), "--top-k must"));
  CHECK(contains(message({.sample = true, .top_p = 0}), "--top-p must"));
  CHECK(contains(message({.length_penalty = 1}), "a --beam above 1"));
  CHECK(contains(message({.top_k = 3}), "for --sample"));
}

TEST_CASE("equal lines are drawn differently, one by one as all at once") {
  const Translator translator = tiny_translator();
  const std::vector<Sentence> sources(6, Sentence{"x", "y"});
  const auto together = translate(translator, sources, {.sample = true, .seed = 3});
  std::set<Sentence> different;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const DecodeOptions options{.sample = true, .seed = 3, .before = i};
    CHECK(translate(translator, {&sources[i], 1}, options).front().tokens == together[i].tokens);
    different.insert(together[i].tokens);
  }
  CHECK(different.size() > 1);
}

TEST_CASE("a model that PyTorch trained and saved gives PyTorch's translations") {
  const std::string path = REGRAD_SOURCE_DIR "/tests/golden/translator.safetensors";
  const Translator translator = load_translator(path);
  const std::string told = load_safetensors(path).metadata.at("translations");
  std::vector<Sentence> sources, expected;
  std::vector<double> log_probabilities;
  for (const auto& entry : nlohmann::json::parse(told)) {
    sources.push_back(tokenize(entry[0].get<std::string>(), Tokens::chars));
    expected.push_back(tokenize(entry[1].get<std::string>(), Tokens::chars));
    log_probabilities.push_back(entry[2]);
  }
  REQUIRE(sources.size() == 40);
  const std::vector<Translation> translations = translate(translator, sources);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    CAPTURE(join(sources[i], Tokens::chars));
    CHECK(translations[i].tokens == expected[i]);
    CHECK(std::abs(translations[i].log_probability - log_probabilities[i]) < 1e-4);
  }
}
