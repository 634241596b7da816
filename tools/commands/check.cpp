#include <spdlog/sinks/null_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
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
#include "tools/output/elements/answer.hpp"
#include "tools/output/elements/json_document.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/elements/terminal.hpp"
#include "tools/output/files/exit_code.hpp"
#include "tools/output/files/file.hpp"
#include "tools/output/results/memory_verdict.hpp"
#include "tools/output/results/scenario_notes.hpp"
#include "topologies/cluster/least_capacity.hpp"
#include "topologies/graph/read_network.hpp"

namespace lockstep::commands {
namespace {

constexpr std::int64_t most_operations = 2'000'000;  // of all classes of ranks: some ten seconds of simulation

using Json = nlohmann::ordered_json;

/// All that `run` does but its files: what is refused there is refused here, and the figures are the same. Without a
/// timeline, if most ranks differ and simulating them would take minutes. The keys of `check --json`; null: not known.
Json simulated(const scenario::Scenario& scenario, engine::EngineKind engine) {
  spdlog::logger silent("check", std::make_shared<spdlog::sinks::null_sink_mt>());
  SimulateOptions options;
  options.engine = engine;
  options.most_operations = most_operations;
  options.detail = Detail::totals;
  try {
    const auto& metrics = kept_to_the_end(simulate(scenario, options, silent)).metrics;
    const auto& memory = metrics.memory;
    if (scenario.replay) return {{"step_time_s", metrics.step_time.value()}};
    Json found{{"step_time_s", metrics.step_time.value()},
               {"peak_bytes", memory.peak.value()},
               {"capacity_bytes", memory.capacity.value()},
               {"weights_and_optimizer_bytes", (memory.weights + memory.optimizer).value()}};
    found.update(output::fit_json(studies::fit_of(memory.peak, memory.capacity)));
    return found;
  } catch (const timing::TooManyOperations& too_many) {
    return {{"capacity_bytes", least_capacity(scenario.cluster).value()},
            {"weights_and_optimizer_bytes", too_many.held.value()},
            {"rank_classes", too_many.classes}};
  }
}

std::string bytes_text(const Json& found, const char* key) { return format(Bytes(found[key].get<std::int64_t>())); }

/// A verdict with capitals in it where the step does not fit or may not.
std::string verdict_words(const std::string& verdict) {
  return verdict == "does not fit" ? "does NOT fit" : verdict == "may not fit" ? "MAY not fit" : verdict;
}

std::string text_of(const Json& found) {
  if (found.contains("rank_classes"))
    return "ok; weights + optimizer " + bytes_text(found, "weights_and_optimizer_bytes") + " of " +
           bytes_text(found, "capacity_bytes") + "; " + output::with_separators(found["rank_classes"].get<double>()) +
           " classes of ranks are too many to simulate here; lockstep run gives the rest";
  const auto step = "; step " + format(Seconds(found["step_time_s"].get<double>()));
  if (!found.contains("fits")) return "ok; memory not known, since replayed operations have no weights" + step;
  return "ok; memory peak " + bytes_text(found, "peak_bytes") + " of " + bytes_text(found, "capacity_bytes") + ", " +
         verdict_words(found["verdict"].get<std::string>()) + " (weights + optimizer " +
         bytes_text(found, "weights_and_optimizer_bytes") + ")" + step;
}

/// A row of --json, with every key.
Json row_of(const std::string& name, const Json& found, const std::string& layout,
            const std::vector<std::string>& notes) {
  Json row{{"scenario", name}};
  for (const char* key : {"step_time_s", "peak_bytes", "capacity_bytes", "fits", "verdict",
                          "weights_and_optimizer_bytes", "rank_classes"})
    row[key] = found.contains(key) ? found[key] : Json();
  row["layout"] = layout.empty() ? Json() : Json(layout);
  row["notes"] = notes;
  return row;
}

/// What the reader of the cluster's graph assumed, joined or left out, a line each; the scenario is known to be good.
std::vector<std::string> notes_on_the_network(const GivenScenario& given) {
  Problems problems;
  const auto root = given.document(problems);
  const auto cluster = root["cluster"];
  const auto graph = cluster.is_map() ? cluster["graph"] : YamlView();
  if (!graph.exists()) return {};
  const auto network = std::filesystem::path(given.is_file() ? given.name() : "").parent_path() / graph.text();
  return topologies::read_network(network, problems).notes;
}

struct CheckArguments {
  std::vector<std::string> scenarios;
  ScenarioArguments each;
  std::string json;
  bool fail_if_unfit = false;
  std::string engine = "max_min";  // shares links as SimGrid does, and needs no library that would have to be loaded
};

void check_scenarios(const CheckArguments& arguments, spdlog::logger& log) {
  const auto engine = engine::engine_named(arguments.engine);
  engine::load(engine);
  if (arguments.json != "-") output::check_file_place(arguments.json);
  Problems problems;
  Json rows = Json::array();
  bool all_fit = true;
  for (const auto& file : arguments.scenarios) {
    try {
      auto each = arguments.each;
      each.scenario = file;
      GivenScenario given(each);
      const auto plan_line = split_by_fastest_plan(given, log);
      const auto scenario = given.load();
      const auto found = Json::parse(studies::in_child(
          [&] { return simulated(scenario, engine).dump(); }));  // gives its memory back; one may run out of it
      all_fit = all_fit && found.value("fits", true);
      auto notes = output::notes_of(scenario);
      std::string text;
      for (const auto& note : notes) text += "; note: " + note;
      const auto layout =
          scenario.pipeline.layout.empty() ? std::string() : workloads::layout_text(scenario.pipeline.layout);
      text =
          plan_line + given.name() + ": " + text_of(found) + (layout.empty() ? "" : "; layout " + layout) + text + "\n";
      for (const auto& note : notes_on_the_network(given)) {
        text += "  note: " + note + "\n";
        notes.push_back(note);
      }
      rows.push_back(row_of(given.name(), found, layout, notes));
      if (arguments.json != "-") output::print(output::fitted(text));
    } catch (const ConfigError& error) {
      for (const auto& problem : error.problems()) problems.add(problem);
    }
  }
  problems.throw_if_any();
  const auto json = output::json_document(Json{{"scenarios", rows}});
  if (arguments.json == "-") output::print(json);
  output::Answer answer;
  answer.write(arguments.json, json);
  if (arguments.json != "-") answer.print("");
  if (arguments.fail_if_unfit && !all_fit) throw output::AnsweredNo();
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
  command.option("--json", arguments->json, "write the figures as JSON to a file, or to stdout with -");
  command.flag("--fail-if-unfit", arguments->fail_if_unfit,
               "end with exit code 1 if a scenario does not fit into memory");
  add_engine_option(command, arguments->engine);
  command.footer(
      "Examples:\n"
      "  lockstep check scenarios/*.yaml\n"
      "  lockstep check my.yaml --fail-if-unfit --json check.json");
  command.callback([arguments, &log] { check_scenarios(*arguments, log); });
}

}  // namespace lockstep::commands
