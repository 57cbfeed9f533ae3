#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "examples/seq2seq/text.h"

namespace regrad::seq2seq {

// Attention weights: one row for each output token, one column for each source token.
struct HeatMap {
  Sentence rows, columns;
  std::vector<double> weights;  // [rows, columns], from 0 to 1

  double at(std::size_t row, std::size_t column) const {
    return weights[row * columns.size() + column];
  }
};

// ascii: " .:-=+*x#@", for any terminal; shades: Unicode blocks; colour: backgrounds of the
// 256-colour palette, from near black to near white, which stand out on dark and light terminals.
enum class Ink { ascii, shades, colour };

// The matrix as lines of text of at most `width` columns: with weights in per cent where that fits,
// else cells only, else in several panels side by side made one below the other. Throws Error when
// there are not rows x columns weights.
std::string draw_text(const HeatMap& map, Ink ink, std::size_t width = 80);

// The matrix as an <svg> element that takes its text colour from the page. Throws as draw_text.
std::string draw_svg(const HeatMap& map);

}  // namespace regrad::seq2seq
