#include "tools/commands/interrupt.hpp"

#include <csignal>

namespace lockstep::commands {
namespace {

volatile std::sig_atomic_t interrupts = 0;

extern "C" void count_interrupt(int) { interrupts = 1; }

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

bool FirstInterrupt::came() { return interrupts != 0; }

}  // namespace lockstep::commands
