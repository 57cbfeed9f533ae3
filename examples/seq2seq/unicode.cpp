#include "examples/seq2seq/unicode.h"

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <utf8proc.h>

namespace regrad::seq2seq {
namespace {

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

CodePoint take_code_point(std::string_view& text) {
  CodePoint point;
  const auto bytes = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                      static_cast<utf8proc_ssize_t>(text.size()), &point.value);
  point.bytes = text.substr(0, bytes < 1 ? 1 : static_cast<std::size_t>(bytes));
  text.remove_prefix(point.bytes.size());
  return point;
}

std::vector<std::string> grapheme_clusters(std::string_view text) {
  std::vector<std::string> clusters;
  utf8proc_int32_t previous = 0, state = 0;
  while (!text.empty()) {
    const CodePoint point = take_code_point(text);
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
  while (!text.empty()) {
    if (!is_invisible(take_code_point(text))) return false;
  }
  return true;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const auto value = take_code_point(text).value;
    width += value < 0 ? 1 : static_cast<std::size_t>(utf8proc_charwidth(value));
  }
  return width;
}

std::string without_controls(std::string_view text) {
  std::string shown;
  while (!text.empty()) shown += picture_of(take_code_point(text));
  return shown;
}

std::string visible(std::string_view token) {
  if (token.empty()) return {};
  if (is_blank(token)) {
    std::string spelled;
    while (!token.empty()) spelled += spelled_out(take_code_point(token));
    return spelled;
  }
  std::string_view rest = token;
  const bool stands_alone = !is_mark(take_code_point(rest));
  return (stands_alone ? "" : "◌") + without_controls(token);
}

}  // namespace regrad::seq2seq
