#include <optional>

#include <doctest/doctest.h>

#include "examples/seq2seq/report.h"
#include "examples/seq2seq/run_files.h"
#include "tests/nn_check.h"

using namespace regrad::seq2seq;
using regrad::testing::contains;
using regrad::testing::message_of;
using regrad::testing::TemporaryFolder;

TEST_CASE("one process at a time trains into a directory") {
  const TemporaryFolder folder;
  const RunFiles files(folder / ""), others(folder / "other");
  make_writable(others);
  std::optional<RunLock> lock(std::in_place, files);
  CHECK(contains(message_of([&] { RunLock second(files); }), "another process trains into it"));
  CHECK(message_of([&] { RunLock elsewhere(others); }).empty());
  lock.reset();
  CHECK(message_of([&] { RunLock second(files); }).empty());
}

TEST_CASE("what a kill left half-written goes, and nothing else does") {
  const TemporaryFolder folder;
  const RunFiles files(folder / "");
  for (const char* name : {"last.safetensors.12-0.tmp", "report.html.7-1.tmp", "model.safetensors",
                           "report.html", "notes.tmp", "last.safetensors.old"}) {
    write_file(folder / name, "x");
  }
  const RunLock lock(files);
  CHECK(folder.file_count() == 4);
  CHECK_FALSE(std::filesystem::exists(folder / "last.safetensors.12-0.tmp"));
  CHECK_FALSE(std::filesystem::exists(folder / "report.html.7-1.tmp"));
}

TEST_CASE("lines of metrics that this program did not write are left out") {
  const TemporaryFolder folder;
  const RunFiles files(folder / "");
  const std::size_t depth = 1'000'000;
  const std::string nested = std::string(depth, '[') + std::string(depth, ']');
  write_file(files.metrics, "{\"step\":1}\n{\"step\":" + nested + "}\n{\"step\":2,\"x\":" + nested +
                                "}\nnone\n{\"step\":3}\n{\"step\":4");
  const auto history = read_history(files, 10);
  REQUIRE(history.size() == 2);
  CHECK(history[1]["step"] == 3);
  rewrite_history(files, history);
}

TEST_CASE("a new run takes the place of no file of an earlier one") {
  const TemporaryFolder folder;
  const RunFiles files(folder / "");
  CHECK(message_of([&] { require_no_run(files); }).empty());
  for (const auto& path : {files.report, files.metrics, files.model}) {
    write_file(path, "x");
    CHECK(contains(message_of([&] { require_no_run(files); }),
                   path.filename().string() + " of an earlier run: move it away"));
  }
  write_file(files.last, "x");
  CHECK(contains(message_of([&] { require_no_run(files); }), "--resume"));
}
