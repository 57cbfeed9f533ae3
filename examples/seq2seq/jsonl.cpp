#include "examples/seq2seq/jsonl.h"

#include <cerrno>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "ops/error.h"

namespace regrad::seq2seq {
namespace {

class LineFile {
 public:
  explicit LineFile(const std::filesystem::path& path)
      : path_(path), file_(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
    if (file_ < 0) fail_here("opened");
  }
  ~LineFile() { ::close(file_); }
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  void remove_unfinished_line() {
    const ::off_t size = ::lseek(file_, 0, SEEK_END);
    ::off_t end = size;
    for (char byte = 0; end > 0; --end) {
      if (::pread(file_, &byte, 1, end - 1) != 1) fail_here("read");
      if (byte == '\n') break;
    }
    if (end < size && ::ftruncate(file_, end) != 0) fail_here("shortened");
  }

  void write(std::string_view text) {
    while (!text.empty()) {
      const ::ssize_t written = ::write(file_, text.data(), text.size());
      if (written < 0 && errno != EINTR) fail_here("written");
      if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
    }
    if (::fsync(file_) != 0 && errno != EINVAL) fail_here("flushed");  // a pipe has no disk
  }

 private:
  [[noreturn]] void fail_here(const char* action) const {
    fail("{}: cannot be {}: {}", path_.string(), action, std::generic_category().message(errno));
  }

  std::filesystem::path path_;
  int file_;
};

constexpr int deepest = 32;

}  // namespace

void append_line(const std::filesystem::path& path, const nlohmann::ordered_json& json) {
  using Handler = nlohmann::ordered_json::error_handler_t;
  LineFile file(path);
  file.remove_unfinished_line();
  file.write(json.dump(-1, ' ', false, Handler::replace) + "\n");
}

nlohmann::ordered_json parse_json(std::string_view text) {
  using Json = nlohmann::ordered_json;
  bool deep = false;
  const auto keep = [&](int depth, Json::parse_event_t, Json&) {
    deep = deep || depth > deepest;
    return !deep;
  };
  Json json = Json::parse(text, keep, false);
  return deep ? Json(Json::value_t::discarded) : json;
}

}  // namespace regrad::seq2seq
