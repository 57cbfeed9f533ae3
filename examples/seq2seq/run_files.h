#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include <nlohmann/json.hpp>

namespace regrad::seq2seq {

// Where a training run keeps what it makes.
struct RunFiles {
  explicit RunFiles(const std::filesystem::path& directory);

  std::filesystem::path directory;
  std::filesystem::path model;    // the best on dev
  std::filesystem::path last;     // all that a resume needs
  std::filesystem::path metrics;  // one JSON object a line and evaluation
  std::filesystem::path report;   // the same to look at
};

// For a new run. Throws Error for a directory that holds a run already.
void require_no_run(const RunFiles& files);
// Creates the directory where it is missing. Throws Error when files cannot be written there.
void make_writable(const RunFiles& files);

// The lines of metrics.jsonl up to a step: what came after it will be computed again.
std::vector<nlohmann::ordered_json> read_history(const RunFiles& files, std::int64_t step);
// Replaces them.
void rewrite_history(const RunFiles& files, const std::vector<nlohmann::ordered_json>& history);

}  // namespace regrad::seq2seq
