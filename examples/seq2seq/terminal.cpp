#include "examples/seq2seq/terminal.h"

#include <algorithm>
#include <cstdlib>

#include <sys/ioctl.h>
#include <unistd.h>

namespace regrad::seq2seq {
namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Of en_US.UTF-8, C.utf8, de_DE.UTF8@euro: case and dashes do not count, as for the C library.
bool is_utf8(std::string_view locale) {
  const std::string_view code_set = locale.substr(locale.find('.') + 1);
  std::string name;
  for (const char c : code_set.substr(0, code_set.find('@'))) {
    if (c != '-') name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return name == "utf8";
}

bool is_utf8_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view value = environment(name);
    if (value.empty()) continue;
    return is_utf8(value);
  }
  return false;
}

// Whether the terminal obeys more than line ends.
bool has_escapes() {
  const std::string_view kind = environment("TERM");
  return !kind.empty() && kind != "dumb";
}

}  // namespace

bool is_terminal(Stream stream) { return ::isatty(static_cast<int>(stream)) == 1; }

std::size_t terminal_columns(Stream stream) {
  if (!is_terminal(stream)) return 0;
  ::winsize size{};
  const bool known = ::ioctl(static_cast<int>(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

std::size_t redraw_columns(Stream stream) { return has_escapes() ? terminal_columns(stream) : 0; }

Ink output_ink() {
  const bool colours = is_terminal(Stream::out) && has_escapes() && environment("NO_COLOR").empty();
  if (colours) return Ink::colour;
  return is_utf8_locale() ? Ink::shades : Ink::ascii;
}

std::string shell_quoted(std::string_view word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,:=+@%";
  if (!word.empty() && word.find_first_not_of(plain) == word.npos) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace regrad::seq2seq
