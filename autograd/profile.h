#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "ops/shape.h"
#include "ops/storage.h"

namespace regrad {

// Time and memory of a tape, per operation.
struct TapeSummary {
  struct Row {
    std::string operation;
    Index count = 0;
    Index elements = 0;   // of its outputs
    Index bytes = 0;      // by which the memory in use grew: outputs and what backward needs
    double forward = 0;   // seconds up to its record since the one before
    double backward = 0;  // seconds
  };
  std::vector<Row> rows;             // the slowest first
  bool profiled = false;             // whether bytes and seconds were measured
  double forward = 0, backward = 0;  // seconds in all

  std::string to_string() const;  // a table
};

// What a tape measures for its summary. Each step is charged with the time and the memory since the
// step before it, so that nothing between the first and the last is left out.
class Profile {
 public:
  struct Cost {
    double forward = 0, backward = 0;  // seconds
    std::int64_t bytes = 0;
  };

  Profile();
  void recorded();  // a step
  void backward_begins();
  void pulled_back(std::size_t step);
  const std::vector<Cost, PoolAllocator<Cost>>& costs() const { return costs_; }

 private:
  double lap();

  std::chrono::steady_clock::time_point last_time_;
  std::int64_t last_bytes_;
  std::vector<Cost, PoolAllocator<Cost>> costs_;
};

}  // namespace regrad
