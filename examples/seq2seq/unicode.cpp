#include "examples/seq2seq/unicode.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <utf8proc.h>

namespace regrad::seq2seq {
namespace {

CodePoint first_of(std::string_view text) {
  CodePoint point;
  const auto bytes = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                      static_cast<utf8proc_ssize_t>(text.size()), &point.value);
  point.bytes = text.substr(0, bytes < 1 ? 1 : static_cast<std::size_t>(bytes));
  return point;
}

bool is_invisible(const CodePoint& point) {
  if (point.value < 0) return false;
  switch (utf8proc_category(point.value)) {
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
      return true;
    default:
      return false;
  }
}

bool is_mark(const CodePoint& point) {
  if (point.value < 0) return false;
  const auto category = utf8proc_category(point.value);
  return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC ||
         category == UTF8PROC_CATEGORY_ME;
}

// C0 controls and DEL have pictures at U+2400; C1 controls have none.
std::string picture_of(const CodePoint& point) {
  if (point.value < 0 || (point.value >= 0x80 && point.value < 0xA0)) return "\uFFFD";
  if (point.value >= 0x20 && point.value != 0x7F) return std::string(point.bytes);
  const int picture = point.value == 0x7F ? 0x21 : point.value;
  return std::string("\xE2\x90") + static_cast<char>(0x80 + picture);
}

std::string spelled_out(const CodePoint& point) {
  if (point.value == ' ') return "␣";
  return point.value < 0x80 ? picture_of(point) : fmt::format("U+{:04X}", point.value);
}

}  // namespace

std::vector<CodePoint> code_points(std::string_view text) {
  std::vector<CodePoint> points;
  for (; !text.empty(); text.remove_prefix(points.back().bytes.size())) {
    points.push_back(first_of(text));
  }
  return points;
}

std::vector<std::string> grapheme_clusters(std::string_view text) {
  std::vector<std::string> clusters;
  utf8proc_int32_t previous = 0, state = 0;
  for (const CodePoint& point : code_points(text)) {
    if (clusters.empty() || utf8proc_grapheme_break_stateful(previous, point.value, &state)) {
      clusters.emplace_back(point.bytes);
    } else {
      clusters.back() += point.bytes;
    }
    previous = point.value;
  }
  return clusters;
}

bool is_blank(std::string_view text) {
  return std::ranges::all_of(code_points(text), is_invisible);
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (const CodePoint& point : code_points(text)) {
    width += point.value < 0 ? 1 : static_cast<std::size_t>(utf8proc_charwidth(point.value));
  }
  return width;
}

std::string without_controls(std::string_view text) {
  std::string shown;
  for (const CodePoint& point : code_points(text)) shown += picture_of(point);
  return shown;
}

std::string visible(std::string_view token) {
  const auto points = code_points(token);
  if (points.empty()) return {};
  if (is_mark(points.front())) return "◌" + without_controls(token);
  if (!is_blank(token)) return without_controls(token);
  std::string spelled;
  for (const CodePoint& point : points) spelled += spelled_out(point);
  return spelled;
}

}  // namespace regrad::seq2seq
