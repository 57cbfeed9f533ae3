#include <fmt/format.h>
#include <sys/resource.h>

#include "tests/seq2seq_process.h"

using namespace regrad;
using namespace regrad::testing;

TEST_CASE("numbers are decimal") {
  const Workshop shop;
  REQUIRE(
      shop.run(shop.tiny("run", {"--steps", "010", "--dropout", "00.5", "--seed", "09"})).status ==
      0);
  const std::string last = shop.path("run") + "/last.safetensors";
  CHECK(saved_step(last) == 10);
  const Json config = Json::parse(load_safetensors(last).metadata.at("config"));
  CHECK(config["dropout"] == 0.5);
  CHECK(config["seed"] == 9);
  const auto require_refused = [&](const std::string& option, const std::string& value,
                                   const std::string& kind) {
    require_error(shop.run(shop.tiny("other", {option, value})), 2,
                  option + ": `" + value + "` is no " + kind);
  };
  for (const char* steps : {"0x10", "many", "", "1.5", "5 ", "99999999999999999999"}) {
    require_refused("--steps", steps, "whole number of up to 18 decimal digits");
  }
  for (const char* rate : {"0x1p-3", "nan", "inf", "1e999", "1e-400", "1,5", ""}) {
    require_refused("--learning-rate", rate, "decimal number from 1e-307 to 1e308, or 0");
  }
  require_refused("--seed", "0x10", "whole number from 0 to 18446744073709551615");
  for (const char* option : {"--beam", "--n-best", "--top-k"}) {
    require_error(shop.run({"translate", "--model", "m", option, "0x2"}), 2, option);
  }
  for (const char* option : {"--length-penalty", "--coverage-penalty", "--temperature"}) {
    require_error(shop.run({"translate", "--model", "m", option, "0x2"}), 2, option);
  }
}

TEST_CASE("an unknown option is named before one that is missing or wrong") {
  const Workshop shop;
  require_error(shop.run({"train", "--foo"}), 2, "train: `--foo` is not known; there is");
  require_error(shop.run({"translate", "--modell", "m"}), 2, "`--modell m` is not known");
  require_error(shop.run({"train", "--hiden", "5", "--steps", "many", "--out", "o"}), 2,
                "`--hiden 5` is not known");
}

TEST_CASE("an option without its value is named") {
  const Workshop shop;
  require_error(shop.run({"train", "--train", "t", "--dev", "d", "--hidden", "--out", "o"}), 2,
                "train: --hidden needs a value, and `--out` follows");
  require_error(shop.run({"train", "--train", "--dev", "d", "--out", "o"}), 2,
                "train: --train needs a value, and `--dev` follows");
  require_error(shop.run({"evaluate", "--model", "m", "--data", "--beam", "3"}), 2,
                "evaluate: --data needs a value, and `--beam` follows");
}

TEST_CASE("a flag is true or false") {
  const Workshop shop;
  for (const char* value : {"2", "-1", "maybe", "yes"}) {
    require_error(shop.run(shop.tiny("run", {fmt::format("--tied-embeddings={}", value)})), 2,
                  fmt::format("--tied-embeddings: `{}` is neither true nor false", value));
  }
}

TEST_CASE("options that would have no effect are refused, even with their defaults") {
  const Workshop shop;
  for (const char* option : {"--seed", "--temperature", "--top-k", "--top-p"}) {
    const Result result = shop.run({"translate", "--model", "m", option, "1"});
    require_error(result, 2, option);
    CHECK(contains(result.err, "--sample"));
  }
  for (const Arguments& option :
       {Arguments{"--beam", "1"}, Arguments{"--length-penalty", "0.6"},
        Arguments{"--coverage-penalty", "0"}, Arguments{"--replace-unknown"}}) {
    Arguments arguments{"attend", "--model", "m", "ab", "--target", "ba"};
    arguments.insert(arguments.end(), option.begin(), option.end());
    const Result result = shop.run(arguments);
    require_error(result, 2, "--target");
    CHECK(contains(result.err, option.front()));
  }
  require_error(shop.run(shop.tiny("run", {"--architecture", "transformer", "--window", "3"})), 2,
                "--window is for --architecture recurrent");
}

TEST_CASE("standard input that cannot be read is not an empty one") {
  const Workshop shop;
  const std::string model = shop.trained_model();
  const std::filesystem::path streams = shop.folder / "streams";
  std::filesystem::create_directories(streams / "stdin");
  require_error(Process(streams, {"translate", "--model", model}).wait(), 1,
                "standard input: reading failed after line 0: Is a directory");
}

TEST_CASE("references that the model cannot produce are counted, and what they cost") {
  const Workshop shop;
  const std::string model = shop.trained_model();
  const auto evaluate = [&](const std::string& lines, const Arguments& more = {}) {
    write(shop.folder / "test.tsv", lines);
    Arguments arguments{"evaluate", "--model", model, "--data", shop.path("test.tsv"), "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Result result = shop.run(arguments);
    CHECK(result.status == 0);
    CHECK(Json::parse(result.out)["exact_match"].is_number());
    return result.err;
  };
  const std::string lines = "ab\tba\nab\txby\nab\ta\nba\tx\n";
  CHECK(evaluate(lines) ==
        "seq2seq: warning: 3 reference tokens are unknown to the model, which cannot produce them "
        "(first: x of " +
            shop.path("test.tsv") + ": line 2): at most 2 of 4 examples can match exactly\n");
  CHECK(evaluate("ab\tba\n").empty());
  // These may come from the source.
  CHECK(
      contains(evaluate("xa\tax\nab\tx\n", {"--replace-unknown"}),
               "1 reference token is unknown to the model, which cannot produce it (first: x of " +
                   shop.path("test.tsv") + ": line 2): at most 1 of 2"));
  CHECK(contains(shop.run({"evaluate", "--model", model, "--task", "copy"}).err,
                 "reference tokens are unknown to the model, which cannot produce them (first: "));
}

TEST_CASE("what the system refuses is told with the file and the mend") {
  const Workshop shop;
  const Result resumed = shop.run({"train", "--resume", "--out", shop.path(std::string(300, 'x'))});
  require_error(resumed, 1, "x/last.safetensors: cannot be reached: File name too long; check");
  CHECK_FALSE(contains(resumed.err, "filesystem error"));
}

// An address sanitizer reserves more addresses than the limit below.
#if defined(__SANITIZE_ADDRESS__)
#define REGRAD_ADDRESSES_RESERVED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define REGRAD_ADDRESSES_RESERVED 1
#endif
#endif
#ifndef REGRAD_ADDRESSES_RESERVED
TEST_CASE("a model that memory does not hold is told with the mend") {
  const Workshop shop;
  const auto in_little_memory = [&](const Arguments& arguments) {
    ::rlimit before{};
    ::getrlimit(RLIMIT_AS, &before);
    const ::rlimit little{::rlim_t{4} << 30, before.rlim_max};
    ::setrlimit(RLIMIT_AS, &little);
    const Process process(shop.folder / "", arguments);
    ::setrlimit(RLIMIT_AS, &before);
    return process.wait();
  };
  const Result result =
      in_little_memory({"train", "--task", "copy", "--hidden", "65536", "--out", shop.path("run")});
  require_error(result, 1, "out of memory");
  CHECK(contains(result.err, "smaller"));
}
#endif
