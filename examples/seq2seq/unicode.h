#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace regrad::seq2seq {

struct CodePoint {
  std::int32_t value = -1;  // -1: the byte is not UTF-8
  std::string_view bytes;   // at least one
};

// Removes the first code point from `text`, which must not be empty.
CodePoint take_code_point(std::string_view& text);

// The extended grapheme clusters of UAX 29.
std::vector<std::string> grapheme_clusters(std::string_view text);

// True where there is nothing to be seen: spaces of any kind, controls, zero-width characters.
bool is_blank(std::string_view text);

// Columns that the text takes in a terminal: 2 for East Asian wide, 0 for combining characters.
std::size_t display_width(std::string_view text);

// Controls become pictures, what is not UTF-8 the replacement character: safe for any terminal.
std::string without_controls(std::string_view text);

// The token as it can be shown on its own: without_controls, and what is nothing but space is
// spelled out, and a lone combining mark gets a circle to stand on.
std::string visible(std::string_view token);

}  // namespace regrad::seq2seq
