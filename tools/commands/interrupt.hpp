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

/// While it lives, SIGINT ends the program with one line on stderr and exit code 1, as work that was stopped before it
/// had an answer does. For work that has none before its end and writes nothing meanwhile. Where SIGINT is ignored, it
/// stays so. At most one at a time, and none beside a FirstInterrupt.
class EndAtInterrupt {
 public:
  /// `line`: what is told, with its line feed; it must live as long as the program.
  explicit EndAtInterrupt(const char* line);
  ~EndAtInterrupt();
  EndAtInterrupt(const EndAtInterrupt&) = delete;
  EndAtInterrupt& operator=(const EndAtInterrupt&) = delete;
};

}  // namespace lockstep::commands
