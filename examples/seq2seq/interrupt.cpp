#include "examples/seq2seq/interrupt.h"

#include <csignal>
#include <initializer_list>

#include <signal.h>

namespace regrad::seq2seq {
namespace {

// A signal handler can reach nothing but a global.
volatile std::sig_atomic_t noted = 0;

void note(int signal) { noted = signal; }

}  // namespace

Interrupt::Interrupt() {
  noted = 0;
  struct sigaction action = {};
  action.sa_handler = note;
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

Interrupt::~Interrupt() {
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, SIG_DFL);
}

bool Interrupt::requested() { return signal() != 0; }

int Interrupt::signal() { return noted; }

}  // namespace regrad::seq2seq
