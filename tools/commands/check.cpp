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
#include "tools/commands/engine_option.hpp"
#include "tools/commands/fastest_plan.hpp"
#include "tools/commands/given_scenario.hpp"
#include "tools/commands/kept_to_the_end.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/files/file.hpp"
#include "tools/output/results/scenario_notes.hpp"
#include "topologies/graph/read_network.hpp"

namespace lockstep::commands {
namespace {

constexpr std::int64_t most_operations = 2'000'000;  // of all classes of ranks: some ten seconds of simulation

Bytes least_memory(const topologies::ClusterSpec& cluster) {
  auto least = cluster.chip().memory;
  for (const auto& chip : cluster.chips()) least = std::min(least, chip.memory);
  return least;
}

/// All that `run` does but its files: what is refused there is refused here, and the figures are the same. Without a
/// timeline, if most ranks differ and simulating them would take minutes.
std::string simulated(const scenario::Scenario& scenario, engine::EngineKind engine) {
  spdlog::logger silent("check", std::make_shared<spdlog::sinks::null_sink_mt>());
  SimulateOptions options;
  options.engine = engine;
  options.most_operations = most_operations;
  options.explained = false;
  try {
    const auto& metrics = kept_to_the_end(simulate(scenario, options, silent)).metrics;
    const auto& memory = metrics.memory;
    if (scenario.replay)
      return "ok; memory not known, since replayed operations have no weights; step " + format(metrics.step_time);
    return "ok; memory peak " + format(memory.peak) + " of " + format(memory.capacity) +
           (memory.fits ? ", fits" : ", does NOT fit") + " (weights + optimizer " +
           format(memory.weights + memory.optimizer) + "); step " + format(metrics.step_time);
  } catch (const timing::TooManyOperations& too_many) {
    return "ok; weights + optimizer " + format(too_many.held) + " of " + format(least_memory(scenario.cluster)) + "; " +
           output::with_separators(too_many.classes) +
           " classes of ranks are too many to simulate here; lockstep run gives the rest";
  }
}

/// What the reader of the cluster's graph assumed, joined or left out, a line each; the scenario is known to be good.
std::string notes_on_the_network(const GivenScenario& given) {
  Problems problems;
  const auto root = given.document(problems);
  const auto cluster = root["cluster"];
  const auto graph = cluster.is_map() ? cluster["graph"] : YamlView();
  if (!graph.exists()) return "";
  std::string text;
  const auto network = std::filesystem::path(given.is_file() ? given.name() : "").parent_path() / graph.text();
  for (const auto& note : topologies::read_network(network, problems).notes) text += "  note: " + note + "\n";
  return text;
}

struct CheckArguments {
  std::vector<std::string> scenarios;
  ScenarioArguments each;
  std::string engine = "max_min";  // shares links as SimGrid does, and needs no library that would have to be loaded
};

void check_scenarios(const CheckArguments& arguments, spdlog::logger& log) {
  const auto engine = engine::engine_named(arguments.engine);
  engine::load(engine);
  Problems problems;
  for (const auto& file : arguments.scenarios) {
    try {
      auto each = arguments.each;
      each.scenario = file;
      GivenScenario given(each);
      const auto plan_line = split_by_fastest_plan(given, log);
      const auto scenario = given.load();
      const auto text = studies::in_child(
          [&] { return simulated(scenario, engine); });  // gives its memory back; one may run out of it
      std::string notes;
      if (!scenario.pipeline.layout.empty()) notes = "; layout " + workloads::layout_text(scenario.pipeline.layout);
      for (const auto& note : output::notes_of(scenario)) notes += "; note: " + note;
      output::print(plan_line + given.name() + ": " + text + notes + "\n" + notes_on_the_network(given));
    } catch (const ConfigError& error) {
      for (const auto& problem : error.problems()) problems.add(problem);
    }
  }
  problems.throw_if_any();
}

}  // namespace

void add_check(CommandLine& line, spdlog::logger& log) {
  auto command =
      line.command("check", "validate scenarios and print their memory and step time, one line each; writes nothing");
  auto arguments = std::make_shared<CheckArguments>();
  command
      .option("scenarios", arguments->scenarios,
              "scenario files (YAML), - for stdin, or models: config.json or a name of the catalog")
      .required();
  command.option("--set", arguments->each.overrides, "replace a key of every scenario: a.b=c (may be repeated)")
      .repeatable();
  add_model_options(command, arguments->each);
  add_engine_option(command, arguments->engine);
  command.footer("Example:\n  lockstep check scenarios/*.yaml");
  command.callback([arguments, &log] { check_scenarios(*arguments, log); });
}

}  // namespace lockstep::commands
