#include "examples/seq2seq/chart.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "examples/seq2seq/html.h"

namespace regrad::seq2seq {
namespace {

constexpr double left = 52, right = 696, top = 8, bottom = 212;  // of the drawing area
constexpr std::size_t most_points = 400, most_markers = 40;

// Points without those that are not finite, then means of equally many neighbours.
std::vector<Point> thinned(const std::vector<Point>& points) {
  std::vector<Point> finite;
  std::ranges::copy_if(points, std::back_inserter(finite), [](const Point& point) {
    return std::isfinite(point.x) && std::isfinite(point.y);
  });
  const std::size_t group = (finite.size() + most_points - 1) / most_points;
  std::vector<Point> means;
  for (std::size_t begin = 0; begin < finite.size(); begin += group) {
    const std::size_t end = std::min(begin + group, finite.size());
    Point mean{0, 0};
    for (std::size_t i = begin; i < end; ++i) {
      mean.x += finite[i].x / static_cast<double>(end - begin);
      mean.y += finite[i].y / static_cast<double>(end - begin);
    }
    means.push_back(mean);
  }
  return means;
}

// The least of 1, 2 and 5 times a power of ten that divides [0, top] into at most five parts.
double tick_for(double largest) {
  const double least = std::max(largest, 1e-12) / 5;
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

struct Axis {
  double tick, end;  // from 0

  explicit Axis(double largest) : tick(tick_for(largest)), end(tick * std::ceil(largest / tick)) {
    if (!(end > 0)) end = tick;
  }
};

double at_x(double x, const Axis& axis) { return left + (right - left) * x / axis.end; }
double at_y(double y, const Axis& axis) { return bottom - (bottom - top) * y / axis.end; }

std::string draw_axes(const Axis& x, const Axis& y, std::string_view x_label) {
  std::string svg = "<g font-size=\"12\" style=\"fill:var(--faint,#68707b)\">\n";
  for (double value = 0; value < y.end + y.tick / 2; value += y.tick) {
    svg += fmt::format(
        "<path d=\"M{} {:.1f}H{}\" style=\"stroke:var(--rule,#d9dee5)\"/>"
        "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{:.4g}</text>\n",
        left, at_y(value, y), right, left - 8, at_y(value, y) + 4, value);
  }
  for (double value = 0; value < x.end + x.tick / 2; value += x.tick) {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{:.10g}</text>\n",
                       at_x(value, x), bottom + 18, value);
  }
  return svg + fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n</g>\n",
                           (left + right) / 2, bottom + 36, escape_html(x_label));
}

std::string draw_line(const std::vector<Point>& points, const Axis& x, const Axis& y,
                      std::string_view colour) {
  std::string path, markers;
  for (const Point& point : points) {
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", at_x(point.x, x),
                        at_y(point.y, y));
    markers += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" style=\"fill:{}\"/>\n",
                           at_x(point.x, x), at_y(point.y, y), colour);
  }
  return fmt::format(
             "<path d=\"{}\" fill=\"none\" stroke-width=\"2\" stroke-linejoin=\"round\" "
             "style=\"stroke:{}\"/>\n",
             path, colour) +
         (points.size() <= most_markers ? markers : "");
}

}  // namespace

std::string draw_chart(std::string_view title, std::string_view x_label,
                       const std::vector<Series>& lines) {
  std::vector<std::pair<std::string, std::vector<Point>>> drawn;
  double largest_x = 0, largest_y = 0;
  for (const Series& series : lines) {
    auto points = thinned(series.points);
    if (points.empty()) continue;
    for (const Point& point : points) {
      largest_x = std::max(largest_x, point.x);
      largest_y = std::max(largest_y, point.y);
    }
    drawn.emplace_back(series.name, std::move(points));
  }
  if (drawn.empty()) return {};
  const Axis x(largest_x), y(largest_y);
  std::string key, svg = draw_axes(x, y, x_label);
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const std::string colour = fmt::format("var(--line-{})", i + 1);
    key += fmt::format("<span class=\"key\" style=\"background:{}\"></span>{}", colour,
                       escape_html(drawn[i].first));
    svg += draw_line(drawn[i].second, x, y, colour);
  }
  return fmt::format(
      "<figure>\n<figcaption><b>{}</b>{}</figcaption>\n"
      "<svg viewBox=\"0 0 720 256\" width=\"720\" height=\"256\" role=\"img\">\n{}</svg>\n"
      "</figure>\n",
      escape_html(title), key, svg);
}

}  // namespace regrad::seq2seq
