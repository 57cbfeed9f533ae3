#pragma once

#include <chrono>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "examples/seq2seq/metrics.h"
#include "ops/shape.h"

namespace regrad::seq2seq {

// What there is to say about a run at a moment.
struct Moment {
  Index step = 0, step_limit = 0;  // limit 0: none
  std::optional<Index> epoch;      // of files, from 1
  double loss = 0;                 // per token, since the last evaluation
  double tokens_per_second = 0;
  double seconds = 0;                  // since the run began
  std::optional<double> seconds_left;  // at most
  std::optional<Scores> dev;           // of the last evaluation
};

// Tells how training goes: on a terminal by a line that is drawn again in its place, else by one
// line an evaluation.
class Progress {
 public:
  // columns: of the terminal; 0: no terminal.
  Progress(std::ostream& stream, std::size_t columns) : stream_(stream), columns_(columns) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // At most ten times a second.
  void step(const Moment& moment);
  void evaluation(const Moment& moment, bool best);
  // A line of its own.
  void say(std::string_view message);

 private:
  void clear();

  std::ostream& stream_;
  std::size_t columns_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point next_{};
};

// 75.4 -> "1:15", 3675 -> "1:01:15".
std::string clock_time(double seconds);

}  // namespace regrad::seq2seq
