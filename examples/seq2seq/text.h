#pragma once

#include <cstddef>
#include <istream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace regrad::seq2seq {

using Sentence = std::vector<std::string>;  // its tokens

// How a line becomes tokens.
// words: what stands between runs of ASCII blanks and tabs. Every other space (no-break, narrow
//        no-break, a Unicode line separator) is part of its word, so that it comes out as it went
//        in.
// chars: what a reader takes for one character, the extended grapheme clusters of UAX 29: a letter
//        and its combining marks are one token. Blanks within the line are tokens too; those at its
//        ends are dropped. Text is not normalised: composed and decomposed letters differ.
// codepoints: as chars, but each code point by itself: in scripts whose clusters are syllables,
// such
//        as Devanagari, there are many clusters, each of them rare.
enum class Tokens { words, chars, codepoints };

// "words", "chars" or "codepoints"; throws Error for any other name.
Tokens tokens_named(std::string_view name);
std::string_view name_of(Tokens kind);

// Throws Error, naming the byte, for invalid UTF-8 and for NUL.
Sentence tokenize(std::string_view line, Tokens kind);
// The line of these tokens: tokenize(join(t, kind), kind) == t for every t that tokenize returns.
std::string join(const Sentence& tokens, Tokens kind);

// Throws Error for invalid UTF-8, NUL and a carriage return: "<where>, byte <n>: …", n from 1.
void check_text(std::string_view line, std::string_view where);

// Lines end at \n or \r\n and nowhere else; the last one needs no end. A byte-order mark at the
// start is dropped.
class LineReader {
 public:
  // `name` stands for the stream in messages; the stream must outlive the reader.
  LineReader(std::istream& stream, std::string name) : stream_(stream), name_(std::move(name)) {}

  // False at the end. Throws Error, naming line and byte, for what check_text rejects, for
  // compressed data and UTF-16, and when reading fails.
  bool next(std::string& line);
  std::size_t line_number() const { return line_number_; }  // of the line read last, from 1
  std::string where() const;                                // "<name>: line <n>"

 private:
  std::istream& stream_;
  std::string name_;
  std::size_t line_number_ = 0;
};

}  // namespace regrad::seq2seq
