// How long traces of a scenario take to write, and how large they get: trace_speed SCENARIO [KEY=VALUE ...]
#include <spdlog/logger.h>

#include <cstdio>
#include <ctime>
#include <filesystem>

#include "tools/trace/chrome_trace.hpp"
#include "tools/trace/perfetto_trace.hpp"

using namespace lockstep;

namespace {

std::size_t spans_of(const Simulation& simulation, const trace::TraceOptions& options) {
  std::size_t spans = 0;
  const trace::TraceContent content(simulation, options);
  for (std::size_t index = 0; index < content.processes(); ++index) {
    for (const auto& lane : content.process(index).lanes) spans += lane.spans.size();
  }
  return spans;
}

template <class Write>
void measure(const char* form, std::size_t spans, const std::filesystem::path& file, Write write) {
  const auto begin = std::clock();  // of this process: other programs do not count
  write(file);
  const double took = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  const auto bytes = static_cast<double>(std::filesystem::file_size(file));
  std::printf("%-9s %9zu spans %7.3f s %8.2f MB   a million: %.2f s %.1f MB\n", form, spans, took, bytes / 1e6,
              took * 1e6 / static_cast<double>(spans), bytes / static_cast<double>(spans));
  std::filesystem::remove(file);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) return 2;
  std::vector<scenario::KeyOverride> overrides;
  for (int i = 2; i < count; ++i) {
    const std::string text = arguments[i];
    overrides.push_back({text.substr(0, text.find('=')), text.substr(text.find('=') + 1)});
  }
  const auto scenario = load_scenario(arguments[1], overrides);
  spdlog::logger silent("bench");
  SimulateOptions options;
  options.engine = engine::EngineKind::reference;
  const auto simulation = simulate(scenario, options, silent);
  const auto folder = std::filesystem::temp_directory_path();
  for (const bool flows : {false, true}) {
    const trace::TraceOptions trace{16, flows};
    const auto spans = spans_of(simulation, trace);
    measure(flows ? "perfetto+" : "perfetto", spans, folder / "bench.pftrace.gz", [&](const auto& file) {
      output::NewFiles files;
      write_perfetto_trace(files, file, scenario, simulation, trace);
      files.finish();
    });
    measure(flows ? "chrome+" : "chrome", spans, folder / "bench.json.gz", [&](const auto& file) {
      output::NewFiles files;
      write_chrome_trace(files, file, scenario, simulation, trace);
      files.finish();
    });
  }
}
