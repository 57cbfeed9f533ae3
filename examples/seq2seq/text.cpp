#include "examples/seq2seq/text.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "examples/seq2seq/unicode.h"
#include "ops/error.h"

namespace regrad::seq2seq {
namespace {

constexpr std::string_view blanks = " \t";
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

std::string_view trimmed(std::string_view line) {
  const auto first = line.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(blanks) - first + 1);
}

Sentence words_of(std::string_view line) {
  Sentence words;
  for (std::size_t begin = line.find_first_not_of(blanks); begin < line.size();) {
    const std::size_t end = std::min(line.find_first_of(blanks, begin), line.size());
    words.emplace_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(blanks, end);
  }
  return words;
}

Sentence code_points(std::string_view text) {
  Sentence points;
  while (!text.empty()) points.emplace_back(take_code_point(text).bytes);
  return points;
}

struct Format {
  std::string_view start, name, mend;
};

constexpr std::array<Format, 7> not_plain_text = {{
    {"\x1F\x8B", "compressed by gzip", "gunzip it"},
    {"PK\x03\x04", "a zip archive", "unzip it"},
    {std::string_view("\xFD\x37zXZ\0", 6), "compressed by xz", "decompress it with unxz"},
    {"\x28\xB5\x2F\xFD", "compressed by zstd", "decompress it with unzstd"},
    {"BZh91AY&SY", "compressed by bzip2", "bunzip2 it"},
    {"\xFF\xFE", "UTF-16", "convert it with iconv -f UTF-16 -t UTF-8"},
    {"\xFE\xFF", "UTF-16", "convert it with iconv -f UTF-16 -t UTF-8"},
}};

void check_format(std::string_view first_line, std::string_view where) {
  for (const Format& format : not_plain_text) {
    if (first_line.starts_with(format.start)) {
      fail("{}: not plain text but {}; {} first", where, format.name, format.mend);
    }
  }
}

}  // namespace

Tokens tokens_named(std::string_view name) {
  if (name == "words") return Tokens::words;
  if (name == "chars") return Tokens::chars;
  if (name == "codepoints") return Tokens::codepoints;
  fail("tokens: '{}' is not known; choose words, chars or codepoints", name);
}

std::string_view name_of(Tokens kind) {
  if (kind == Tokens::words) return "words";
  return kind == Tokens::chars ? "chars" : "codepoints";
}

Sentence tokenize(std::string_view line, Tokens kind) {
  check_text(line, "text");
  if (kind == Tokens::words) return words_of(line);
  return kind == Tokens::chars ? grapheme_clusters(trimmed(line)) : code_points(trimmed(line));
}

std::string join(const Sentence& tokens, Tokens kind) {
  return fmt::format("{}", fmt::join(tokens, kind == Tokens::words ? " " : ""));
}

void check_text(std::string_view line, std::string_view where) {
  for (std::size_t byte = 1; !line.empty();) {
    const CodePoint point = take_code_point(line);
    if (point.value < 0) {
      fail("{}, byte {}: 0x{:02x} is not UTF-8 here; convert the text with iconv -t UTF-8", where,
           byte, static_cast<unsigned char>(point.bytes.front()));
    }
    if (point.value == 0) {
      fail("{}, byte {}: NUL in the text; is this UTF-16 or a binary file?", where, byte);
    }
    if (point.value == '\r') {
      fail("{}, byte {}: carriage return within the line; end lines with \\n or \\r\\n", where,
           byte);
    }
    byte += point.bytes.size();
  }
}

bool LineReader::next(std::string& line) {
  if (!std::getline(stream_, line)) {
    // Where it shares C's buffer, std::cin takes a failure for the end.
    if (stream_.bad() || (&stream_ == &std::cin && std::ferror(stdin) != 0)) {
      fail("{}: reading failed after line {}: {}", name_, line_number_, std::strerror(errno));
    }
    return false;
  }
  ++line_number_;
  if (line_number_ == 1) check_format(line, name_);
  line.erase(line.find_last_not_of('\r') + 1);
  check_text(line, where());
  if (line_number_ == 1 && line.starts_with(byte_order_mark)) line.erase(0, byte_order_mark.size());
  return true;
}

std::string LineReader::where() const { return fmt::format("{}: line {}", name_, line_number_); }

}  // namespace regrad::seq2seq
