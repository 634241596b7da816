#pragma once
/// A scenario of tests/data, simulated without contention.
#include <filesystem>
#include <string>

#include "sim/simulate.hpp"
#include "tools/trace/chrome_trace.hpp"

namespace lockstep {

struct Simulated {
  explicit Simulated(const std::string& file, bool fold = true);
  /// Runs the program again, after a change to it.
  void run_again();
  /// Writes a trace to a file of its own and returns its place.
  [[nodiscard]] std::filesystem::path trace(const trace::TraceOptions& options = {}) const;
  [[nodiscard]] std::filesystem::path perfetto_trace(const trace::TraceOptions& options = {}) const;

  scenario::Scenario scenario;
  Simulation simulation;
};

/// A place that no other test process uses.
[[nodiscard]] std::filesystem::path scratch(const std::string& name);
[[nodiscard]] std::string bytes_of(const std::filesystem::path& file);

}  // namespace lockstep
