#include <cstddef>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "examples/seq2seq/text.h"
#include "examples/seq2seq/unicode.h"
#include "ops/rng.h"
#include "tests/nn_check.h"

using namespace regrad;
using namespace regrad::seq2seq;
using regrad::testing::contains;
using regrad::testing::message_of;

namespace {

const std::string no_break = "\u00A0", narrow_no_break = "\u202F", line_separator = "\u2028";

// Pieces that are known to trouble readers of text.
const std::vector<std::string> pieces = {
    "a", "B",        " ",      "  ",     "\t",     no_break, narrow_no_break, line_separator,
    "é", "\u0301",   "\u200B", "\u200D", "\uFEFF", "\u2029", "\u0085",        "漢",
    "👩", "👍🏽", "\u1100", "\u1161", "नि",     "\u000B", "<unk>",         "\u00AD"};

std::string random_line(Rng& rng) {
  std::string line;
  for (std::uint64_t n = rng.below(12); n > 0; --n) line += pieces[rng.below(pieces.size())];
  return line;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  LineReader reader(stream, "text");
  std::vector<std::string> lines;
  for (std::string line; reader.next(line);) lines.push_back(line);
  CHECK(reader.line_number() == lines.size());
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("words stand between runs of ASCII blanks and tabs") {
  CHECK(tokenize("to be  or\t\tnot", Tokens::words) == Sentence{"to", "be", "or", "not"});
  CHECK(tokenize("  leading and trailing \t ", Tokens::words) ==
        Sentence{"leading", "and", "trailing"});
  CHECK(tokenize("", Tokens::words).empty());
  CHECK(tokenize(" \t ", Tokens::words).empty());
}

TEST_CASE("other spaces are part of their word and come out again") {
  for (const std::string space : {no_break.c_str(), narrow_no_break.c_str(), line_separator.c_str(),
                                  "\u2029", "\u0085", "\u3000", "\u200B", "\u000B", "\u000C"}) {
    const std::string word = "10" + space + "000";
    CHECK(tokenize(word + " b", Tokens::words) == Sentence{word, "b"});
    CHECK(join(tokenize(word, Tokens::chars), Tokens::chars) == word);
  }
}

TEST_CASE("chars are what a reader takes for one character") {
  CHECK(tokenize("abc", Tokens::chars) == Sentence{"a", "b", "c"});
  CHECK(tokenize("þæö", Tokens::chars) == Sentence{"þ", "æ", "ö"});
  CHECK(tokenize("e\u0301a\u0323\u0302", Tokens::chars) == Sentence{"e\u0301", "a\u0323\u0302"});
  CHECK(tokenize("\u0301a", Tokens::chars) == Sentence{"\u0301", "a"});
  CHECK(tokenize("नि", Tokens::chars) == Sentence{"नि"});
  CHECK(tokenize("👩\u200D🚀x", Tokens::chars) == Sentence{"👩\u200D🚀", "x"});
  CHECK(tokenize("\u1100\u1161", Tokens::chars) == Sentence{"\u1100\u1161"});
  CHECK(tokenize("a\u200Bb", Tokens::chars) == Sentence{"a", "\u200B", "b"});
}

TEST_CASE("composed and decomposed letters stay what they are") {
  CHECK(tokenize("\u00E9", Tokens::chars) != tokenize("e\u0301", Tokens::chars));
}

TEST_CASE("blanks within a line are chars, those at its ends are not") {
  CHECK(tokenize("  a  b ", Tokens::chars) == Sentence{"a", " ", " ", "b"});
  CHECK(tokenize(" \t", Tokens::chars).empty());
}

TEST_CASE("joining gives the line back, whatever is in it") {
  Rng rng(1);
  for (int i = 0; i < 2000; ++i) {
    const std::string line = random_line(rng);
    for (const Tokens kind : {Tokens::words, Tokens::chars}) {
      const Sentence tokens = tokenize(line, kind);
      CHECK(tokenize(join(tokens, kind), kind) == tokens);
    }
    const auto first = line.find_first_not_of(" \t");
    const std::string inner = first == std::string::npos
                                  ? ""
                                  : line.substr(first, line.find_last_not_of(" \t") - first + 1);
    CHECK(join(tokenize(line, Tokens::chars), Tokens::chars) == inner);
  }
}

TEST_CASE("a line of 1 MB is a line") {
  std::string line;
  for (int i = 0; i < 200'000; ++i) line += "wort ";
  CHECK(tokenize(line, Tokens::words).size() == 200'000);
  CHECK(tokenize(line, Tokens::chars).size() == 999'999);
  CHECK(lines_of(line + "\nb") == Lines{line, "b"});
}

TEST_CASE("invalid UTF-8 is an error that names the byte") {
  struct Case {
    std::string_view text;
    int byte;
  };
  const Case cases[] = {{"\xFF", 1},
                        {"ab\x80", 3},
                        {"a\xC3", 2},
                        {"a\xC3(", 2},
                        {"\xC0\x80", 1},
                        {"\xE0\x80\x80", 1},
                        {"é\xED\xA0\x80", 3},  // a surrogate
                        {"\xF4\x90\x80\x80", 1},
                        {"\xF8\x88\x80\x80\x80", 1},
                        {"ab\xE2\x80", 3},
                        {"\xFE", 1}};
  for (const auto& [text, byte] : cases) {
    for (const Tokens kind : {Tokens::words, Tokens::chars}) {
      const auto message = message_of([&, line = text] { tokenize(line, kind); });
      CHECK(contains(message, "byte " + std::to_string(byte) + ":"));
      CHECK(contains(message, "UTF-8"));
    }
  }
}

TEST_CASE("NUL is an error that names the byte") {
  const auto message = message_of([] { tokenize(std::string("ab\0c", 4), Tokens::chars); });
  CHECK(contains(message, "byte 3: NUL"));
}

TEST_CASE("token kinds have names") {
  CHECK(tokens_named("words") == Tokens::words);
  CHECK(tokens_named("chars") == Tokens::chars);
  for (const Tokens kind : {Tokens::words, Tokens::chars})
    CHECK(tokens_named(name_of(kind)) == kind);
  CHECK(contains(message_of([] { tokens_named("bytes"); }), "words, chars or codepoints"));
}

TEST_CASE("lines end at LF or CRLF, in all or some lines, the last one anyhow") {
  CHECK(lines_of("a\nb\n") == Lines{"a", "b"});
  CHECK(lines_of("a\nb") == Lines{"a", "b"});
  CHECK(lines_of("a\r\nb\r\n") == Lines{"a", "b"});
  CHECK(lines_of("a\r\nb\nc\r\nd\r") == Lines{"a", "b", "c", "d"});
  CHECK(lines_of("a\r\r\nb") == Lines{"a", "b"});
  CHECK(lines_of("").empty());
  CHECK(lines_of("\n\na\n\n") == Lines{"", "", "a", ""});
}

TEST_CASE("no other character ends a line") {
  for (const std::string separator : {"\u2028", "\u2029", "\u0085", "\u000B", "\u000C", "\u001E"}) {
    CHECK(lines_of("a" + separator + "b\nc") == Lines{"a" + separator + "b", "c"});
  }
}

TEST_CASE("a byte-order mark is dropped at the start and nowhere else") {
  CHECK(lines_of("\uFEFFa\n\uFEFFb\n") == Lines{"a", "\uFEFFb"});
  CHECK(lines_of("\uFEFF\r\nb") == Lines{"", "b"});
}

TEST_CASE("what is wrong in a stream is named with line and byte") {
  CHECK(contains(message_of([] { lines_of("a\nbc\xFFz\n"); }), "text: line 2, byte 3: 0xff"));
  CHECK(contains(message_of([] { lines_of(std::string("a\n\nb\0", 5)); }), "line 3, byte 2: NUL"));
  CHECK(contains(message_of([] { lines_of("a\tb\rc\td\r"); }), "line 1, byte 4: carriage return"));
  CHECK(contains(message_of([] { lines_of("\uFEFFab\xFF"); }), "line 1, byte 6"));
}

TEST_CASE("what is no plain text is named") {
  struct Case {
    std::string start;
    const char *name, *mend;
  };
  const Case cases[] = {{"\x1F\x8B\x08", "gzip", "gunzip"},
                        {"PK\x03\x04", "zip", "unzip"},
                        {std::string("\xFD\x37zXZ\0", 6), "xz", "unxz"},
                        {"\x28\xB5\x2F\xFD", "zstd", "unzstd"},
                        {"BZh91AY&SY", "bzip2", "bunzip2"},
                        {std::string("\xFF\xFE\x61\0", 4), "UTF-16", "iconv"},
                        {std::string("\xFE\xFF\0a", 4), "UTF-16", "iconv"}};
  for (const Case& each : cases) {
    const auto message = message_of([&] { lines_of(each.start + "\x01\xFF rest\n"); });
    CHECK(contains(message, each.name));
    CHECK(contains(message, each.mend));
  }
}

TEST_CASE("any bytes give lines or a named error") {
  Rng rng(2);
  int failed = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string bytes(rng.below(40), '\0');
    for (char& byte : bytes) byte = static_cast<char>(rng.below(256));
    const auto message = message_of([&] {
      for (const std::string& line : lines_of(bytes)) tokenize(line, Tokens::chars);
    });
    if (message.empty()) continue;
    ++failed;
    CHECK(message.starts_with("text: "));
  }
  CHECK(failed > 1000);
}

TEST_CASE("blank is what shows nothing") {
  for (const char* text :
       {"", " ", "\t", "\u00A0", "\u202F", "\u2028", "\u200B", "\uFEFF \u200D"}) {
    CHECK(is_blank(text));
  }
  for (const char* text : {"a", " a ", "\u0301", "-", "\xFF"}) CHECK_FALSE(is_blank(text));
}

TEST_CASE("terminal columns of text") {
  CHECK(display_width("abc") == 3);
  CHECK(display_width("漢字") == 4);
  CHECK(display_width("e\u0301") == 1);
  CHECK(display_width("a\u200Bb") == 2);
  CHECK(display_width("") == 0);
}

TEST_CASE("tokens are shown without harm") {
  CHECK(visible("wort") == "wort");
  CHECK(visible(" ") == "␣");
  CHECK(visible("\u00A0") == "U+00A0");
  CHECK(visible("\u200B") == "U+200B");
  CHECK(visible("\t") == "␉");
  CHECK(visible("\x1B") == "␛");
  CHECK(visible("10\u00A0000") == "10\u00A0000");
  CHECK(visible("\u0301") == "◌\u0301");
  CHECK(visible("\x1B[31m") == "␛[31m");
  CHECK(visible("a\x7F\u0085") == "a␡\uFFFD");
  CHECK(visible("a\xFF") == "a\uFFFD");
  CHECK(visible("").empty());
}

TEST_CASE("code points stand by themselves, and join to the same line") {
  const std::string line = " \u0905\u0902\u0915\u0928 e\u0301 ";  // अंकन, a letter with a mark
  const Sentence points = tokenize(line, Tokens::codepoints);
  CHECK(points.size() == 7);
  CHECK(points[1] == "\u0902");
  CHECK(tokenize(line, Tokens::chars).size() == 5);
  CHECK(tokenize(join(points, Tokens::codepoints), Tokens::codepoints) == points);
  CHECK(tokens_named(name_of(Tokens::codepoints)) == Tokens::codepoints);
}
