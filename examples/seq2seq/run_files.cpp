#include "examples/seq2seq/run_files.h"

#include <cerrno>
#include <fstream>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "examples/seq2seq/jsonl.h"
#include "examples/seq2seq/report.h"
#include "ops/error.h"

namespace regrad::seq2seq {
namespace {

// What a save that was killed leaves: the name of a file of the run, then `.<process>-<n>.tmp`.
void remove_half_written(const RunFiles& files) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(files.directory, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".tmp")) continue;
    for (const auto& file : {files.model, files.last, files.metrics, files.report}) {
      if (!name.starts_with(file.filename().string() + ".")) continue;
      std::filesystem::remove(entry.path(), ignored);
    }
  }
}

}  // namespace

RunFiles::RunFiles(const std::filesystem::path& where)
    : directory(where),
      model(where / "model.safetensors"),
      last(where / "last.safetensors"),
      metrics(where / "metrics.jsonl"),
      report(where / "report.html") {}

void require_no_run(const RunFiles& files) {
  std::error_code ignored;
  if (std::filesystem::exists(files.last, ignored)) {
    fail("--out {} holds a run already: go on with it by --resume, or choose another directory",
         files.directory.string());
  }
  for (const auto& path : {files.model, files.metrics, files.report}) {
    if (!std::filesystem::exists(path, ignored)) continue;
    fail("--out {} holds {} of an earlier run: move it away, or choose another directory",
         files.directory.string(), path.filename().string());
  }
}

void make_writable(const RunFiles& files) {
  const std::string name = files.directory.string();
  std::error_code error;
  std::filesystem::create_directories(files.directory, error);
  if (error) fail("--out {} cannot be created: {}", name, error.message());
  if (!std::filesystem::is_directory(files.directory)) fail("--out {} is no directory", name);
  const std::filesystem::path probe = files.directory / ".writable";
  errno = 0;
  const bool written = (std::ofstream(probe) << '\n').flush().good();
  const std::error_code reason(errno, std::generic_category());
  std::filesystem::remove(probe, error);
  if (!written) {
    fail("--out {} cannot be written to: {}; make room or choose another directory", name,
         reason.message());
  }
}

RunLock::RunLock(const RunFiles& files)
    : folder_(::open(files.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  // Some file systems know no locks; there the user has to see to it.
  if (folder_ >= 0 && ::flock(folder_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(folder_);
    fail("--out {}: another process trains into it; wait for it or choose another directory",
         files.directory.string());
  }
  remove_half_written(files);
}

RunLock::~RunLock() {
  if (folder_ >= 0) ::close(folder_);
}

std::vector<nlohmann::ordered_json> read_history(const RunFiles& files, std::int64_t step) {
  std::vector<nlohmann::ordered_json> history;
  std::ifstream stream(files.metrics);
  for (std::string line; std::getline(stream, line);) {
    auto entry = parse_json(line);
    if (!entry.is_object() || !entry.contains("step")) continue;  // cut short by a kill
    if (entry["step"].is_number_integer() && entry["step"] <= step) {
      history.push_back(std::move(entry));
    }
  }
  return history;
}

void rewrite_history(const RunFiles& files, const std::vector<nlohmann::ordered_json>& history) {
  std::string text;
  for (const auto& entry : history) text += entry.dump() + "\n";
  write_file(files.metrics, text);
}

}  // namespace regrad::seq2seq
