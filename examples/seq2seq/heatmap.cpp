#include "examples/seq2seq/heatmap.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "examples/seq2seq/html.h"
#include "examples/seq2seq/unicode.h"
#include "ops/error.h"

namespace regrad::seq2seq {
namespace {

constexpr std::size_t longest_label = 12, longest_row_label = 16, number_width = 3;
constexpr std::array<std::string_view, 5> shades = {" ", "░", "▒", "▓", "█"};
constexpr std::string_view ascii_ramp = " .:-=+*x#@";
// Dark to light by way of purple, red and yellow; black text from the sixth on.
constexpr std::array<int, 10> palette = {233, 53, 90, 126, 161, 203, 209, 215, 222, 230};

struct Layout {
  std::size_t row_label, cell;
  bool numbers;
  std::size_t columns;  // of one panel
};

// 0 to count - 1; weights below 0.05 and what is not a number count as nothing.
std::size_t level(double weight, std::size_t count) {
  if (!(weight >= 0.05)) return 0;
  const auto steps = static_cast<double>(count - 1);
  return 1 + static_cast<std::size_t>(std::min(weight * steps, steps - 1));
}

std::string number(double weight, Ink ink) {
  if (!std::isfinite(weight)) return "  ?";
  const double percent = std::clamp(std::round(100 * weight), -99.0, 999.0);
  if (percent == 0) return ink == Ink::ascii ? "  ." : "  ·";
  return fmt::format("{:3.0f}", percent);
}

std::string spaces(std::size_t count) { return std::string(count, ' '); }

std::string repeated(std::string_view piece, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += piece;
  return text;
}

// The label cut to `width` terminal columns; what was cut off leaves a mark.
std::string shortened(std::string_view token, std::size_t width, Ink ink) {
  const std::string label = visible(token);
  if (display_width(label) <= width) return label;
  std::string text;
  for (const std::string& cluster : grapheme_clusters(label)) {
    if (display_width(text + cluster) >= width) break;
    text += cluster;
  }
  return text + (ink == Ink::ascii ? "~" : "…");
}

std::string padded(std::string_view token, std::size_t width, Ink ink) {
  const std::string label = shortened(token, width, ink);
  return label + spaces(width - display_width(label));
}

std::size_t widest(const Sentence& tokens, std::size_t limit) {
  std::size_t width = 1;
  for (const std::string& token : tokens) width = std::max(width, display_width(visible(token)));
  return std::min(width, limit);
}

Layout layout_for(const HeatMap& map, Ink ink, std::size_t width) {
  Layout layout{widest(map.rows, longest_row_label), 0, true, map.columns.size()};
  const std::size_t label = widest(map.columns, longest_label);
  const std::size_t room = width > layout.row_label + 1 ? width - layout.row_label - 1 : 1;
  layout.cell = std::max<std::size_t>(label + 1, ink == Ink::colour ? 5 : 6);
  if (layout.cell * map.columns.size() <= room) return layout;
  layout.numbers = false;
  layout.cell = std::max<std::size_t>(std::min<std::size_t>(label, 7) + 1, 2);
  layout.columns = std::max<std::size_t>(room / layout.cell, 1);
  return layout;
}

std::string draw_cell(double weight, Ink ink, const Layout& layout) {
  const std::string text = layout.numbers ? number(weight, ink) : "";
  const std::size_t free = layout.cell - (layout.numbers ? number_width : 0);
  if (ink == Ink::colour) {
    const std::size_t shade = level(weight, palette.size()), left = free / 2;
    return fmt::format("\x1b[48;5;{};38;5;{}m{}{}{}", palette[shade], shade < 5 ? 250 : 16,
                       spaces(left), text, spaces(free - left));
  }
  const std::string_view piece = ink == Ink::ascii
                                     ? ascii_ramp.substr(level(weight, ascii_ramp.size()), 1)
                                     : shades[level(weight, shades.size())];
  return layout.numbers ? repeated(piece, free - 1) + text + " " : repeated(piece, free);
}

void remove_trailing_spaces(std::string& line) { line.erase(line.find_last_not_of(' ') + 1); }

std::string draw_panel(const HeatMap& map, Ink ink, const Layout& layout, std::size_t begin) {
  const std::size_t end = std::min(begin + layout.columns, map.columns.size());
  std::string header = spaces(layout.row_label + 1);
  for (std::size_t column = begin; column < end; ++column) {
    header += padded(map.columns[column], layout.cell - 1, ink) + " ";
  }
  remove_trailing_spaces(header);
  std::string panel = header + "\n";
  for (std::size_t row = 0; row < map.rows.size(); ++row) {
    const std::string label = shortened(map.rows[row], layout.row_label, ink);
    std::string line = spaces(layout.row_label - display_width(label)) + label + " ";
    for (std::size_t column = begin; column < end; ++column) {
      line += draw_cell(map.at(row, column), ink, layout);
    }
    if (ink == Ink::colour && begin < end) line += "\x1b[0m";
    remove_trailing_spaces(line);
    panel += line + "\n";
  }
  return panel;
}

void check(const HeatMap& map) {
  if (map.weights.size() != map.rows.size() * map.columns.size()) {
    fail("heat map: {} weights for {} rows and {} columns; give one for each cell",
         map.weights.size(), map.rows.size(), map.columns.size());
  }
}

// Sizes in the units of the picture.
struct Picture {
  std::size_t cell, left, top, width, height;
  bool numbers, slanted;  // the column labels
};

constexpr std::size_t letter_width = 8;  // of the labels' font, about

Picture picture_of(const HeatMap& map) {
  const std::size_t count = std::max(map.columns.size(), map.rows.size());
  const std::size_t label = letter_width * widest(map.columns, longest_row_label);
  Picture picture{};
  picture.cell = count <= 16 ? 30 : count <= 40 ? 18 : 12;
  picture.numbers = picture.cell == 30;
  picture.slanted = label > picture.cell;
  picture.left = letter_width * widest(map.rows, longest_row_label) + 12;
  picture.top = picture.slanted ? label + 10 : 24;
  picture.width = picture.left + picture.cell * map.columns.size() + (picture.slanted ? label : 4);
  picture.height = picture.top + picture.cell * map.rows.size() + 4;
  return picture;
}

std::string svg_label(const std::string& token, std::string_view place) {
  return fmt::format("<text {}>{}</text>\n", place,
                     escape_html(shortened(token, longest_row_label, Ink::shades)));
}

std::string svg_labels(const HeatMap& map, const Picture& picture) {
  std::string svg = fmt::format("<g font-size=\"{}\" fill=\"currentColor\">\n",
                                std::min<std::size_t>(picture.cell - 1, 14));
  const std::size_t half = picture.cell / 2;
  for (std::size_t column = 0; column < map.columns.size(); ++column) {
    const std::size_t x = picture.left + column * picture.cell + half, y = picture.top - 8;
    svg +=
        svg_label(map.columns[column],
                  picture.slanted ? fmt::format("transform=\"translate({} {}) rotate(-50)\"", x, y)
                                  : fmt::format("x=\"{}\" y=\"{}\" text-anchor=\"middle\"", x, y));
  }
  for (std::size_t row = 0; row < map.rows.size(); ++row) {
    svg += svg_label(map.rows[row],
                     fmt::format("x=\"{}\" y=\"{}\" text-anchor=\"end\"", picture.left - 8,
                                 picture.top + row * picture.cell + half + 5));
  }
  return svg + "</g>\n";
}

std::string svg_cell(const HeatMap& map, const Picture& picture, std::size_t row,
                     std::size_t column) {
  const double weight = map.at(row, column);
  if (!(weight >= 0.005)) return {};
  const std::size_t x = picture.left + column * picture.cell;
  const std::size_t y = picture.top + row * picture.cell;
  std::string svg = fmt::format(
      "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" style=\"fill:var(--heat,#1d4ed8)\" "
      "fill-opacity=\"{:.3f}\"><title>{} from {}: {:.3f}</title></rect>\n",
      x, y, picture.cell - 1, picture.cell - 1, std::min(weight, 1.0),
      escape_html(visible(map.rows[row])), escape_html(visible(map.columns[column])), weight);
  if (picture.numbers && weight >= 0.05) {
    svg += fmt::format(
        "<text x=\"{}\" y=\"{}\" font-size=\"11\" text-anchor=\"middle\" pointer-events=\"none\" "
        "style=\"fill:{}\">{:.0f}</text>\n",
        x + picture.cell / 2, y + picture.cell / 2 + 4,
        weight < 0.5 ? "currentColor" : "var(--on-heat,#fff)", 100 * weight);
  }
  return svg;
}

}  // namespace

std::string draw_text(const HeatMap& map, Ink ink, std::size_t width) {
  check(map);
  const Layout layout = layout_for(map, ink, width);
  std::string text;
  std::size_t begin = 0;
  do {
    if (begin > 0) text += "\n";
    text += draw_panel(map, ink, layout, begin);
    begin += layout.columns;
  } while (begin < map.columns.size());
  return text;
}

std::string draw_svg(const HeatMap& map) {
  check(map);
  const Picture picture = picture_of(map);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" role=\"img\" font-family=\"sans-serif\">\n",
      picture.width, picture.height);
  svg += fmt::format(
      "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"currentColor\" "
      "fill-opacity=\"0.07\"/>\n",
      picture.left, picture.top, picture.cell * map.columns.size(), picture.cell * map.rows.size());
  svg += svg_labels(map, picture);
  for (std::size_t row = 0; row < map.rows.size(); ++row) {
    for (std::size_t column = 0; column < map.columns.size(); ++column) {
      svg += svg_cell(map, picture, row, column);
    }
  }
  return svg + "</svg>\n";
}

}  // namespace regrad::seq2seq
