#pragma once

namespace regrad::seq2seq {

// Thrown when training was stopped by this signal, with everything saved. The program ends by the
// signal then, so that its caller can tell this from a run that came to its end.
struct Stopped {
  int signal;
};

// While it lives, the first SIGINT (Ctrl-C) or SIGTERM is noted only; a second one of the same kind
// ends the program at once.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  static bool requested();
  static int signal();  // the one noted last; 0: none
};

}  // namespace regrad::seq2seq
