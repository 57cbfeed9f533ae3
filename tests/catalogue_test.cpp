#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "function_rows.h"
#include "nn/safetensors.h"

// Every function of the catalogue, that is of autograd/functions.h and the headers that belong to
// it, has a gradient check, a golden value (or a reason why not) and a line of documentation.
using namespace regrad;
using namespace regrad::testing;

namespace {

struct Declaration {
  std::string function;
  bool documented = false;
};

// Declarations begin a line with their type. They are documented by a comment behind them or by one
// above them without a blank line in between, which may stand for several.
std::vector<Declaration> declarations(const std::string& header) {
  static const std::regex declaration(
      R"(^(?:inline )?(?:Var|Tensor|Ids|TopK|HeadsOutput|std::vector<Var>)&? )"
      R"((operator[^ (]+|\w+)\(.*)");
  std::vector<Declaration> found;
  std::istringstream lines(header);
  bool commented = false;
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (line.empty()) commented = false;
    if (line.starts_with("//")) commented = true;
    if (std::regex_match(line, match, declaration)) {
      found.push_back({match[1], commented || line.find("//") != std::string::npos});
    }
  }
  return found;
}

std::string first_word(const std::string& name) { return name.substr(0, name.find_first_of(" /")); }

using Names = std::set<std::string>;
using Reasons = std::map<std::string, std::string>;

struct Evidence {
  Names checked, golden;  // the functions that have a gradient check, a golden value
  Reasons unchecked, ungolden;
};

// One line for each thing that is missing, and for each reason that is no longer needed.
std::vector<std::string> faults(const std::string& header, const Evidence& evidence) {
  std::vector<std::string> result;
  Names declared;
  for (const auto& [function, documented] : declarations(header)) {
    if (!documented) result.push_back(function + " has no documentation");
    if (!function.starts_with("operator")) declared.insert(function);
  }
  const auto compare = [&](const Names& covered, const Reasons& reasons, const std::string& what) {
    for (const std::string& function : declared) {
      if (covered.contains(function) == reasons.contains(function)) {
        result.push_back(
            function +
            (reasons.contains(function) ? " needs no reason for having no " : " has no ") + what);
      }
    }
    for (const auto& [function, reason] : reasons) {
      if (!declared.contains(function)) result.push_back(function + " is not declared");
    }
  };
  compare(evidence.checked, evidence.unchecked, "gradient check");
  compare(evidence.golden, evidence.ungolden, "golden value");
  return result;
}

std::string read(const std::string& path) {
  std::ifstream file(std::string(REGRAD_SOURCE_DIR) + "/" + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

Evidence evidence() {
  const std::string constant = "it is not differentiable";
  Evidence result;
  for (const char* function : {"greater", "greater_equal", "less", "less_equal", "equal",
                               "not_equal", "argmax", "one_hot"}) {
    result.unchecked[function] = constant;
  }
  result.ungolden = {
      {"dropout",
       "PyTorch draws other random numbers; nn_layers_test.cpp looks at the expectation"},
  };
  for (const Row& row : all_rows()) result.checked.insert(first_word(row.name));
  for (const auto& file :
       std::filesystem::directory_iterator(std::string(REGRAD_SOURCE_DIR) + "/tests/golden")) {
    if (!file.path().filename().string().starts_with("functions_")) continue;
    for (const auto& [name, tensor] : load_safetensors(file.path()).tensors) {
      result.golden.insert(first_word(name));
    }
  }
  return result;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("every function is checked, has a golden value and is documented") {
  std::string header;
  for (const char* name : {"functions", "attention", "losses", "recurrent", "self_attention"}) {
    header += read(std::string("autograd/") + name + ".h") + "\n";
  }
  CHECK(declarations(header).size() > 150);
  for (const std::string& fault : faults(header, evidence())) FAIL_CHECK(fault);
}

TEST_CASE("declarations of every form are seen") {
  const auto found = declarations(
      "// --- a section\n"
      "Var one(const Var& x);\n"
      "\n"
      "Var two(const Var& x);  // 2x\n"
      "std::vector<Var> three(\n"
      "    const Var& x);\n"
      "// four and five\n"
      "Tensor four(const Var& x, double y = f(3));\n"
      "TopK five(const Var& x);\n"
      "\n"
      "inline Var& operator+=(Var& a, const Var& b) { return a = a + b; }\n"
      "enum class Direction { forward, backward };\n"
      "  Var member(int x);\n");
  std::string text;
  for (const auto& [function, documented] : found) {
    text += function + (documented ? " yes\n" : " no\n");
  }
  CHECK(text == "one yes\ntwo yes\nthree no\nfour yes\nfive yes\noperator+= no\n");
}

TEST_CASE("what is missing is named") {
  const std::string header = "// --- all\nVar one(const Var& x);\n\nVar two(const Var& x);\n";
  CHECK(faults(header, {{"one", "two"}, {"one"}, {}, {{"two", "why"}}}) ==
        Lines{"two has no documentation"});
  const std::string documented = "// 1\nVar one(const Var& x);\n";
  CHECK(faults(documented, {{"one"}, {"one"}, {}, {}}).empty());
  CHECK(faults(documented, {{}, {"one"}, {}, {}}) == Lines{"one has no gradient check"});
  CHECK(faults(documented, {{"one"}, {"two"}, {}, {}}) == Lines{"one has no golden value"});
  CHECK(faults(documented, {{"one"}, {"one"}, {}, {{"one", "why"}}}) ==
        Lines{"one needs no reason for having no golden value"});
  CHECK(faults(documented, {{"one"}, {"one"}, {{"two", "why"}}, {}}) ==
        Lines{"two is not declared"});
}
