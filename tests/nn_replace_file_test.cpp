#include <csignal>
#include <fstream>
#include <iterator>

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "nn/safetensors.h"
#include "tests/nn_check.h"

namespace regrad {
namespace {

using testing::contains;
using testing::message_of;
using testing::TemporaryFolder;
namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

SafeTensors sample() { return {{{"x", tensor({1, 2})}}, {{"k", "v"}}}; }

}  // namespace

TEST_CASE("a failed save says where and why, keeps the old file and leaves nothing behind") {
  const TemporaryFolder folder;
  CHECK(contains(message_of([&] { save_safetensors(folder / "no" / "x", sample()); }),
                 "No such file"));
  fs::create_directories(folder / "folder" / "full");
  CHECK(contains(message_of([&] { save_safetensors(folder / "folder", sample()); }),
                 "Is a directory"));
  CHECK(folder.file_count() == 1);

  save_safetensors(folder / "x", sample());
  const std::string old = read_file(folder / "x");
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1000, limit.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  SafeTensors large;
  large.tensors["x"] = zeros({1000});
  const std::string message = message_of([&] { save_safetensors(folder / "x", large); });
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, handler);
  CHECK(contains(message, "cannot write"));
  CHECK(contains(message, "File too large"));
  CHECK(read_file(folder / "x") == old);
  CHECK(folder.file_count() == 2);
}

TEST_CASE("a kill at any moment leaves the old or the new file whole") {
  const TemporaryFolder folder;
  const fs::path path = folder / "x";
  SafeTensors content;
  content.tensors["x"] = zeros({50'000});
  save_safetensors(path, content);
  for (int round = 0; round < 20; ++round) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      for (int version = 1;; ++version) {
        content.tensors["x"] = full({50'000}, version);
        save_safetensors(path, content);
      }
    }
    ::usleep(static_cast<useconds_t>(1000 + 700 * round));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const Tensor x = load_safetensors(path).tensors.at("x");
    CHECK(identical(x, full({50'000}, x.at({0}))));
  }
}

}  // namespace regrad
