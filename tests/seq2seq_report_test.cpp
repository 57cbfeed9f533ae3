#include <cstddef>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "examples/seq2seq/chart.h"
#include "examples/seq2seq/html.h"
#include "examples/seq2seq/jsonl.h"
#include "examples/seq2seq/report.h"
#include "tests/nn_check.h"

using namespace regrad;
using namespace regrad::seq2seq;
using regrad::testing::contains;
using regrad::testing::message_of;
using regrad::testing::TemporaryFolder;

namespace {

const std::string hostile = "<script>alert('x')</script>&\"\x01\xFF";

Report full_report(const std::string& text) {
  Scores scores;
  scores.exact_match = 0.875;
  scores.bleu = 91.25;
  scores.examples = 8;
  Report report;
  report.title = text;
  report.configuration = {{"task", text}, {text, "64"}};
  for (std::size_t step = 1; step <= 1000; ++step) report.training.push_back({step, 1.0 / step});
  report.dev = {{500, scores}, {1000, scores}};
  report.final_scores = scores;
  report.by_source_length = {{3, scores}, {12, scores}};
  report.samples = {{text, "abc", "abc"}, {"cba", text, "abd"}, {"cba", "abc", text}};
  report.heat_maps = {{{text, "b"}, {"a", text}, {0.9, 0.1, 0.2, 0.8}}};
  return report;
}

// The first closing tag that does not close what is open, or what is left open; "" if none.
std::string unbalanced(const std::string& html) {
  std::vector<std::string> open;
  for (std::size_t at = html.find('<'); at != std::string::npos; at = html.find('<', at + 1)) {
    const std::string tag = html.substr(at + 1, html.find('>', at) - at - 1);
    const bool closes = tag.front() == '/';
    const std::string name = tag.substr(closes ? 1 : 0, tag.find(' '));
    if (name == "!DOCTYPE" || name == "meta" || tag.back() == '/') continue;
    if (!closes) {
      open.push_back(name);
    } else if (open.empty() || open.back() != name) {
      return tag;
    } else {
      open.pop_back();
    }
  }
  return open.empty() ? "" : open.back();
}

std::string content_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void put(const std::filesystem::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

}  // namespace

TEST_CASE("the report shows all that it is given") {
  const std::string html = render(full_report("Reversal"));
  for (const char* part :
       {"<title>Reversal</title>", "87.5 %", "91.2", "training loss", "dev nll", "Attention", "abd",
        "✓", "✗", "<th>12</th>", "<dt>task</dt>", "prefers-color-scheme: dark"}) {
    CAPTURE(part);
    CHECK(contains(html, part));
  }
  CHECK(unbalanced(html) == "");
}

TEST_CASE("the report escapes every text") {
  const std::string html = render(full_report(hostile));
  CHECK_FALSE(contains(html, "<script"));
  CHECK_FALSE(contains(html, "'x'"));
  CHECK_FALSE(contains(html, "\x01"));
  CHECK_FALSE(contains(html, "\xFF"));
  CHECK(contains(html, "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;&quot;␁\uFFFD"));
  CHECK(unbalanced(html) == "");
}

TEST_CASE("the report needs no other file, no network and no script") {
  const std::string html = render(full_report("x"));
  for (const char* part : {"src=", "href=", "url(", "@import", "<script", "<link"}) {
    CHECK_FALSE(contains(html, part));
  }
}

TEST_CASE("what the report is not given is left out") {
  const std::string html = render({});
  for (const char* part : {"<h2>", "<table", "<svg", "nan"}) CHECK_FALSE(contains(html, part));
  CHECK(unbalanced(html) == "");
}

TEST_CASE("numbers that are not finite break no chart") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(draw_chart("loss", "step", {{"a", {{1, nan}, {2, infinity}}}, {"b", {}}}).empty());
  const std::string chart = draw_chart("loss", "step", {{"a", {{1, nan}, {2, 3}, {3, infinity}}}});
  CHECK_FALSE(contains(chart, "nan"));
  CHECK_FALSE(contains(chart, "inf"));
  CHECK(contains(chart, "<circle"));
}

TEST_CASE("charts of zeros, of one point and of very many points are drawn") {
  for (const double value : {0.0, 1e-9, 1.0, 1e300}) {
    const std::string chart = draw_chart("loss", "step", {{"a", {{0, value}}}});
    CHECK(contains(chart, "<circle"));
    CHECK_FALSE(contains(chart, "nan"));
    CHECK_FALSE(contains(chart, "inf"));
  }
  std::vector<Point> many;
  for (int i = 0; i < 100'000; ++i) many.push_back({static_cast<double>(i), 1.0});
  CHECK(draw_chart("loss", "step", {{"a", many}}).size() < 20'000);
}

TEST_CASE("a file is replaced whole, or the old one stays") {
  const TemporaryFolder folder;
  write_file(folder / "report.html", "old");
  write_file(folder / "report.html", "new content");
  CHECK(content_of(folder / "report.html") == "new content");
  CHECK(folder.file_count() == 1);
  CHECK(contains(message_of([&] { write_file(folder / "none/report.html", "x"); }),
                 "none/report.html"));
}

TEST_CASE("a line of JSON is added at a time") {
  const TemporaryFolder folder;
  const auto path = folder / "metrics.jsonl";
  append_line(path, {{"step", 1}, {"bleu", nullptr}});
  CHECK(content_of(path) == "{\"step\":1,\"bleu\":null}\n");
  append_line(path, {{"step", 2}, {"text", "a\nb\xFF"}});
  CHECK(content_of(path) == "{\"step\":1,\"bleu\":null}\n{\"step\":2,\"text\":\"a\\nb\uFFFD\"}\n");
}

TEST_CASE("a line that a kill cut short goes before the next one") {
  const TemporaryFolder folder;
  const auto path = folder / "metrics.jsonl";
  put(path, "{\"step\":1}\n{\"ste");
  append_line(path, {{"step", 2}});
  CHECK(content_of(path) == "{\"step\":1}\n{\"step\":2}\n");
  put(path, "{\"st");
  append_line(path, {{"step", 3}});
  CHECK(content_of(path) == "{\"step\":3}\n");
}

TEST_CASE("a line that cannot be added is an error that names the file") {
  const TemporaryFolder folder;
  CHECK(contains(message_of([&] { append_line(folder / "none/metrics.jsonl", {}); }),
                 "none/metrics.jsonl: cannot be opened: No such file"));
  CHECK(contains(message_of([&] { append_line(folder / "", {}); }), "cannot be opened"));
}
