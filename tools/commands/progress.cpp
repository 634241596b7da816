#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>

#include "tools/commands/commands.hpp"

namespace lockstep::commands {

namespace {

/// Letters of a stage that leave room for the share: a line that the terminal breaks could not be drawn over.
std::size_t room_of_a_stage() {
  constexpr std::size_t usual = 80, share = 7;
  ::winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > share;
  return (known ? size.ws_col : usual) - share;
}

}  // namespace

std::function<void(std::string_view, double)> progress_line() {
  if (::isatty(STDERR_FILENO) == 0) return {};
  using Clock = std::chrono::steady_clock;
  struct State {
    Clock::time_point started = Clock::now();
    Clock::time_point drawn{};
    bool visible = false;
  };
  return [state = std::make_shared<State>()](std::string_view stage, double fraction) {
    const auto now = Clock::now();
    if (stage == "done") {
      if (state->visible) std::fputs("\r\033[K", stderr);
      return;
    }
    if (now - state->started < std::chrono::milliseconds(500) || now - state->drawn < std::chrono::milliseconds(100))
      return;
    state->drawn = now;
    state->visible = true;
    const auto shown = stage.substr(0, room_of_a_stage());
    std::fprintf(stderr, "\r%.*s %3.0f %%\033[K", static_cast<int>(shown.size()), shown.data(), fraction * 100);
  };
}

}  // namespace lockstep::commands
