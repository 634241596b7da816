#include <spdlog/logger.h>

#include <iostream>

#include "sim/core/quantity_text.hpp"
#include "sim/simulate.hpp"

/// On SimGrid, whose module is found where it was installed: 1 GB over a link of 2 GB/s takes 0.5 s.
double transfer_s(spdlog::logger& log) {
  lockstep::program::Program program;
  program.streams = {"compute", "comm"};
  program.stage_of_rank = {0};
  program.slowdown_of_rank = {1};
  program.links = {lockstep::BytesPerSecond(2e9)};
  program.communicators = {{"alone", 1, {{{0}, {{0, {0}}}}}}};
  lockstep::program::ProgramOp op;
  op.kind = lockstep::program::ProgramOp::Kind::collective;
  op.streams = {1};
  op.communicator = 0;
  op.phases = std::vector<lockstep::collectives::Phase>{{lockstep::Seconds(0), {1e9}}};
  program.ops = {op};
  return lockstep::engine::run(program, {}, log).timeline.makespan().value();
}

// Calls the facade on a scenario that is not there: every library is linked and the error reaches the caller.
int main() {
  std::cout << lockstep::format(lockstep::BytesPerSecond(90e9)) << '\n';
  spdlog::logger silent("consumer");
  std::cout << transfer_s(silent) << " s\n";
  try {
    const auto simulation = lockstep::simulate(lockstep::scenario::load_scenario("absent.yaml"), {}, silent);
    std::cout << simulation.metrics.step_time.value() << '\n';
  } catch (const lockstep::ConfigError& error) {
    std::cout << error.what() << '\n';
  }
}
