#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "examples/seq2seq/heatmap.h"

namespace regrad::seq2seq {

enum class Stream { in, out, err };

bool is_terminal(Stream stream);
// Of the terminal; 0 where there is none.
std::size_t terminal_columns(Stream stream);
// Of a terminal on which a line can be drawn again in its place; 0 where there is none.
std::size_t redraw_columns(Stream stream);
// What standard output can show: colours on a terminal, unless NO_COLOR is set; else shades where
// the locale is UTF-8.
Ink output_ink();

// As a shell reads it back as one word.
std::string shell_quoted(std::string_view word);

}  // namespace regrad::seq2seq
