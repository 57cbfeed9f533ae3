#include <fstream>
#include <iterator>
#include <string>

#include <doctest/doctest.h>

#include "nn/alignment.h"
#include "nn/attention.h"
#include "nn/score.h"

// What nn/README.md says is what the code does.
using namespace regrad;

namespace {

std::string read(const std::string& path) {
  std::ifstream file(std::string(REGRAD_SOURCE_DIR) + "/" + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Without blanks and line ends, as an indentation differs.
std::string squeezed(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
  return text;
}

}  // namespace

TEST_CASE("the README's snippet attends") {
  Rng rng(1);
  const Lengths lengths({3, 1}, 3);
  const Var annotations = normal({3, 2, 128}, 0, 1, rng), query = normal({2, 64}, 0, 1, rng);
  // clang-format off
  Attention attention("general", "sparsemax", {.query_size = 64, .key_size = 128}, rng);
  AttentionMemory memory = attention.prepare(annotations, lengths);  // once per source
  AttentionState state = attention.start(memory);
  AttentionOutput output = attention(query, memory, state);          // context, weights, next state
  // clang-format on
  CHECK(output.context.shape() == Shape{2, 128});
  CHECK(output.weights.shape() == Shape{2, 3});

  const std::string readme = read("nn/README.md"), source = read("tests/nn_readme_test.cpp");
  const auto begin = readme.find("```cpp\n") + 7;
  const std::string snippet = readme.substr(begin, readme.find("```", begin) - begin);
  CHECK(squeezed(source).find(squeezed(snippet)) != std::string::npos);
}

TEST_CASE("the README has a row for every score and every alignment") {
  const std::string readme = read("nn/README.md");
  for (const auto& names : {score_names(), alignment_names()}) {
    for (const std::string_view name : names) {
      CAPTURE(std::string(name));
      CHECK(readme.find("| `" + std::string(name) + "` |") != std::string::npos);
    }
  }
}
