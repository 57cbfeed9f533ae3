#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "autograd/functions.h"
#include "autograd/gradcheck.h"
#include "autograd/record.h"
#include "autograd/tape.h"

// What autograd/README.md says is what the code does.
using namespace regrad;

Var cube(const Var& x) {
  Tensor squared = square(x.detach()).value();
  return record("cube", (x.detach() * squared).value(),
                Edge{x, [x](const Var& g) { return g * square(x) * 3; }});
}

namespace {

std::string read(const std::string& path) {
  std::ifstream file(std::string(REGRAD_SOURCE_DIR) + "/" + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

const std::string readme = read("autograd/README.md");

std::vector<std::string> cells(const std::string& row) {
  std::istringstream text(row.substr(1));
  std::vector<std::string> result;
  for (std::string cell; std::getline(text, cell, '|');) {
    const auto first = cell.find_first_not_of(' '), last = cell.find_last_not_of(' ');
    result.push_back(first == std::string::npos ? "" : cell.substr(first, last - first + 1));
  }
  return result;
}

// Line by line without indentation.
std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> result;
  for (std::string line; std::getline(stream, line);) {
    const auto first = line.find_first_not_of(' ');
    if (first != std::string::npos) result.push_back(line.substr(first));
  }
  return result;
}

bool contains(const std::string& text, const std::string& part) {
  const std::vector<std::string> lines = lines_of(text), wanted = lines_of(part);
  return std::search(lines.begin(), lines.end(), wanted.begin(), wanted.end()) != lines.end();
}

// The blocks fenced as ```language.
std::vector<std::string> blocks(const std::string& language) {
  std::vector<std::string> result;
  const std::string fence = "\n```" + language + "\n";
  for (auto at = readme.find(fence); at != std::string::npos; at = readme.find(fence, at + 1)) {
    const auto begin = at + fence.size();
    result.push_back(readme.substr(begin, readme.find("```", begin) - begin));
  }
  return result;
}

}  // namespace

TEST_CASE("the worked example's gradients") {
  Tape tape;
  Var x = tape.variable(scalar(2)), y = tape.variable(scalar(3));
  Var z = square(x * y + x);
  Gradients gradients = tape.backward(z);  // gradients[x] is 64, gradients[y] is 32
  CHECK(gradients[x].item() == 64);
  CHECK(gradients[y].item() == 32);
}

TEST_CASE("the worked example's table is the tape's") {
  Tape tape;
  Var x = tape.variable(scalar(2)), y = tape.variable(scalar(3));
  Var product = x * y, total = product + x, z = square(total);
  const std::vector<Var> steps{x, y, product, total, z};
  REQUIRE(tape.size() == 5);
  const std::vector<Var> by_step = gradients(z, steps);
  std::size_t step = 0;
  for (const std::string& line : lines_of(readme)) {
    if (!line.starts_with("| " + std::to_string(step) + " |")) continue;
    INFO(line);
    const std::vector<std::string> row = cells(line);
    REQUIRE(step < steps.size());
    CHECK(row[1] == tape.operation(steps[step]));
    CHECK(std::stod(row[3]) == steps[step].item());
    CHECK(std::stod(row[4]) == by_step[step].item());
    ++step;
  }
  CHECK(step == steps.size());
}

TEST_CASE("an operation of one's own") {
  Rng rng(1);
  const Tensor x = normal({2, 3}, 0, 1, rng, DType::f64);
  auto f = [](std::span<const Var> inputs) { return cube(inputs[0]); };
  CHECK(gradcheck(f, {x}).passed);
  CHECK(gradcheck(f, {x}, {.order = 2, .rtol = 1e-5}).passed);
  Tape tape;
  cube(tape.variable(x));
  CHECK(tape.size() == 2);
}

TEST_CASE("the README's code stands in the sources") {
  const std::string sources =
      read("autograd/elementwise.cpp") + read("tests/autograd_readme_test.cpp");
  REQUIRE(blocks("cpp").size() == 3);
  for (const std::string& block : blocks("cpp")) {
    INFO(block);
    CHECK(contains(sources, block));
  }
}

TEST_CASE("the README's diff is what was added") {
  REQUIRE(blocks("diff").size() == 1);
  std::string file, added;
  int files = 0, lines = 0;
  for (const std::string& line : lines_of(blocks("diff")[0])) {
    if (line.starts_with("+++ ")) {
      file = read(line.substr(std::string("+++ b/").size()));
      ++files;
    } else if (line.starts_with("+") && line.size() > 1) {
      INFO(line);
      CHECK(contains(file, line.substr(1)));
      ++lines;
    }
  }
  CHECK(files == 3);
  CHECK(lines == 7);
}
