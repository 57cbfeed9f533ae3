#include "nn/replace_file.h"

#include <cerrno>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "ops/error.h"

namespace regrad {
namespace {

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::filesystem::path& target) : target_(target) {
    // Unique also among threads that save to the same path at once.
    for (int attempt = 0; file_ < 0; ++attempt) {
      path_ = fmt::format("{}.{}-{}.tmp", target.string(), ::getpid(), attempt);
      file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (file_ < 0 && errno != EEXIST) fail_here("create", errno);
    }
  }
  ~TemporaryFile() {
    if (file_ >= 0) ::close(file_);
    if (!renamed_) ::unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ::ssize_t written = ::write(file_, bytes.data(), bytes.size());
      if (written >= 0) {
        bytes = bytes.subspan(static_cast<std::size_t>(written));
      } else if (errno != EINTR) {
        fail_here("write", errno);
      }
    }
  }

  void rename_to_target() {
    if (::fsync(file_) != 0) fail_here("flush", errno);
    const int closed = ::close(file_);
    file_ = -1;
    if (closed != 0) fail_here("close", errno);
    if (::rename(path_.c_str(), target_.c_str()) != 0) fail_here("replace", errno);
    renamed_ = true;
  }

 private:
  [[noreturn]] void fail_here(const char* action, int error) const {
    fail("save: cannot {} {}: {}", action, target_.string(),
         std::generic_category().message(error));
  }

  std::filesystem::path target_;
  std::string path_;
  int file_ = -1;
  bool renamed_ = false;
};

// Makes the new name itself durable. The file is whole with or without it, and some file systems
// cannot do it, so its failure is none of the save's.
void flush_folder(const std::filesystem::path& folder) {
  const int file =
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return;
  ::fsync(file);
  ::close(file);
}

}  // namespace

void replace_file(const std::filesystem::path& path,
                  const std::vector<std::span<const std::byte>>& parts) {
  TemporaryFile file(path);
  for (const std::span<const std::byte> part : parts) file.write(part);
  file.rename_to_target();
  flush_folder(path.parent_path());
}

}  // namespace regrad
