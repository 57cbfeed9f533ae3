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

TEST_CASE("the commands to go on with work, whatever a line or a folder begins with") {
  const Workshop shop;
  const std::string program = REGRAD_BIN_DIR "/seq2seq";
  for (const char* line : {"-n", "--help", "a\\nb", "it's"}) {
    CAPTURE(line);
    write(shop.folder / "-.tsv", std::string(line) + "\tx\n");
    const std::string to_do = shop.path("to_do");
    const auto shell = [&](const std::string& script) {
      return std::system(("cd " + shop.path("") + " && rm -rf ./-run && " + script).c_str());
    };
    REQUIRE(shell(program +
                  " train --train=-.tsv --dev=-.tsv --hidden 8 --embedding 4 --epochs 1 " +
                  "--out=-run 2>/dev/null | sed '1,/What to do next/d' >" + to_do) == 0);
    std::istringstream commands(read(to_do));
    int count = 0;
    for (std::string command; std::getline(commands, command); ++count) {
      CAPTURE(command);
      const std::string run = "cd " + shop.path("") + " && " + command + " 2>errors >out";
      CHECK(std::system(run.c_str()) == 0);
      CHECK_FALSE(contains(read(shop.folder / "errors"), "unknown"));
    }
    CHECK(count == 3);
  }
}

TEST_CASE("a resume whose schedule no longer fits its length names the options") {
  const Workshop shop;
  const Arguments cosine{"--schedule", "cosine", "--warmup", "5", "--steps", "6"};
  REQUIRE(shop.run(shop.tiny("run", cosine)).status == 0);
  require_error(
      shop.run({"train", "--resume", "--steps", "5", "--out", shop.path("run")}), 2,
      "--schedule cosine needs more steps than --warmup 5, and this run has 5: give more");
}

TEST_CASE("a resume without the best model finds another") {
  for (const char* epochs : {"2", "3"}) {  // at its end already, and with more to do
    CAPTURE(epochs);
    const Workshop shop;
    const std::filesystem::path model = shop.trained_model();
    std::filesystem::remove(model);
    const Result result =
        shop.run({"train", "--resume", "--epochs", epochs, "--out", shop.path("run")});
    CAPTURE(result.err);
    CHECK(result.status == 0);
    CHECK(contains(result.err, "model.safetensors, the best model so far, is gone"));
    CHECK(shop.run({"translate", "--model", model.string()}, "ab\n").status == 0);
  }
}

TEST_CASE("a file name that could not be saved is an error before anything is written") {
  const Workshop shop;
  const std::string name = shop.path("dev\xff.tsv");
  write(name, read(shop.folder / "dev.tsv"));
  for (const bool first : {true, false}) {
    const std::string train = first ? name : shop.path("train.tsv");
    const std::string dev = first ? shop.path("dev.tsv") : name;
    require_error(shop.run({"train", "--train", train, "--dev", dev, "--out", shop.path("run")}), 2,
                  "dev\uFFFD.tsv: the name is not UTF-8");
  }
  CHECK_FALSE(std::filesystem::exists(shop.folder / "run"));
  shop.trained_model();
  require_error(shop.run({"train", "--resume", "--dev", name, "--out", shop.path("run")}), 1,
                "would be another run");
}
