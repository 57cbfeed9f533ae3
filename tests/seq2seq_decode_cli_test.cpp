#include <set>
#include <sstream>

#include "tests/seq2seq_process.h"

using namespace regrad;
using namespace regrad::testing;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("every kind of model trains, translates and is evaluated from the command line") {
  const Workshop shop;
  const Arguments kinds[] = {
      {"--attention", "location", "--cell", "lstm"},
      {"--attention", "general", "--decoder", "luong", "--alignment", "hard-gumbel"},
      {"--attention", "none", "--fixed-vector", "initial", "--cell", "rnn"},
      {"--alignment", "hard-marginal", "--average", "2", "--schedule", "cosine", "--warmup", "2"},
      {"--alignment", "hard-reinforce", "--optimizer", "adadelta", "--learning-rate", "1"},
      {"--architecture", "transformer", "--heads", "2", "--tied-embeddings", "--optimizer", "adamw",
       "--schedule", "inverse-sqrt", "--warmup", "3", "--accumulate", "2"}};
  int number = 0;
  for (const Arguments& kind : kinds) {
    CAPTURE(kind[1]);
    const std::string out = "run" + std::to_string(number++);
    Arguments more{"--epochs", "2"};
    more.insert(more.end(), kind.begin(), kind.end());
    const Result trained = shop.run(shop.tiny(out, more));
    CAPTURE(trained.err);
    REQUIRE(trained.status == 0);
    const std::string model = shop.path(out) + "/model.safetensors";
    CHECK(shop.run({"evaluate", "--model", model, "--data", shop.path("dev.tsv"), "--beam", "3"})
              .status == 0);
    const Result attended = shop.run({"attend", "--model", model, "abb"});
    CHECK(attended.status == 0);
    if (kind[1] != "none") continue;
    CHECK(contains(attended.err, "attends to nothing"));
    require_error(shop.run({"translate", "--model", model, "--replace-unknown"}, "ab\n"), 2,
                  "trained with --attention none");
  }
}

TEST_CASE("n-best lists are ranked, distinct and begin with the beam's translation") {
  const Workshop shop;
  const std::string model = shop.trained_model();
  const Result best = shop.run({"translate", "--model", model, "--beam", "4"}, "abab\nb\n");
  const Result all =
      shop.run({"translate", "--model", model, "--beam", "4", "--n-best", "4"}, "abab\nb\n");
  REQUIRE(best.status == 0);
  REQUIRE(all.status == 0);
  const auto lines = lines_of(all.out);
  REQUIRE(lines.size() == 8);
  std::set<std::string> distinct;
  double before = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    std::istringstream columns(lines[i]);
    std::string rank, score, text;
    std::getline(columns, rank, '\t');
    std::getline(columns, score, '\t');
    std::getline(columns, text);
    CHECK(rank == std::to_string(i + 1));
    if (i == 0) CHECK(text == lines_of(best.out)[0]);
    if (i > 0) CHECK(std::stod(score) <= before);
    before = std::stod(score);
    distinct.insert(text);
  }
  CHECK(distinct.size() == 4);
  require_error(shop.run({"translate", "--model", model, "--n-best", "4"}), 2, "--n-best");
}

TEST_CASE("samples follow their seed") {
  const Workshop shop;
  const std::string model = shop.trained_model();
  const auto drawn = [&](const char* seed) {
    return shop
        .run({"translate", "--model", model, "--sample", "--temperature", "2", "--seed", seed},
             "abab\nba\naab\n")
        .out;
  };
  CHECK(drawn("1") == drawn("1"));
  CHECK(drawn("1") != drawn("2"));
  const Result greedy = shop.run({"translate", "--model", model}, "abab\n");
  const Result one =
      shop.run({"translate", "--model", model, "--sample", "--top-k", "1"}, "abab\n");
  CHECK(one.out == greedy.out);
  require_error(shop.run({"translate", "--model", model, "--sample", "--top-p", "2"}), 2,
                "--top-p");
}

TEST_CASE("a given translation is shown with its probability") {
  const Workshop shop;
  const std::string model = shop.trained_model();
  const Result result = shop.run({"attend", "--model", model, "abb", "--target", "bba"});
  CHECK(result.status == 0);
  CHECK(lines_of(result.out).front() == "bba");
  CHECK(contains(result.out, "log probability -"));
  const Result empty = shop.run({"attend", "--model", model, "abb", "--target", ""});
  CHECK(lines_of(empty.out).front().empty());
  CHECK(contains(shop.run({"attend", "--model", model, "abb", "--target", "bxa"}).err,
                 "`x` is unknown"));
}

TEST_CASE("an unknown word is replaced by the source word that it came from") {
  const Workshop shop;
  const char* words[] = {"a", "b", "c", "d"};
  std::string train;  // copies of three words, of which one is a name that no other line has
  int name = 0;
  for (const char* one : words) {
    for (const char* other : words) {
      for (const char* order : {"N{0} {1} {2}", "{1} N{0} {2}", "{1} {2} N{0}"}) {
        const std::string text = fmt::format(fmt::runtime(order), name++, one, other);
        train += text + "\t" + text + "\n";
      }
    }
  }
  write(shop.folder / "train.tsv", train);
  write(shop.folder / "dev.tsv", "a Kim b\ta Kim b\nLou c c\tLou c c\n");
  const std::string options =
      "--min-count 2 --attention general --decoder luong --hidden 16 --embedding 16 --batch 4 "
      "--dropout 0 --average 1 --epochs 40 --patience 40 --learning-rate 0.01";
  Arguments arguments{
      "train", "--train",       shop.path("train.tsv"), "--dev", shop.path("dev.tsv"),
      "--out", shop.path("run")};
  std::istringstream stream(options);
  for (std::string option; stream >> option;) arguments.push_back(option);
  const Result trained = shop.run(arguments);
  CAPTURE(trained.err);
  REQUIRE(trained.status == 0);
  const std::string model = shop.path("run") + "/model.safetensors";
  const std::string lines = "Mia c b\na Ned d\nd b Oz\n";
  CHECK(shop.run({"translate", "--model", model, "--replace-unknown"}, lines).out == lines);
  CHECK(shop.run({"translate", "--model", model, "--replace-unknown", "--beam", "3"}, lines).out ==
        lines);
  CHECK_FALSE(contains(shop.run({"translate", "--model", model}, lines).out, "Mia"));
}
