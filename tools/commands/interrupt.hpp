#pragma once
/// Ctrl-C for work that has an answer at any time.

namespace lockstep::commands {

/// While it lives, the first SIGINT is kept for the work to ask about, and a second one ends the program. Where SIGINT
/// is ignored (nohup), it stays so. At most one at a time.
class FirstInterrupt {
 public:
  FirstInterrupt();
  ~FirstInterrupt();
  FirstInterrupt(const FirstInterrupt&) = delete;
  FirstInterrupt& operator=(const FirstInterrupt&) = delete;

  [[nodiscard]] static bool came();
};

}  // namespace lockstep::commands
