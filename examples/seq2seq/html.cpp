#include "examples/seq2seq/html.h"

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "examples/seq2seq/unicode.h"

namespace regrad::seq2seq {
namespace {

constexpr std::string_view style = R"(
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1b1f24; --faint: #68707b;
  --rule: #d9dee5; --card: #f5f7fa; --heat: #1d4ed8; --on-heat: #ffffff;
  --line-1: #1d4ed8; --line-2: #c2410c; --line-3: #15803d; --bad: #b42318; --good: #15803d; }
@media (prefers-color-scheme: dark) { :root { --paper: #12151a; --ink: #e4e8ee; --faint: #98a2b0;
  --rule: #303742; --card: #1a1f27; --heat: #fbbf24; --on-heat: #1b1200;
  --line-1: #6ea8fe; --line-2: #fb923c; --line-3: #4ade80; --bad: #f97066; --good: #4ade80; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 60rem; padding: 1.5rem 1.25rem 4rem; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.7rem; margin: 0 0 .25rem; line-height: 1.2; }
h2 { font-size: 1.15rem; margin: 2.5rem 0 .75rem; padding-bottom: .3rem;
  border-bottom: 1px solid var(--rule); }
p { margin: .5rem 0; }
.faint { color: var(--faint); }
.tiles { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1.25rem 0 0; }
.tile { background: var(--card); border-radius: .6rem; padding: .7rem 1rem; min-width: 8.5rem; }
.tile b { display: block; font-size: 1.45rem; font-variant-numeric: tabular-nums; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .92rem; }
th, td { text-align: left; padding: .3rem .9rem .3rem 0; border-bottom: 1px solid var(--rule);
  vertical-align: top; }
th { font-weight: 600; color: var(--faint); white-space: nowrap; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
td.text { white-space: pre-wrap; overflow-wrap: anywhere; min-width: 8rem; }
.settings { columns: 18rem 3; column-gap: 2.5rem; margin: 0; }
.settings div { display: flex; justify-content: space-between; gap: 1rem; break-inside: avoid;
  padding: .15rem 0; border-bottom: 1px solid var(--rule); font-size: .92rem; }
.settings dt { color: var(--faint); }
.settings dd { margin: 0; text-align: right; overflow-wrap: anywhere; }
.right { color: var(--good); } .wrong { color: var(--bad); }
svg { display: block; max-width: 100%; height: auto; }
svg text { font-family: system-ui, sans-serif; }
figure { margin: 0 0 1.5rem; }
figcaption { font-size: .92rem; margin-bottom: .3rem; }
.maps { display: flex; flex-wrap: wrap; gap: 1.5rem 2rem; align-items: flex-start; }
.maps figure { max-width: 100%; }
.key { display: inline-block; width: .8rem; height: .8rem; border-radius: .2rem;
  margin: 0 .35rem 0 1rem; vertical-align: -.05rem; }
)";

}  // namespace

std::string escape_html(std::string_view text) {
  std::string escaped;
  while (!text.empty()) {
    const CodePoint point = take_code_point(text);
    switch (point.value) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      case '\t':
      case '\n':
        escaped += point.bytes;
        break;
      default:
        escaped += without_controls(point.bytes);
    }
  }
  return escaped;
}

std::string html_page(std::string_view title, std::string_view body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
      escape_html(title), style, body);
}

}  // namespace regrad::seq2seq
