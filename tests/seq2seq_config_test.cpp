#include <string>

#include <doctest/doctest.h>

#include "examples/seq2seq/config.h"
#include "tests/nn_check.h"

using namespace regrad;
using namespace regrad::seq2seq;
using regrad::testing::contains;
using regrad::testing::message_of;
using Json = nlohmann::ordered_json;

namespace {

std::string message_for(const Json& given) {
  return message_of([&] { make_config(given); });
}

}  // namespace

TEST_CASE("defaults depend on what is trained on, and on the kind of model") {
  const Config task = make_config({{"task", "copy"}});
  CHECK(task.dropout == 0.3);
  CHECK(task.reward == "token");
  CHECK(task.label_smoothing == 0);
  CHECK(task.hidden == 64);
  CHECK(task.source_tokens == "chars");
  CHECK(task.steps > 0);
  const Config files = make_config({{"train", "a.tsv"}, {"dev", "b.tsv"}});
  CHECK(files.hidden == 256);
  CHECK(files.embedding == 128);
  CHECK(files.dropout == 0.4);
  CHECK(files.label_smoothing == 0.1);
  CHECK(files.batch == 24);
  CHECK(files.learning_rate == 1e-3);
  CHECK(files.epochs > 0);
  CHECK(files.source_tokens == "words");
  CHECK(files.concatenate);
  CHECK(files.decoder == "luong");
  CHECK(files.variational_dropout);
  const auto with = [](const char* name, const Json& value) {
    return make_config({{"train", "a.tsv"}, {"dev", "b.tsv"}, {name, value}});
  };
  const Config transformer = with("architecture", "transformer");
  CHECK(transformer.decoder == "bahdanau");
  CHECK(transformer.weight_dropout == 0);
  CHECK_FALSE(transformer.concatenate);
  CHECK(with("attention", "none").decoder == "bahdanau");
  CHECK(with("attention", "none").layers == files.layers);
  CHECK_FALSE(with("dropout", 0).variational_dropout);
  CHECK_FALSE(with("dropout", 0.0).variational_dropout);
  CHECK_FALSE(with("concatenate", false).concatenate);
  CHECK(with("decoder", "bahdanau").decoder == "bahdanau");
}

TEST_CASE("one limit takes the place of the other") {
  const Json files = {{"train", "a"}, {"dev", "b"}};
  Json by_steps = files;
  by_steps["steps"] = 7;
  CHECK(make_config(by_steps).steps == 7);
  CHECK(make_config(by_steps).epochs == 0);
}

TEST_CASE("a configuration survives JSON") {
  Config config = make_config({{"train", "a \"quoted\" ñame"}, {"dev", "b"}});
  config.learning_rate = 0.1 + 0.2;
  config.seed = 18446744073709551615u;
  const Json json = Json::parse(to_json(config).dump());
  CHECK(to_json(config_from_json(json)) == to_json(config));
  CHECK(config_from_json(json).seed == config.seed);
  CHECK(config_from_json(json).learning_rate == config.learning_rate);
}

TEST_CASE("values that cannot work are errors that name the option") {
  const auto with = [](const char* name, const Json& value) {
    return message_for({{"task", "copy"}, {name, value}});
  };
  CHECK(with("hidden", 0) == "--hidden must be from 1 to 65536, not 0");
  CHECK(contains(with("hidden", -5), "not -5"));
  CHECK(contains(with("layers", 0), "--layers"));
  CHECK(contains(with("embedding", 0), "--embedding"));
  CHECK(contains(with("batch", 0), "--batch"));
  CHECK(contains(with("patience", 0), "--patience"));
  CHECK(contains(with("threads", 0), "--threads"));
  CHECK(contains(with("steps", -1), "--steps"));
  CHECK(contains(with("dropout", 1.0), "--dropout must be at least 0 and below 1"));
  CHECK(contains(with("label-smoothing", -0.1), "--label-smoothing"));
  CHECK(contains(with("learning-rate", 0.0), "--learning-rate"));
  CHECK_THROWS_AS(make_config({{"task", "copy"}, {"hidden", 0}}), UsageError);
  CHECK_THROWS_AS(make_config({{"task", "copy"}, {"dropout", 1.0}}), UsageError);
  CHECK_THROWS_AS(make_config({{"task", "copy"}, {"temperature", 0.0}}), UsageError);
}

TEST_CASE("options that do not go together are usage errors") {
  const Json wrong[] = {Json::object(),
                        {{"train", "a"}},
                        {{"dev", "a"}},
                        {{"task", "copy"}, {"train", "a"}},
                        {{"task", "copy"}, {"epochs", 3}},
                        {{"task", "copy"}, {"source-tokens", "words"}}};
  for (const Json& given : wrong) {
    CAPTURE(given.dump());
    CHECK_THROWS_AS(make_config(given), UsageError);
  }
}

