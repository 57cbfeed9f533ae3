#include "examples/seq2seq/progress.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace regrad::seq2seq {
namespace {

constexpr std::chrono::milliseconds redraw_interval(100);
constexpr std::size_t bar_width = 10;

std::string place(const Moment& moment) {
  std::string text = fmt::format("step {}", moment.step);
  if (moment.step_limit > 0) text += fmt::format("/{}", moment.step_limit);
  if (moment.epoch) text += fmt::format("  epoch {}", *moment.epoch);
  return text;
}

std::string bar(const Moment& moment) {
  if (moment.step_limit == 0) return {};
  const auto done = bar_width * static_cast<std::size_t>(moment.step) /
                    static_cast<std::size_t>(moment.step_limit);
  const std::size_t full = std::min(done, bar_width);
  return fmt::format("[{}{}] ", std::string(full, '#'), std::string(bar_width - full, '.'));
}

std::string pace(const Moment& moment) {
  return fmt::format("loss {:.4f}  {:.0f} tokens/s", moment.loss, moment.tokens_per_second);
}

std::string dev(const Moment& moment) {
  if (!moment.dev) return {};
  return fmt::format("  dev exact match {:.4f}, nll {:.4f}", moment.dev->exact_match,
                     moment.dev->nll);
}

}  // namespace

void Progress::step(const Moment& moment) {
  const auto now = std::chrono::steady_clock::now();
  if (columns_ == 0 || now < next_) return;
  next_ = now + redraw_interval;
  std::string line = bar(moment) + place(moment) + "  " + pace(moment);
  if (moment.seconds_left) line += "  <" + clock_time(*moment.seconds_left) + " left";
  if (moment.dev) line += fmt::format("  dev {:.4f}", moment.dev->exact_match);
  // A line that wraps could not be drawn again in its place.
  line.resize(std::min(line.size(), columns_ - 1));
  stream_ << "\r\x1b[K" << line << std::flush;
  drawn_ = true;
}

void Progress::evaluation(const Moment& moment, bool best) {
  say(fmt::format("{}  {}{}  {}{}", place(moment), pace(moment), dev(moment),
                  clock_time(moment.seconds), best ? "  best" : ""));
}

void Progress::say(std::string_view message) {
  clear();
  stream_ << message << '\n' << std::flush;
}

void Progress::clear() {
  if (drawn_) stream_ << "\r\x1b[K" << std::flush;
  drawn_ = false;
}

std::string clock_time(double seconds) {
  const auto all = static_cast<long long>(std::clamp(seconds, 0.0, 1e12));
  const long long hours = all / 3600, minutes = all / 60 % 60;
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, all % 60);
  return fmt::format("{}:{:02}", minutes, all % 60);
}

}  // namespace regrad::seq2seq
