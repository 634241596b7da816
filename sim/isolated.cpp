#include "sim/isolated.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>

namespace lockstep {
namespace {

void write_all(int file, const void* data, std::size_t size) {
  const auto* at = static_cast<const char*>(data);
  while (size > 0) {
    const auto written = ::write(file, at, size);
    if (written <= 0) return;
    at += written;
    size -= static_cast<std::size_t>(written);
  }
}

std::string read_all(int file) {
  std::string text;
  std::array<char, 4096> piece{};
  for (auto got = ::read(file, piece.data(), piece.size()); got > 0; got = ::read(file, piece.data(), piece.size())) {
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return text;
}

Outcome outcome_of(const Metrics& metrics) {
  return {metrics.step_time.value(), metrics.breakdown.compute.value(), metrics.breakdown.exposed_comm.value(), metrics.breakdown.bubble.value(),
          metrics.mfu(), metrics.memory.peak.value(), metrics.memory.capacity.value()};
}

/// The child's answer: 'o' and an Outcome, or 'e' and a text.
[[noreturn]] void answer(int file, const Scenario& scenario, EngineKind engine, spdlog::logger& log) {
  try {
    const auto outcome = outcome_of(simulate(scenario, {engine, true, {}}, log).metrics);
    write_all(file, "o", 1);
    write_all(file, &outcome, sizeof outcome);
  } catch (const std::exception& error) {
    write_all(file, "e", 1);
    write_all(file, error.what(), std::strlen(error.what()));
  }
  ::_exit(0);
}

}  // namespace

Outcome simulate_isolated(const Scenario& scenario, EngineKind engine, spdlog::logger& log) {
  (void)prepare(scenario);  // the user's mistakes are thrown here, with their place
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) throw InternalError("simulate_isolated: no pipe");
  const auto child = ::fork();
  if (child < 0) throw InternalError("simulate_isolated: no process");
  if (child == 0) {
    ::close(ends[0]);
    answer(ends[1], scenario, engine, log);
  }
  ::close(ends[1]);
  const auto text = read_all(ends[0]);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (text.size() == 1 + sizeof(Outcome) && text[0] == 'o') {
    Outcome outcome;
    std::memcpy(&outcome, text.data() + 1, sizeof outcome);
    return outcome;
  }
  throw InternalError(text.empty() ? "simulation process ended with status " + std::to_string(status) : text.substr(1));
}

}  // namespace lockstep
