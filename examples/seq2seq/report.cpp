#include "examples/seq2seq/report.h"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "examples/seq2seq/chart.h"
#include "examples/seq2seq/html.h"
#include "nn/replace_file.h"

namespace regrad::seq2seq {
namespace {

std::string section(std::string_view title, std::string_view body) {
  if (body.empty()) return {};
  return fmt::format("<section>\n<h2>{}</h2>\n{}</section>\n", title, body);
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string draw_tiles(const Scores& scores) {
  if (scores.examples == 0) return {};
  const std::pair<std::string_view, std::string> tiles[] = {
      {"exact match", percent(scores.exact_match)},
      {"token accuracy", percent(scores.token_accuracy)},
      {"token error rate", percent(scores.token_error_rate)},
      {"BLEU", fmt::format("{:.1f}", scores.bleu)},
      {"perplexity", fmt::format("{:.4g}", scores.perplexity)},
  };
  std::string html = "<div class=\"tiles\">\n";
  for (const auto& [name, value] : tiles) {
    html += fmt::format("<div class=\"tile\"><b>{}</b>{}</div>\n", value, name);
  }
  return html +
         fmt::format("</div>\n<p class=\"faint\">On {} held-out examples.</p>\n", scores.examples);
}

std::string draw_configuration(const Report& report) {
  if (report.configuration.empty()) return {};
  std::string html = "<dl class=\"settings\">\n";
  for (const auto& [name, value] : report.configuration) {
    html +=
        fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", escape_html(name), escape_html(value));
  }
  return html + "</dl>\n";
}

Series dev_series(const Report& report, std::string name, double Scores::*score, double factor) {
  Series series{std::move(name), {}};
  for (const DevPoint& point : report.dev) {
    series.points.push_back({static_cast<double>(point.step), factor * point.scores.*score});
  }
  return series;
}

std::string draw_curves(const Report& report) {
  Series loss{"training loss", {}};
  for (const LossPoint& point : report.training) {
    loss.points.push_back({static_cast<double>(point.step), point.loss});
  }
  return draw_chart("Loss per token", "step",
                    {loss, dev_series(report, "dev nll", &Scores::nll, 1)}) +
         draw_chart("Dev scores", "step",
                    {dev_series(report, "exact match, %", &Scores::exact_match, 100),
                     dev_series(report, "token accuracy, %", &Scores::token_accuracy, 100),
                     dev_series(report, "BLEU", &Scores::bleu, 1)});
}

std::string score_row(std::string_view name, const Scores& scores) {
  return fmt::format(
      "<tr><th>{}</th><td class=\"number\">{}</td><td class=\"number\">{}</td>"
      "<td class=\"number\">{}</td><td class=\"number\">{:.1f}</td>"
      "<td class=\"number\">{:.4f}</td><td class=\"number\">{}</td></tr>\n",
      name, percent(scores.exact_match), percent(scores.token_accuracy),
      percent(scores.token_error_rate), scores.bleu, scores.nll, scores.examples);
}

std::string draw_scores(const Report& report) {
  if (report.final_scores.examples == 0) return {};
  std::string html = "<div class=\"scroll\"><table>\n<tr><th>source length</th>";
  for (const std::string_view name :
       {"exact match", "token accuracy", "token error rate", "BLEU", "nll", "examples"}) {
    html += fmt::format("<th class=\"number\">{}</th>", name);
  }
  html += "</tr>\n" + score_row("all", report.final_scores);
  for (const auto& [length, scores] : report.by_source_length) {
    html += score_row(std::to_string(length), scores);
  }
  return html + "</table></div>\n";
}

std::string text_cell(const std::string& text) {
  return fmt::format("<td class=\"text\" dir=\"auto\">{}</td>", escape_html(text));
}

std::string draw_samples(const Report& report) {
  if (report.samples.empty()) return {};
  std::string html =
      "<div class=\"scroll\"><table>\n<tr><th></th><th>source</th><th>reference</th>"
      "<th>hypothesis</th></tr>\n";
  for (const Sample& sample : report.samples) {
    const bool right = sample.hypothesis == sample.reference;
    html += fmt::format("<tr><td class=\"{}\">{}</td>{}{}{}</tr>\n", right ? "right" : "wrong",
                        right ? "✓" : "✗", text_cell(sample.source), text_cell(sample.reference),
                        text_cell(sample.hypothesis));
  }
  return html + "</table></div>\n";
}

std::string draw_heat_maps(const Report& report) {
  if (report.heat_maps.empty()) return {};
  std::string html =
      "<p class=\"faint\">Each row is an output token, each column a source token; the numbers are "
      "per cent of the row.</p>\n<div class=\"maps\">\n";
  for (const HeatMap& map : report.heat_maps) {
    html += "<figure class=\"scroll\">\n" + draw_svg(map) + "</figure>\n";
  }
  return html + "</div>\n";
}

}  // namespace

std::string render(const Report& report) {
  return html_page(report.title, fmt::format("<h1>{}</h1>\n", escape_html(report.title)) +
                                     draw_tiles(report.final_scores) +
                                     section("Learning", draw_curves(report)) +
                                     section("Attention", draw_heat_maps(report)) +
                                     section("Samples", draw_samples(report)) +
                                     section("Dev scores by source length", draw_scores(report)) +
                                     section("Configuration", draw_configuration(report)));
}

void write_file(const std::filesystem::path& path, std::string_view content) {
  replace_file(path, {std::as_bytes(std::span(content))});
}

}  // namespace regrad::seq2seq
