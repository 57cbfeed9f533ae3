#include "autograd/profile.h"

#include <fmt/format.h>

namespace regrad {

Profile::Profile()
    : last_time_(std::chrono::steady_clock::now()), last_bytes_(pool_stats().bytes_in_use) {}

double Profile::lap() {
  auto now = std::chrono::steady_clock::now();
  return std::chrono::duration<double>(now - std::exchange(last_time_, now)).count();
}

void Profile::recorded() {
  std::int64_t bytes = pool_stats().bytes_in_use;
  costs_.push_back({lap(), 0, bytes - std::exchange(last_bytes_, bytes)});
}

void Profile::backward_begins() { lap(); }

void Profile::pulled_back(std::size_t step) { costs_[step].backward += lap(); }

std::string TapeSummary::to_string() const {
  std::string table = fmt::format("{:<18}{:>8}{:>12}", "operation", "count", "elements");
  if (profiled) table += fmt::format("{:>12}{:>14}{:>14}", "KB kept", "forward ms", "backward ms");
  table += "\n";
  Row total{"total", 0, 0, 0, forward, backward};
  auto add = [&](const Row& row) {
    table += fmt::format("{:<18}{:>8}{:>12}", row.operation, row.count, row.elements);
    if (profiled) {
      table += fmt::format("{:>12.1f}{:>14.3f}{:>14.3f}", static_cast<double>(row.bytes) / 1024,
                           1e3 * row.forward, 1e3 * row.backward);
    }
    table += "\n";
  };
  for (const Row& row : rows) {
    add(row);
    total.count += row.count;
    total.elements += row.elements;
    total.bytes += row.bytes;
  }
  add(total);
  return table;
}

}  // namespace regrad
