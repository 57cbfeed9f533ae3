#include <cstddef>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "examples/seq2seq/tsv.h"
#include "tests/nn_check.h"

using namespace regrad;
using namespace regrad::seq2seq;
using regrad::testing::contains;
using regrad::testing::message_of;
using regrad::testing::TemporaryFolder;

namespace {

std::vector<TextPair> read(std::string_view content, Tokens source = Tokens::words,
                           Tokens target = Tokens::words) {
  const TemporaryFolder folder;
  std::ofstream(folder / "data.tsv", std::ios::binary) << content;
  return read_tsv(folder / "data.tsv", source, target);
}

std::string fault_in(std::string_view content) {
  return message_of([&] { read(content); });
}

std::vector<Sentence> lines(const std::string& content, Tokens kind) {
  std::istringstream stream(content);
  return read_lines(stream, kind);
}

}  // namespace

TEST_CASE("a line is a source, a tab and a target, each split in its own way") {
  const auto pairs = read("ab c\td e\nf\tg h\n", Tokens::chars, Tokens::words);
  REQUIRE(pairs.size() == 2);
  CHECK(pairs[0].source == Sentence{"a", "b", " ", "c"});
  CHECK(pairs[0].target == Sentence{"d", "e"});
  CHECK(pairs[0].line == 1);
  CHECK(pairs[1].source == Sentence{"f"});
  CHECK(pairs[1].target == Sentence{"g", "h"});
  CHECK(pairs[1].line == 2);
}

TEST_CASE("further columns are ignored, even empty ones") {
  const auto pairs = read("a\tb\tc\td\ne\tf\t\ng\th\t\t\n");
  REQUIRE(pairs.size() == 3);
  CHECK(pairs[0].target == Sentence{"b"});
  CHECK(pairs[1].target == Sentence{"f"});
  CHECK(pairs[2].target == Sentence{"h"});
}

TEST_CASE("byte-order mark, CRLF and a missing final newline change nothing") {
  const auto plain = read("a b\tc\nd\te f\n");
  for (const char* same : {"\uFEFFa b\tc\nd\te f\n", "a b\tc\r\nd\te f\r\n", "a b\tc\r\nd\te f\n",
                           "a b\tc\nd\te f", "a b\tc\nd\te f\r", "  a  b \t c \nd\te  f \n",
                           "a b\tc\nd\te f\n\n", "a b\tc\nd\te f\n \r\n\u00A0\n"}) {
    const auto pairs = read(same);
    REQUIRE(pairs.size() == plain.size());
    for (std::size_t i = 0; i < plain.size(); ++i) {
      CHECK(pairs[i].source == plain[i].source);
      CHECK(pairs[i].target == plain[i].target);
      CHECK(pairs[i].line == plain[i].line);
    }
  }
}

TEST_CASE("no-break spaces and line separators stay in their words") {
  const auto pairs = read("10\u00A0000 a\u202Fb\tc\u2028d e\u200Bf\n");
  REQUIRE(pairs.size() == 1);
  CHECK(pairs[0].source == Sentence{"10\u00A0000", "a\u202Fb"});
  CHECK(pairs[0].target == Sentence{"c\u2028d", "e\u200Bf"});
}

TEST_CASE("one line is a file, and duplicates stay") {
  CHECK(read("a\tb").size() == 1);
  CHECK(read("a\tb\na\tb\na\tc\n").size() == 3);
}

TEST_CASE("literal specials are text") {
  CHECK(read("<unk> <pad>\t<eos>\n")[0].source == Sentence{"<unk>", "<pad>"});
}

TEST_CASE("a 1 MB line is read") {
  const std::string side(1 << 20, 'a');
  CHECK(read(side + "\tb\n", Tokens::chars)[0].source.size() == side.size());
  CHECK(read(side + "\tb\n", Tokens::words)[0].source.size() == 1);
}

TEST_CASE("malformed lines are errors that name file and line") {
  CHECK(contains(fault_in("a\tb\nno tab here\n"), "data.tsv: line 2: no tab"));
  CHECK(contains(fault_in("a\tb\n\tb\n"), "line 2: the source"));
  CHECK(contains(fault_in("a\t\n"), "line 1: the target"));
  CHECK(contains(fault_in("a\t\tc\n"), "line 1: the target"));
  CHECK(contains(fault_in("  \tb\n"), "line 1: the source"));
  CHECK(contains(fault_in("a\t \r\n"), "line 1: the target"));
  CHECK(contains(fault_in("a\t\u00A0\u200B\n"), "line 1: the target"));
  CHECK(contains(fault_in("a\tb\n\t\n"), "line 2: the source"));
  CHECK(contains(fault_in("a\tb\n\n\nc\td\n"), "line 2: blank"));
  CHECK(contains(fault_in("a\tb\nc\td\xE9\n"), "line 2, byte 4: 0xe9"));
  CHECK(contains(fault_in(std::string_view("a\tb\nc\0\td\n", 9)), "line 2, byte 2: NUL"));
}

TEST_CASE("files without pairs are errors that name the file") {
  for (const char* content : {"", "\n", " \n\n", "\uFEFF"}) {
    CHECK(contains(fault_in(content), "data.tsv: empty"));
  }
  CHECK(contains(fault_in("\x1F\x8B\x08 and so on"),
                 "data.tsv: not plain text but compressed by gzip"));
  const TemporaryFolder folder;
  const auto read_path = [](const std::filesystem::path& path) {
    return message_of([&] { read_tsv(path, Tokens::words, Tokens::words); });
  };
  CHECK(contains(read_path(folder / "none.tsv"), "none.tsv: cannot be opened: No such file"));
  CHECK(contains(read_path(folder / ""), "a folder"));
}

TEST_CASE("a name that the system refuses is an error that names the file") {
  const std::string name(5000, 'x');
  const std::string message = message_of([&] { read_tsv(name, Tokens::words, Tokens::words); });
  CHECK(contains(message, name + ": cannot be opened: "));
}

TEST_CASE("lines to translate: empty ones count, a TSV gives its sources") {
  CHECK(lines("a b\n\n c \n", Tokens::words) == std::vector<Sentence>{{"a", "b"}, {}, {"c"}});
  CHECK(lines("ab\r\nc", Tokens::chars) == std::vector<Sentence>{{"a", "b"}, {"c"}});
  CHECK(lines("a b\tc d\ne\tf\tg\n", Tokens::words) == std::vector<Sentence>{{"a", "b"}, {"e"}});
  CHECK(lines("", Tokens::words).empty());
  CHECK(contains(message_of([] { lines("a\n\xFF\n", Tokens::words); }),
                 "standard input: line 2, byte 1"));
}

TEST_CASE("sources that train and dev share are counted, tokens not lines compared") {
  const auto train = read("a b\tx\nc\ty\n");
  const auto dev = read("a  b\tz\nd\tx\nc\ty\nc\tw\nab\tx\n");
  CHECK(count_shared_sources(train, dev) == 3);
  CHECK(count_shared_sources({}, dev) == 0);
  CHECK(count_shared_sources(train, {}) == 0);
}
