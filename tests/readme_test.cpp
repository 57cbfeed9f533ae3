#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

std::string read(const std::string& path) {
  std::ifstream file(path);
  REQUIRE_MESSAGE(file, path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The blocks fenced as ```language, in order.
std::vector<std::string> blocks(const std::string& text, const std::string& language) {
  std::vector<std::string> found;
  const std::string fence = "\n```" + language + "\n";
  for (auto at = text.find(fence); at != std::string::npos; at = text.find(fence, at + 1)) {
    auto begin = at + fence.size();
    found.push_back(text.substr(begin, text.find("```", begin) - begin));
  }
  return found;
}

std::string without_indentation(const std::string& text) {
  std::istringstream lines(text);
  std::string line, result;
  while (std::getline(lines, line)) {
    auto first = line.find_first_not_of(' ');
    if (first != std::string::npos) result += line.substr(first) + "\n";
  }
  return result;
}

std::string output_of(const std::string& command) {
  std::FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe);
  std::string output;
  std::array<char, 4096> buffer;
  while (std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    output.append(buffer.data(), n);
  }
  REQUIRE(pclose(pipe) == 0);
  return output;
}

}  // namespace

TEST_CASE(
    "the README's first snippet is what examples/hello.cpp compiles, and prints what it says") {
  std::string readme = read(REGRAD_SOURCE_DIR "/README.md");
  auto snippets = blocks(readme, "cpp");
  auto outputs = blocks(readme, "text");
  REQUIRE(!snippets.empty());
  REQUIRE(!outputs.empty());
  std::string program = without_indentation(read(REGRAD_SOURCE_DIR "/examples/hello.cpp"));
  CHECK_MESSAGE(program.find(without_indentation(snippets[0])) != std::string::npos, snippets[0]);
  CHECK(output_of(REGRAD_BIN_DIR "/hello") == outputs[0]);
}
