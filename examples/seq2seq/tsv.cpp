#include "examples/seq2seq/tsv.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "examples/seq2seq/unicode.h"
#include "ops/error.h"

namespace regrad::seq2seq {
namespace {

Sentence field(const std::string& text, Tokens kind, const LineReader& reader, const char* name) {
  if (is_blank(text)) {
    fail("{}: the {} has nothing to be seen; fill it in or remove the line", reader.where(), name);
  }
  return tokenize(text, kind);
}

TextPair parse(const std::string& line, Tokens source, Tokens target, const LineReader& reader) {
  const auto tab = line.find('\t');
  if (tab == std::string::npos) {
    fail("{}: no tab; a line is source<TAB>target (are its columns separated by something else?)",
         reader.where());
  }
  return {field(line.substr(0, tab), source, reader, "source"),
          field(first_column(line.substr(tab + 1)), target, reader, "target"),
          reader.line_number()};
}

}  // namespace

std::string first_column(const std::string& line) { return line.substr(0, line.find('\t')); }

std::vector<TextPair> read_tsv(const std::filesystem::path& path, Tokens source, Tokens target) {
  std::error_code ignored;  // opening it tells
  if (std::filesystem::is_directory(path, ignored))
    fail("{}: a folder, not a TSV file", path.string());
  std::ifstream stream(path, std::ios::binary);
  if (!stream) fail("{}: cannot be opened: {}", path.string(), std::strerror(errno));
  LineReader reader(stream, path.string());
  std::vector<TextPair> pairs;
  std::string blank_line;  // where the first of the latest blank lines is
  for (std::string line; reader.next(line);) {
    const bool blank = is_blank(line) && line.find('\t') == std::string::npos;
    if (!blank && !blank_line.empty()) {
      fail("{}: blank, but more lines follow; remove it or write source<TAB>target", blank_line);
    }
    if (!blank) {
      pairs.push_back(parse(line, source, target, reader));
    } else if (blank_line.empty()) {
      blank_line = reader.where();
    }
  }
  if (pairs.empty()) fail("{}: empty; give at least one line source<TAB>target", path.string());
  return pairs;
}

std::vector<Sentence> read_lines(std::istream& stream, Tokens kind, const std::string& name) {
  LineReader reader(stream, name);
  std::vector<Sentence> sentences;
  for (std::string line; reader.next(line);) {
    sentences.push_back(tokenize(first_column(line), kind));
  }
  return sentences;
}

std::size_t count_shared_sources(const std::vector<TextPair>& train,
                                 const std::vector<TextPair>& dev) {
  std::set<Sentence> known;
  for (const TextPair& pair : train) known.insert(pair.source);
  return static_cast<std::size_t>(std::ranges::count_if(
      dev, [&](const TextPair& pair) { return known.contains(pair.source); }));
}

}  // namespace regrad::seq2seq
