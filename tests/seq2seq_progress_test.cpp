#include <algorithm>
#include <sstream>
#include <string>

#include <doctest/doctest.h>

#include "examples/seq2seq/progress.h"
#include "tests/nn_check.h"

using namespace regrad::seq2seq;
using regrad::testing::contains;

namespace {

Moment some_moment() {
  Moment moment;
  moment.step = 50;
  moment.step_limit = 100;
  moment.epoch = 3;
  moment.loss = 0.25;
  moment.tokens_per_second = 1234;
  moment.seconds_left = 75;
  moment.dev = Scores{};
  moment.dev->exact_match = 0.5;
  return moment;
}

}  // namespace

TEST_CASE("without a terminal there is one plain line for each evaluation") {
  std::ostringstream stream;
  {
    Progress progress(stream, 0);
    for (int i = 0; i < 100; ++i) progress.step(some_moment());
    progress.evaluation(some_moment(), true);
  }
  CHECK(
      stream.str() ==
      "step 50/100  epoch 3  loss 0.2500  1234 tokens/s  dev exact match 0.5000, nll 0.0000  0:00  "
      "best\n");
}

TEST_CASE("on a terminal one line is drawn again in its place, seldom, and goes at the end") {
  std::ostringstream stream;
  {
    Progress progress(stream, 200);
    for (int i = 0; i < 100; ++i) progress.step(some_moment());
    const std::string drawn = stream.str();
    CHECK(std::ranges::count(drawn, '\r') == 1);
    CHECK(contains(drawn, "[#####.....] step 50/100"));
    CHECK(contains(drawn, "<1:15 left  dev 0.5000"));
    CHECK_FALSE(contains(drawn, "\n"));
  }
  CHECK(stream.str().ends_with("\r\x1b[K"));
}

TEST_CASE("a line never wraps") {
  std::ostringstream stream;
  Progress progress(stream, 20);
  progress.step(some_moment());
  CHECK(stream.str() == "\r\x1b[K[#####.....] step 5");
}

TEST_CASE("without a limit there is no bar and no time left") {
  std::ostringstream stream;
  Progress progress(stream, 200);
  progress.step(Moment{});
  CHECK_FALSE(contains(stream.str(), "left"));
  CHECK_FALSE(contains(stream.str(), "#"));
}

TEST_CASE("times as on a clock") {
  CHECK(clock_time(0) == "0:00");
  CHECK(clock_time(75.4) == "1:15");
  CHECK(clock_time(3675) == "1:01:15");
  CHECK(clock_time(-1) == "0:00");
}
