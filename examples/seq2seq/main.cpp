#include <algorithm>
#include <csignal>
#include <exception>
#include <filesystem>
#include <iostream>
#include <new>
#include <string>

#include "examples/seq2seq/command_line.h"
#include "examples/seq2seq/config.h"
#include "examples/seq2seq/interrupt.h"
#include "ops/error.h"

namespace {

int report(std::string message, int status) {
  std::ranges::replace(message, '\n', ' ');
  std::cerr << "seq2seq: " << message << '\n';
  return status;
}

int written(int status) {
  return std::cout.flush() ? status : report("standard output cannot be written to", 1);
}

// A shell that runs the program in a loop stops only when it sees the signal itself.
int end_by(int signal) {
  const int status = written(128 + signal);
  if (status > 128) std::raise(signal);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    regrad::seq2seq::run(argc, argv);
    return written(0);
  } catch (const regrad::seq2seq::Stopped& stopped) {
    return end_by(stopped.signal);
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
