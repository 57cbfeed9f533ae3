#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace regrad::seq2seq {

struct Point {
  double x, y;
};

struct Series {
  std::string name;
  std::vector<Point> points;  // by increasing x; those that are not finite are left out
};

// Up to three lines over common axes, y from 0, as a <figure> with title and key. Long series are
// averaged to as many points as can be told apart. Empty when there is nothing to draw.
std::string draw_chart(std::string_view title, std::string_view x_label,
                       const std::vector<Series>& lines);

}  // namespace regrad::seq2seq
