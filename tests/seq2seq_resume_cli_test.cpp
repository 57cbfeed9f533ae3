#include <sys/file.h>
#include <sys/stat.h>

#include "tests/seq2seq_process.h"

using namespace regrad;
using namespace regrad::testing;

TEST_CASE("a resume reads nothing that another process may be writing") {
  const Workshop shop;
  std::filesystem::create_directory(shop.folder / "run");
  write(shop.folder / "run" / "last.safetensors", "half a file");
  const int held = ::open(shop.path("run").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  REQUIRE(::flock(held, LOCK_EX) == 0);
  const Arguments resume{"train", "--resume", "--out", shop.path("run")};
  require_error(shop.run(resume), 1, "another process trains into it");
  ::close(held);
  require_error(shop.run(resume), 1, "last.safetensors");
}

TEST_CASE("a run that began while the files were read is not overwritten") {
  const Workshop shop;
  const std::string pipe = shop.path("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const Process late(shop.folder / "", {"train", "--train", pipe, "--dev", shop.path("dev.tsv"),
                                        "--epochs", "1", "--out", shop.path("run")});
  {
    std::ofstream stream(pipe);  // waits until the other side is opened
    std::filesystem::create_directory(shop.folder / "run");
    write(shop.folder / "run" / "last.safetensors", "of the other process");
    stream << "ab\tba\n";
  }
  require_error(late.wait(), 1, "holds a run already");
  CHECK(read(shop.folder / "run" / "last.safetensors") == "of the other process");
}
