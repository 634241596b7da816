#include <spdlog/sinks/null_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "sim/core/quantity_text.hpp"
#include "sim/core/yaml_view.hpp"
#include "sim/studies/isolated.hpp"
#include "tools/commands/command_line.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/kept_to_the_end.hpp"
#include "tools/output/file.hpp"
#include "tools/output/table.hpp"
#include "topologies/graph/read_network.hpp"

namespace lockstep::commands {
namespace {

constexpr std::int64_t most_operations = 2'000'000;  // of all classes of ranks: some ten seconds of simulation

/// All that `run` does but its files: what is refused there is refused here, and the figures are the same. Without a
/// timeline, if most ranks differ and simulating them would take minutes. The max-min engine shares links as SimGrid
/// does and needs no library that would have to be loaded.
std::string simulated(const scenario::Scenario& scenario) {
  spdlog::logger silent("check", std::make_shared<spdlog::sinks::null_sink_mt>());
  SimulateOptions options;
  options.engine = engine::EngineKind::max_min;
  options.most_operations = most_operations;
  try {
    const auto& metrics = kept_to_the_end(simulate(scenario, options, silent)).metrics;
    const auto& memory = metrics.memory;
    if (scenario.replay)
      return "ok; memory not known, since replayed operations have no weights; step " + format(metrics.step_time);
    return "ok; memory peak " + format(memory.peak) + " of " + format(memory.capacity) +
           (memory.fits ? ", fits" : ", does NOT fit") + " (weights + optimizer " +
           format(memory.weights + memory.optimizer) + "); step " + format(metrics.step_time);
  } catch (const timing::TooManyOperations& too_many) {
    return "ok; weights + optimizer " + format(too_many.held) + " of " + format(scenario.cluster.chip().memory) + "; " +
           output::with_separators(too_many.classes) +
           " classes of ranks are too many to simulate here; lockstep run gives the rest";
  }
}

/// What the reader of the cluster's graph assumed, joined or left out, a line each; the scenario is known to be good.
std::string notes_on_the_network(const std::string& file, const std::vector<scenario::KeyOverride>& overrides) {
  Problems problems;
  auto root = YamlView::from_file(file, problems);
  for (const auto& key : overrides) root = root.with_override(key.path, key.value);
  const auto cluster = root["cluster"];
  const auto graph = cluster.is_map() ? cluster["graph"] : YamlView();
  if (!graph.exists()) return "";
  std::string text;
  const auto network = std::filesystem::path(file).parent_path() / graph.text();
  for (const auto& note : topologies::read_network(network, problems).notes) text += "  note: " + note + "\n";
  return text;
}

void check_scenarios(const std::vector<std::string>& files, const std::vector<std::string>& overrides) {
  Problems problems;
  for (const auto& file : files) {
    try {
      const auto scenario = load_scenario(file, parse_overrides(overrides));
      const auto text =
          studies::in_child([&] { return simulated(scenario); });  // gives its memory back; one may run out of it
      output::print(file + ": " + text + "\n" + notes_on_the_network(file, parse_overrides(overrides)));
    } catch (const ConfigError& error) {
      for (const auto& problem : error.problems()) problems.add(problem);
    }
  }
  problems.throw_if_any();
}

}  // namespace

void add_check(CommandLine& line) {
  auto command =
      line.command("check", "validate scenarios and print their memory and step time, one line each; writes nothing");
  auto files = std::make_shared<std::vector<std::string>>();
  auto overrides = std::make_shared<std::vector<std::string>>();
  command.option("scenarios", *files, "scenario files (YAML)").required();
  command.option("--set", *overrides, "replace a key of every scenario: a.b=c (may be repeated)").repeatable();
  command.footer("Example:\n  lockstep check scenarios/*.yaml");
  command.callback([files, overrides] { check_scenarios(*files, *overrides); });
}

}  // namespace lockstep::commands
