#pragma once

namespace regrad::seq2seq {

// While it lives, the first SIGINT (Ctrl-C) or SIGTERM is noted only; a second one of the same kind
// ends the program at once.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  static bool requested();
};

}  // namespace regrad::seq2seq
