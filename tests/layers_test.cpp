#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

namespace fs = std::filesystem;
using Strings = std::vector<std::string>;

// Each layer may include itself and those it names here.
const std::map<std::string, std::set<std::string>> layers = {
    {"ops", {}},
    {"autograd", {"ops"}},
    {"nn", {"ops", "autograd"}},
    {"examples", {"ops", "autograd", "nn"}},
};
constexpr int longest_file = 400;

struct Source {
  std::string path;  // relative to the repository
  std::string text;
};

// What stands between the quotes or brackets of each #include.
Strings includes(const std::string& text) {
  Strings result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto hash = line.find_first_not_of(" \t");
    if (hash == std::string::npos || line[hash] != '#') continue;
    const auto word = line.find_first_not_of(" \t", hash + 1);
    if (word == std::string::npos || line.compare(word, 7, "include") != 0) continue;
    const auto open = line.find_first_of("<\"", word);
    if (open == std::string::npos) continue;
    const auto close = line.find_first_of(">\"", open + 1);
    result.push_back(line.substr(open + 1, close - open - 1));
  }
  return result;
}

std::string first_folder(const std::string& path) { return path.substr(0, path.find('/')); }

// <regrad/ops/tensor.h> is "ops/tensor.h" as users write it.
std::string without_package(const std::string& include) {
  return first_folder(include) == "regrad" ? include.substr(7) : include;
}

Strings include_faults(const Source& source) {
  Strings faults;
  const std::string layer = first_folder(source.path);
  for (const std::string& written : includes(source.text)) {
    const std::string target = first_folder(without_package(written));
    const bool is_project = layers.contains(target) || target == "tests";
    const bool upwards = is_project && target != layer && !layers.at(layer).contains(target);
    const bool only_in_ops = target == "xsimd" || target == "cblas.h";
    const bool relative = written.find("..") != std::string::npos;
    if (upwards || relative || (only_in_ops && layer != "ops")) {
      faults.push_back(source.path + " includes " + written);
    }
  }
  return faults;
}

Strings length_faults(const Source& source) {
  const auto lines = std::count(source.text.begin(), source.text.end(), '\n');
  if (lines < longest_file) return {};
  return {source.path + " has " + std::to_string(lines) + " lines"};
}

bool includes_cblas(const Source& source) {
  return std::ranges::count(includes(source.text), "cblas.h") > 0;
}

bool is_source(const fs::path& path) {
  return path.extension() == ".h" || path.extension() == ".cpp";
}

std::string read(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::vector<Source> sources_in(const std::string& folder) {
  std::vector<Source> result;
  const fs::path root = REGRAD_SOURCE_DIR;
  for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
    if (!entry.is_regular_file() || !is_source(entry.path())) continue;
    result.push_back({fs::relative(entry.path(), root).generic_string(), read(entry.path())});
  }
  return result;
}

std::vector<Source> layered_sources() {
  std::vector<Source> result;
  for (const auto& [layer, below] : layers) {
    std::ranges::move(sources_in(layer), std::back_inserter(result));
  }
  return result;
}

}  // namespace

TEST_CASE("includes point down the layers") {
  const auto sources = layered_sources();
  CHECK(sources.size() >= layers.size());
  for (const Source& source : sources) CHECK(include_faults(source) == Strings{});
}

TEST_CASE("exactly one file includes cblas") {
  CHECK(std::ranges::count_if(layered_sources(), includes_cblas) == 1);
}

TEST_CASE("no file is long") {
  auto sources = layered_sources();
  std::ranges::move(sources_in("tests"), std::back_inserter(sources));
  for (const Source& source : sources) CHECK(length_faults(source) == Strings{});
}

TEST_CASE("CMake knows every source file of a layer") {
  const fs::path root = REGRAD_SOURCE_DIR;
  for (const auto& [layer, below] : layers) {
    std::istringstream listed(read(root / layer / "CMakeLists.txt"));
    const std::set<std::string> words{std::istream_iterator<std::string>(listed), {}};
    for (const Source& source : sources_in(layer)) {
      const std::string name = source.path.substr(layer.size() + 1);
      const bool is_main = layer == "examples" && source.path.ends_with(".cpp");
      const bool known = words.contains(name) || (is_main && words.contains(name + ")"));
      CHECK_MESSAGE(known, source.path);
    }
  }
}

TEST_CASE("a fault is found") {
  using Faults = Strings;
  CHECK(include_faults({"ops/a.h", "#include \"autograd/var.h\"\n"}) ==
        Faults{"ops/a.h includes autograd/var.h"});
  CHECK(include_faults({"autograd/a.cpp", "  # include <regrad/nn/gru.h>\n"}) ==
        Faults{"autograd/a.cpp includes regrad/nn/gru.h"});
  CHECK(include_faults({"nn/a.cpp", "#include <vector>\n#include <xsimd/xsimd.hpp>\n"}) ==
        Faults{"nn/a.cpp includes xsimd/xsimd.hpp"});
  CHECK(include_faults({"nn/a.cpp", "#include \"../ops/shape.h\"\n"}).size() == 1);
  CHECK(include_faults({"examples/a.cpp", "#include <cblas.h>\n"}).size() == 1);
  CHECK(include_faults({"nn/a.cpp", "#include \"tests/a.h\"\n"}).size() == 1);
  CHECK(include_faults({"nn/a.cpp", "#include \"ops/shape.h\"\n#include \"nn/b.h\"\n"}).empty());
  CHECK(length_faults({"ops/a.h", std::string(400, '\n')}).size() == 1);
  CHECK(length_faults({"ops/a.h", std::string(399, '\n')}).empty());
  CHECK(includes_cblas({"ops/a.cpp", "#include <cblas.h>\n"}));
}
