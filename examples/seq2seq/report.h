#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "examples/seq2seq/heatmap.h"
#include "examples/seq2seq/metrics.h"

namespace regrad::seq2seq {

struct LossPoint {
  std::size_t step;
  double loss;
};

struct DevPoint {
  std::size_t step;
  Scores scores;
};

struct Sample {
  std::string source, reference, hypothesis;
};

// All that report.html shows; what is empty is left out.
struct Report {
  std::string title;
  std::vector<std::pair<std::string, std::string>> configuration;  // name, value
  std::vector<LossPoint> training;
  std::vector<DevPoint> dev;
  Scores final_scores;  // of the best model, on dev; shown if examples > 0
  std::map<std::size_t, Scores> by_source_length;  // the same
  std::vector<Sample> samples;
  std::vector<HeatMap> heat_maps;
};

// One HTML page that needs nothing else, neither network nor script.
std::string render(const Report& report);
// Writes under a temporary name in the same folder, flushes, then renames: at any moment the old
// file or the new one is there, whole. Throws Error, naming path and reason, when it cannot.
void write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace regrad::seq2seq
