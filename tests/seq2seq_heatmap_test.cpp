#include <algorithm>
#include <cstddef>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "examples/seq2seq/heatmap.h"
#include "examples/seq2seq/unicode.h"
#include "tests/nn_check.h"

using namespace regrad;
using namespace regrad::seq2seq;
using regrad::testing::contains;
using regrad::testing::message_of;

namespace {

using Lines = std::vector<std::string>;

// What a reversal looks like: the rows are the columns backwards.
HeatMap reversal(const Sentence& columns) {
  HeatMap map{{columns.rbegin(), columns.rend()}, columns, {}};
  const std::size_t n = columns.size();
  map.weights.assign(n * n, 0);
  for (std::size_t row = 0; row < n; ++row) map.weights[row * n + n - 1 - row] = 1;
  return map;
}

Sentence numbered(std::size_t n) {
  Sentence tokens;
  for (std::size_t i = 0; i < n; ++i) tokens.push_back(fmt::format("w{}", i));
  return tokens;
}

Lines lines_of(const std::string& text) {
  std::istringstream stream(text);
  Lines lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Without the escapes that change colours.
std::string plain(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      i = text.find('m', i);
    } else {
      result += text[i];
    }
  }
  return result;
}

}  // namespace

TEST_CASE("a reversal is an anti-diagonal in every ink") {
  const HeatMap map = reversal({"a", "b", "c"});
  CHECK(lines_of(draw_text(map, Ink::ascii)) == Lines{"  a     b     c",  //
                                                      "c     .     . @@100", "b     . @@100     .",
                                                      "a @@100     .     ."});
  CHECK(lines_of(draw_text(map, Ink::shades)) == Lines{"  a     b     c",  //
                                                       "c     ·     · ██100", "b     · ██100     ·",
                                                       "a ██100     ·     ·"});
  const Lines colour = lines_of(draw_text(map, Ink::colour));
  REQUIRE(colour.size() == 4);
  CHECK(contains(colour[1], "\x1b[48;5;230;38;5;16m 100 \x1b[0m"));
  CHECK(colour[1].find("48;5;233") < colour[1].find("48;5;230"));
  CHECK(colour[3].find("48;5;233") > colour[3].find("48;5;230"));
}

TEST_CASE("numbers are per cent and shades follow them") {
  const HeatMap map{{"x"}, {"a", "b", "c", "d", "e"}, {0.004, 0.06, 0.3, 0.6, 0.8}};
  CHECK(lines_of(draw_text(map, Ink::shades))[1] == "x     · ░░  6 ▒▒ 30 ▓▓ 60 ██ 80");
}

TEST_CASE("columns line up whatever the tokens are") {
  const Sentence tokens = {"a",     "漢字", "e\u0301", " ", "\u0301", "a very long token indeed",
                           "\u200B"};
  for (const Ink ink : {Ink::ascii, Ink::shades, Ink::colour}) {
    for (const std::size_t width : {200, 60, 30}) {
      HeatMap map = reversal(tokens);
      for (double& weight : map.weights) weight = 0.5;
      for (const std::string& line : lines_of(plain(draw_text(map, ink, width)))) {
        if (!contains(line, "50")) continue;
        // Every cell ends at the same place in every line.
        CHECK(display_width(line) == display_width(lines_of(plain(draw_text(map, ink, width)))[1]));
      }
    }
  }
}

TEST_CASE("no line is wider than asked for; the columns that do not fit get panels of their own") {
  const HeatMap map = reversal(numbered(30));
  for (const Ink ink : {Ink::ascii, Ink::shades, Ink::colour}) {
    for (const std::size_t width : {20, 40, 80, 200}) {
      const std::string text = plain(draw_text(map, ink, width));
      for (const std::string& line : lines_of(text)) CHECK(display_width(line) <= width);
      for (const std::string& token : map.columns) CHECK(contains(text, token));
    }
  }
  CHECK(contains(draw_text(map, Ink::ascii, 40), "\n\n"));
  CHECK_FALSE(contains(draw_text(map, Ink::ascii, 200), "\n\n"));
}

TEST_CASE("a wide matrix of characters fits by giving up the numbers") {
  const Sentence letters(30, "a");
  const std::string text = draw_text(reversal(letters), Ink::ascii, 80);
  CHECK_FALSE(contains(text, "100"));
  CHECK(lines_of(text).size() == 31);
  CHECK(lines_of(text)[1] == fmt::format("a{:>61}", "@@"));
}

TEST_CASE("weights that are no weights are shown, not hidden") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const HeatMap map{{"x"}, {"a", "b", "c", "d"}, {nan, infinity, -0.5, 1e9}};
  for (const Ink ink : {Ink::ascii, Ink::shades, Ink::colour}) {
    const std::string row = lines_of(plain(draw_text(map, ink)))[1];
    CHECK(std::ranges::count(row, '?') == 2);
    CHECK(contains(row, "-50"));
  }
  CHECK_FALSE(draw_svg(map).empty());
}

TEST_CASE("nothing to show is no fault") {
  CHECK(draw_text({}, Ink::ascii) == "\n");
  CHECK(draw_text({{}, {"a"}, {}}, Ink::ascii) == "  a\n");
  CHECK(lines_of(draw_text({{"x"}, {}, {}}, Ink::colour)) == Lines{"", "x"});
  CHECK(contains(draw_svg({}), "<svg"));
}

TEST_CASE("a wrong number of weights is an error") {
  const HeatMap map{{"x"}, {"a", "b"}, {1}};
  CHECK(contains(message_of([&] { draw_text(map, Ink::ascii); }),
                 "1 weights for 1 rows and 2 columns"));
  CHECK(contains(message_of([&] { draw_svg(map); }), "1 weights"));
}

TEST_CASE("the picture has a cell for each weight, from top right to bottom left, and escapes") {
  const std::string svg = draw_svg(reversal({"<b>", "\"", "\x1B"}));
  CHECK_FALSE(contains(svg, "<b>"));
  CHECK(contains(svg, "&lt;b&gt;"));
  CHECK_FALSE(contains(svg, "\x1B"));
  CHECK(contains(svg, "&lt;b&gt; from &lt;b&gt;: 1.000"));
  const auto first = svg.find("from ␛: 1.000"), last = svg.find("from &lt;b&gt;: 1.000");
  CHECK(first < last);
  CHECK(last != std::string::npos);
}
