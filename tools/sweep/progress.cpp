#include "tools/sweep/progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tools/output/elements/table.hpp"

namespace lockstep::sweep {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

bool on_a_terminal() {
  const char* kind = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) != 0 && (kind == nullptr || std::strcmp(kind, "dumb") != 0);
}

std::size_t width_of_terminal() {
  ::winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 10 ? size.ws_col : 80;
}

std::string duration(double seconds) {
  if (seconds < 100) return output::fixed(seconds, 0) + " s";
  if (seconds < 6000) return output::fixed(seconds / 60, 0) + " min";
  return output::fixed(seconds / 3600, 1) + " h";
}

}  // namespace

std::string SweepProgressLine::text(std::size_t done, std::size_t all) const {
  std::string text = output::with_separators(static_cast<double>(done)) + " of " +
                     output::with_separators(static_cast<double>(all)) + " points (" +
                     output::percent(static_cast<double>(done) / static_cast<double>(all)) + ")";
  if (not_done_ > 0) text += ", " + output::with_separators(static_cast<double>(not_done_)) + " without result";
  if (rate_ > 0)
    text += ", " + output::fixed(rate_, rate_ < 10 ? 1 : 0) + "/s, " +
            duration(static_cast<double>(all - done) / rate_) + " left";
  return text;
}

void SweepProgressLine::point(std::size_t done, std::size_t all, PointResult::Status status) {
  const double time = now();
  if (started_ == 0) started_ = drawn_ = rated_ = time;
  if (status != PointResult::Status::done) ++not_done_;
  if (time - rated_ > 0.5) {  // an exponential mean over about five seconds
    const double rate = static_cast<double>(done - rated_done_) / (time - rated_);
    rate_ = rate_ == 0 ? rate : rate_ + (rate - rate_) * (1 - std::exp((rated_ - time) / 5));
    rated_ = time;
    rated_done_ = done;
  }
  const bool terminal = on_a_terminal();
  if (time - started_ < 0.5 || time - drawn_ < (terminal ? 0.1 : 30)) return;
  drawn_ = time;
  auto line = text(done, all);
  if (terminal) line.resize(std::min(line.size(), width_of_terminal() - 1));
  std::fprintf(stderr, terminal ? "\r%s\033[K" : "%s\n", line.c_str());
  visible_ = terminal;
}

void SweepProgressLine::clear() {
  if (visible_) std::fputs("\r\033[K", stderr);
  visible_ = false;
}

}  // namespace lockstep::sweep