TEST_CASE("a damaged configuration is a named error") {
  const Json good = to_json(make_config({{"task", "copy"}}));
  const auto with = [&](const char* name, const Json& value) {
    Json json = good;
    json[name] = value;
    return message_of([&] { config_from_json(json); });
  };
  CHECK(contains(with("hidden", "many"), "`hidden` of the configuration cannot be \"many\""));
  CHECK(contains(with("hidden", 1.5), "hidden"));
  CHECK(contains(with("seed", -1), "seed"));
  CHECK(contains(with("dropout", nullptr), "dropout"));
  CHECK(contains(with("cell", "spiking"), "`cell` of the configuration cannot be \"spiking\""));
  CHECK(contains(with("colour", "red"), "unknown entry, perhaps of a newer program: `colour`"));
  CHECK(contains(message_of([] { config_from_json(Json::array()); }), "no JSON object"));
  Json short_one = good;
  for (const char* newer :
       {"layers", "variational-dropout", "weight-dropout", "learned-initial", "positions",
        "longest", "norm", "concatenate", "min-count", "vocabulary-size"}) {
    CHECK(short_one.erase(newer) == 1);
  }
  CHECK(to_json(config_from_json(short_one)) == good);
}

TEST_CASE("a resume may change limits, patience and threads, and nothing else") {
  const Config saved = make_config({{"task", "reverse"}, {"hidden", 32}});
  const Config longer =
      resumed_config(saved, {{"steps", 9}, {"patience", 2}, {"threads", 3}, {"hidden", 32}});
  CHECK(longer.steps == 9);
  CHECK(longer.patience == 2);
  CHECK(longer.threads == 3);
  CHECK(longer.hidden == 32);
  const auto message_of_change = [&](const char* name, const Json& value) {
    return message_of([&] { resumed_config(saved, {{name, value}}); });
  };
  CHECK(contains(message_of_change("hidden", 64), "--hidden 64 would be another run"));
  CHECK(contains(message_of_change("hidden", 64), "begun with 32"));
  CHECK(contains(message_of_change("seed", 2), "--seed 2"));
  CHECK(contains(message_of_change("task", "copy"), "--task"));
  CHECK(contains(message_of_change("learning-rate", 0.5), "--learning-rate 0.5"));
}

TEST_CASE("options that belong to another mechanism are usage errors, ranges come first") {
  const auto message = [](const Json& more) {
    Json given{{"task", "reverse"}};
    given.update(more);
    return message_of([&] { make_config(given); });
  };
  CHECK(
      contains(message({{"architecture", "transformer"}, {"heads", 0}}), "--heads must be from 1"));
  CHECK(contains(message({{"heads", 2}}), "--heads is for"));
  for (const Json& more :
       {Json{{"positions", "learned"}}, Json{{"norm", "post"}}, Json{{"longest", 9}}}) {
    CHECK(contains(message(more), "--norm are for --architecture transformer"));
  }
  for (const Json& more : {Json{{"variational-dropout", true}, {"dropout", 0.1}},
                           Json{{"weight-dropout", 0.1}}, Json{{"learned-initial", true}}}) {
    CHECK(message(more) == "");
    Json with_transformer{{"architecture", "transformer"}};
    with_transformer.update(more);
    CHECK(
        contains(message(with_transformer), "--learned-initial are for --architecture recurrent"));
  }
  for (const Json& more :
       {Json{{"window", 10}}, Json{{"temperature", 0.5}}, Json{{"fixed-sharpening", true}},
        Json{{"entropy", 0.1}}, Json{{"reward", "sentence"}}, Json{{"fixed-vector", "initial"}},
        Json{{"embedding", 64}}}) {
    Json with_transformer{{"architecture", "transformer"}};
    CHECK(message(with_transformer) == "");
    with_transformer.update(more);
    CHECK(contains(message(with_transformer),
                   "--" + more.begin().key() + " is for --architecture recurrent"));
  }
  CHECK(message_for({{"train", "a"}, {"dev", "b"}, {"architecture", "transformer"}}) == "");
  CHECK(contains(message({{"variational-dropout", true}, {"dropout", 0.0}}),
                 "no effect without --dropout"));
  CHECK(contains(message({{"concatenate", true}}), "--concatenate is for --train"));
  for (const Json& more : {Json{{"min-count", 2}}, Json{{"vocabulary-size", 9}}}) {
    CHECK(contains(message(more), "--min-count and --vocabulary-size are for --train"));
  }
  CHECK(contains(message({{"min-count", 0}}), "--min-count must be from 1"));
  CHECK(contains(message({{"vocabulary-size", -1}}), "--vocabulary-size must be from 0"));
  CHECK(contains(message({{"weight-dropout", 1.0}}), "--weight-dropout must be"));
  CHECK(contains(message({{"architecture", "transformer"}, {"longest", 9}}),
                 "--longest is for --positions learned"));
  CHECK(contains(message({{"architecture", "transformer"}, {"longest", 0}}), "--longest must be"));
  CHECK(contains(message({{"fixed-sharpening", true}}), "--attention content"));
  CHECK(contains(message({{"window", 3}}), "--alignment local-m"));
  CHECK(contains(message({{"temperature", 0.5}}), "hard-gumbel"));
  CHECK(contains(message({{"reward", "sentence"}}), "hard-reinforce"));
  CHECK(contains(message({{"attention", "dot"}, {"decoder-hidden", 5}}), "--attention general"));
  CHECK(contains(message({{"momentum", 0.9}}), "--optimizer sgd"));
  CHECK(contains(message({{"schedule", "inverse-sqrt"}}), "--warmup"));
  CHECK(contains(message({{"warmup", 5}}), "--schedule"));
  const Config cosine =
      make_config({{"task", "reverse"}, {"schedule", "cosine"}, {"warmup", 100}, {"steps", 12}});
  CHECK(contains(message_of([&] { check_schedule(cosine, 12); }), "--warmup 100"));
}
