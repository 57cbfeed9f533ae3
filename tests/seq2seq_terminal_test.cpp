#include <cstdlib>
#include <set>

#include <fcntl.h>

#include "examples/seq2seq/terminal.h"
#include "tests/seq2seq_process.h"

using namespace regrad;
using namespace regrad::testing;
using namespace regrad::seq2seq;

namespace {

// A terminal: the program has one end, the test plays the person at the other.
class Terminal {
 public:
  Terminal() : person_(::posix_openpt(O_RDWR | O_NOCTTY)) {
    REQUIRE(person_ >= 0);
    REQUIRE(::grantpt(person_) == 0);
    REQUIRE(::unlockpt(person_) == 0);
    path = ::ptsname(person_);
  }
  ~Terminal() { ::close(person_); }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  void type(const std::string& text) const {
    REQUIRE(::write(person_, text.data(), text.size()) == static_cast<::ssize_t>(text.size()));
  }

  std::string path;

 private:
  int person_;
};

}  // namespace

TEST_CASE("a locale is UTF-8 however it is spelled") {
  ::setenv("TERM", "dumb", 1);
  const auto ink = [](const char* locale) {
    ::setenv("LC_ALL", locale, 1);
    return output_ink();
  };
  for (const char* locale : {"en_US.UTF-8", "en_US.UTF8", "C.utf8", "C.Utf-8", "UTF-8",
                             "de_DE.utf-8@euro", "de_DE.UTF8@euro"}) {
    CAPTURE(locale);
    CHECK(ink(locale) == Ink::shades);
  }
  for (const char* locale : {"C", "POSIX", "en_US", "de_DE.ISO-8859-15@euro", "ru_RU.KOI8-R"}) {
    CAPTURE(locale);
    CHECK(ink(locale) == Ink::ascii);
  }
}

TEST_CASE("a line is drawn again only on a terminal that can do so") {
  const Terminal terminal;
  const int before = ::dup(2), screen = ::open(terminal.path.c_str(), O_RDWR | O_NOCTTY);
  REQUIRE(screen >= 0);
  ::dup2(screen, 2);
  std::vector<std::size_t> columns;
  for (const char* kind : {"xterm", "dumb", ""}) {
    ::setenv("TERM", kind, 1);
    columns.push_back(redraw_columns(Stream::err));
  }
  ::dup2(before, 2);
  ::close(before);
  ::close(screen);
  CHECK(columns == std::vector<std::size_t>{80, 0, 0});
}

TEST_CASE("lines typed one by one are drawn as a file of them") {
  const Workshop shop;
  const std::string model = shop.trained_model();
  const Arguments draw{"translate", "--model", model, "--sample", "--temperature", "3"};
  const std::string lines = "abab\nabab\n\nabab\nabab\nabab\nabab\n";
  const Result from_file = shop.run(draw, lines);
  REQUIRE(from_file.status == 0);
  std::istringstream stream(from_file.out);
  std::set<std::string> different;
  for (std::string line; std::getline(stream, line);) different.insert(line);
  CHECK(different.size() > 2);

  const Terminal terminal;
  std::filesystem::create_directory(shop.folder / "streams");
  std::filesystem::create_symlink(terminal.path, shop.folder / "streams" / "stdin");
  const Process process(shop.folder / "streams", draw);
  terminal.type(lines + "\x04");
  const Result typed = process.wait();
  CAPTURE(typed.err);
  CHECK(typed.status == 0);
  CHECK(typed.out == from_file.out);
}
