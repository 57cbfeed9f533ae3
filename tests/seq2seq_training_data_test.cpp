#include <string>

#include <doctest/doctest.h>

#include "examples/seq2seq/model_file.h"
#include "examples/seq2seq/report.h"
#include "examples/seq2seq/training_data.h"
#include "tests/nn_check.h"

using namespace regrad;
using namespace regrad::seq2seq;
using regrad::testing::contains;
using regrad::testing::message_of;
using regrad::testing::TemporaryFolder;
using Json = nlohmann::ordered_json;

namespace {

// Writes the two files; returns the options.
Json files_in(const TemporaryFolder& folder, const std::string& train, const std::string& dev) {
  write_file(folder / "train.tsv", train);
  write_file(folder / "dev.tsv", dev);
  return {{"train", (folder / "train.tsv").string()}, {"dev", (folder / "dev.tsv").string()}};
}

}  // namespace

TEST_CASE("a target that a saved model could not tell of is an error") {
  const TemporaryFolder folder;
  std::string target;
  for (Index i = 0; i <= most_target_tokens; ++i) target += "a ";
  const Json options = files_in(folder, "a\tb\na\t" + target + "\n", "a\tb\n");
  CHECK(contains(message_of([&] { make_training_data(make_config(options)); }),
                 "train.tsv: line 2: a target of 1000001 tokens"));
}

TEST_CASE("a sentence that learned positions do not reach is named by its line") {
  const TemporaryFolder folder;
  Json options = files_in(folder, "a\tb\na b c d\te f\n", "a\tb\na\tb\na\tb c d e f\n");
  options.update({{"architecture", "transformer"}, {"positions", "learned"}});
  const auto message_with = [&](int longest) {
    options["longest"] = longest;
    return message_of([&] { make_training_data(make_config(options)); });
  };
  CHECK(contains(message_with(3), "train.tsv: line 2 takes 4: give a larger --longest"));
  CHECK(contains(message_with(5), "dev.tsv: line 3 takes 6"));
  CHECK(message_with(6).empty());
}

TEST_CASE("rare tokens are left out of the vocabularies on request, and not otherwise") {
  const TemporaryFolder folder;
  const Json options = files_in(folder, "a b c\tx x\na b\tx y\na\tz y\n", "a c\tx z\n");
  const auto with = [&](const Json& more) {
    Json given = options;
    given.update(more);
    return make_training_data(make_config(given));
  };
  CHECK(with(Json::object()).source == Vocabulary({"a", "b", "c"}));
  const TrainingData frequent = with({{"min-count", 2}});
  CHECK(frequent.source == Vocabulary({"a", "b"}));
  CHECK(frequent.target == Vocabulary({"x", "y"}));
  REQUIRE(frequent.warnings.size() == 2);
  CHECK(contains(frequent.warnings[0], "1 source tokens of dev are not in the vocabulary"));
  CHECK(contains(frequent.warnings[1], "1 target tokens of dev are not in the vocabulary"));
  CHECK(with({{"vocabulary-size", 1}}).source == Vocabulary({"a"}));
  CHECK(contains(message_of([&] {
                   with({{"min-count", 4}});
                 }),
                 "--min-count 4: no source token of"));
}
