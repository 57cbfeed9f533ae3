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
