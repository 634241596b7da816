#include <spdlog/logger.h>

#include <iostream>

#include "sim/core/quantity_text.hpp"
#include "sim/simulate.hpp"

// Calls the facade on a scenario that is not there: every library is linked and the error reaches the caller.
int main() {
  std::cout << lockstep::format(lockstep::BytesPerSecond(90e9)) << '\n';
  spdlog::logger silent("consumer");
  try {
    const auto simulation = lockstep::simulate(lockstep::scenario::load_scenario("absent.yaml"), {}, silent);
    std::cout << simulation.metrics.step_time.value() << '\n';
  } catch (const lockstep::ConfigError& error) {
    std::cout << error.what() << '\n';
  }
}
