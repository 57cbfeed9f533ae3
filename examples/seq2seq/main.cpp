#include <algorithm>
#include <exception>
#include <filesystem>
#include <iostream>
#include <new>
#include <string>

#include "examples/seq2seq/command_line.h"
#include "examples/seq2seq/config.h"
#include "ops/error.h"

namespace {

int report(std::string message, int status) {
  std::ranges::replace(message, '\n', ' ');
  std::cerr << "seq2seq: " << message << '\n';
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    regrad::seq2seq::run(argc, argv);
    if (!std::cout.flush()) return report("standard output cannot be written to", 1);
    return 0;
  } catch (const regrad::seq2seq::UsageError& error) {
    return report(error.what(), 2);
  } catch (const std::bad_alloc&) {
    return report(
        "out of memory: train a smaller model or with a smaller --batch; translate with a "
        "smaller --beam or shorter lines",
        1);
  } catch (const std::filesystem::filesystem_error& error) {
    return report(error.path1().string() + ": cannot be reached: " + error.code().message() +
                      "; check its name and who may read it",
                  1);
  } catch (const std::exception& error) {
    return report(error.what(), 1);
  }
}
