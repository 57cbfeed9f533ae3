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

// For a new run. Throws Error for a directory that holds a run already, or a file of one.
void require_no_run(const RunFiles& files);
// Creates the directory where it is missing. Throws Error when files cannot be written there.
void make_writable(const RunFiles& files);

// While it lives no other process trains into the directory; a killed one does not block it.
class RunLock {
 public:
  // Throws Error when another process holds it. Removes what a killed one had half-written.
  explicit RunLock(const RunFiles& files);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

 private:
  int folder_;
};

// The lines of metrics.jsonl up to a step: what came after it will be computed again.
std::vector<nlohmann::ordered_json> read_history(const RunFiles& files, std::int64_t step);
// Replaces them.
void rewrite_history(const RunFiles& files, const std::vector<nlohmann::ordered_json>& history);

}  // namespace regrad::seq2seq
