#include "tests/unit/trace/simulated.hpp"
#include "tests/source_dir.hpp"
#include "tools/trace/perfetto_trace.hpp"

#include <gtest/gtest.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/null_sink.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

namespace lockstep {
namespace {

spdlog::logger silent() { return {"null", std::make_shared<spdlog::sinks::null_sink_mt>()}; }

Simulation simulated(const scenario::Scenario& scenario, bool fold) {
  auto log = silent();
  SimulateOptions options;
  options.engine = engine::EngineKind::reference;
  options.fold = fold;
  return simulate(scenario, options, log);
}

}  // namespace

Simulated::Simulated(const std::string& file, bool fold)
    : scenario(scenario::load_scenario(std::filesystem::path(source_dir) / "tests/data/scenarios" / file)),
      simulation(simulated(scenario, fold)) {}

void Simulated::run_again() {
  auto log = silent();
  simulation.run = engine::run(simulation.program, {engine::EngineKind::reference, {}}, log);
  simulation.metrics = measure(scenario, simulation.preparation, simulation.program, simulation.run.timeline);
}

std::filesystem::path Simulated::trace(const trace::TraceOptions& options) const {
  static int written = 0;
  const auto file = scratch("trace" + std::to_string(++written) + ".json.gz");
  output::NewFiles files;
  write_chrome_trace(files, file, scenario, simulation, options);
  files.finish();
  return file;
}

std::filesystem::path Simulated::perfetto_trace(const trace::TraceOptions& options) const {
  static int written = 0;
  const auto file = scratch("trace" + std::to_string(++written) + ".pftrace.gz");
  output::NewFiles files;
  write_perfetto_trace(files, file, scenario, simulation, options);
  files.finish();
  return file;
}

std::filesystem::path scratch(const std::string& name) {
  const auto folder = std::filesystem::path(testing::TempDir()) / ("lockstep_trace_test_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  return folder / name;
}

std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace lockstep
