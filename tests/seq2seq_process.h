#pragma once

#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "nn/safetensors.h"
#include "tests/nn_check.h"

// The seq2seq program as its users run it.
namespace regrad::testing {

using Json = nlohmann::json;
using Arguments = std::vector<std::string>;

inline std::string read(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

struct Result {
  int status = -1;  // 128 + n for signal n
  std::string out, err;
};

// The program at work, its streams in files of a folder.
class Process {
 public:
  Process(const std::filesystem::path& folder, const Arguments& arguments,
          const std::string& input = "")
      : folder_(folder) {
    write(folder_ / "stdin", input);
    id_ = ::fork();
    if (id_ != 0) return;
    redirect("stdin", O_RDONLY, 0);
    redirect("stdout", O_WRONLY | O_CREAT | O_TRUNC, 1);
    redirect("stderr", O_WRONLY | O_CREAT | O_TRUNC, 2);
    std::vector<char*> list{const_cast<char*>("seq2seq")};
    for (const std::string& argument : arguments)
      list.push_back(const_cast<char*>(argument.data()));
    list.push_back(nullptr);
    ::execv(REGRAD_BIN_DIR "/seq2seq", list.data());
    ::_exit(127);
  }

  void signal(int number) const { ::kill(id_, number); }
  std::string errors() const { return read(folder_ / "stderr"); }

  Result wait() const {
    int status = 0;
    ::waitpid(id_, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
            read(folder_ / "stdout"), errors()};
  }

 private:
  void redirect(const char* name, int flags, int descriptor) const {
    ::dup2(::open((folder_ / name).c_str(), flags, 0600), descriptor);
  }

  std::filesystem::path folder_;
  ::pid_t id_ = 0;
};

// A folder with two small files of words spelled backwards.
struct Workshop {
  Workshop() {
    std::string train, dev;
    for (const char* word : {"ab", "ba", "aab", "abb", "b", "bab", "aba", "bbaa", "abab", "a"}) {
      const std::string text(word), reversed(text.rbegin(), text.rend());
      train += text + "\t" + reversed + "\n";
      if (text.size() == 2) dev += text + "b\tb" + reversed + "\n";
    }
    write(folder / "train.tsv", train);
    write(folder / "dev.tsv", dev);
  }

  Result run(const Arguments& arguments, const std::string& input = "") const {
    return Process(folder / "", arguments, input).wait();
  }
  std::string path(const std::string& name) const { return (folder / name).string(); }

  // Options of a run that takes no time.
  Arguments tiny(const std::string& out, const Arguments& more = {}) const {
    Arguments arguments{
        "train",           "--train", path("train.tsv"), "--dev", path("dev.tsv"),
        "--source-tokens", "chars",   "--target-tokens", "chars", "--concatenate=false",
        "--hidden",        "8",       "--batch",         "4",     "--out",
        path(out)};
    const bool recurrent = std::ranges::find(more, "transformer") == more.end();
    if (recurrent) arguments.insert(arguments.end(), {"--embedding", "4"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  std::string trained_model() const {
    REQUIRE(run(tiny("run", {"--epochs", "2"})).status == 0);
    return path("run") + "/model.safetensors";
  }

  TemporaryFolder folder;
};

// One clear line, nothing on standard output, and the right status.
inline void require_error(const Result& result, int status, const std::string& part) {
  CAPTURE(result.err);
  CHECK(result.status == status);
  CHECK(contains(result.err, part));
  CHECK(result.err.starts_with("seq2seq: "));
  CHECK(result.err.find('\n') == result.err.size() - 1);
  CHECK(result.out.empty());
}

inline bool wait_for(const Process& process, const std::string& text) {
  for (int i = 0; i < 6000; ++i) {
    if (contains(process.errors(), text)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

inline Index saved_step(const std::filesystem::path& last) {
  return Json::parse(load_safetensors(last).metadata.at("training"))["state"]["step"];
}

}  // namespace regrad::testing
