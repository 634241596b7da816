#include "tools/commands/interrupt.hpp"

#include <unistd.h>

#include <csignal>
#include <cstring>

namespace lockstep::commands {
namespace {

volatile std::sig_atomic_t interrupts = 0;

extern "C" void count_interrupt(int) { interrupts = 1; }

const char* last_line = "";
std::size_t last_line_length = 0;

extern "C" void end_at_interrupt(int) {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, last_line, last_line_length);
  ::_exit(1);
}

}  // namespace

FirstInterrupt::FirstInterrupt() {
  interrupts = 0;
  struct ::sigaction before {};
  if (::sigaction(SIGINT, nullptr, &before) != 0 || before.sa_handler == SIG_IGN) return;
  struct ::sigaction action {};
  action.sa_handler = count_interrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);  // the second has its default: it ends the program
  ::sigaction(SIGINT, &action, nullptr);
}

FirstInterrupt::~FirstInterrupt() {
  struct ::sigaction now {};
  if (::sigaction(SIGINT, nullptr, &now) == 0 && now.sa_handler == count_interrupt) std::signal(SIGINT, SIG_DFL);
}

EndAtInterrupt::EndAtInterrupt(const char* line) {
  last_line = line;
  last_line_length = std::strlen(line);
  struct ::sigaction before {};
  if (::sigaction(SIGINT, nullptr, &before) != 0 || before.sa_handler == SIG_IGN) return;
  std::signal(SIGINT, end_at_interrupt);
}

EndAtInterrupt::~EndAtInterrupt() {
  struct ::sigaction now {};
  if (::sigaction(SIGINT, nullptr, &now) == 0 && now.sa_handler == end_at_interrupt) std::signal(SIGINT, SIG_DFL);
}

bool FirstInterrupt::came() { return interrupts != 0; }

}  // namespace lockstep::commands
