#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "sim/program/lower.hpp"
#include "sim/simulate.hpp"
#include "tools/commands/commands.hpp"
#include "tools/output/file.hpp"
#include "tools/output/result_json.hpp"
#include "tools/output/summary.hpp"
#include "tools/output/timeline_picture.hpp"

namespace lockstep {
namespace {

struct RunArguments {
  std::string scenario;
  std::string out;
  std::string json;
  std::string dump;
  std::string engine = "simgrid";
  std::vector<std::string> overrides;
};

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

std::string blocks_text(const Preparation& preparation) {
  std::string text = preparation.plan.to_string();
  for (const auto& block : preparation.blocks) text += block.to_string();
  return text;
}

/// Prints one value on the way and nothing else; only the timeline needs the engine.
bool dump(const std::string& what, const Scenario& scenario, const SimulateOptions& options, spdlog::logger& log) {
  if (what.empty()) return false;
  if (what == "timeline") {
    const auto simulation = simulate(scenario, options, log);
    print(timeline_text(simulation));
    return true;
  }
  const auto preparation = prepare(scenario);
  if (what == "cluster") print(preparation.cluster->to_string());
  if (what == "mesh") print(preparation.mesh->to_string());
  if (what == "plan") print(blocks_text(preparation));
  if (what == "step") print(preparation.step.to_string());
  if (what == "program") print(lower(preparation.step, *preparation.cluster, *preparation.mesh, rates_of(scenario)).to_string());
  return true;
}

void run_scenario(const RunArguments& arguments, spdlog::logger& log) {
  const auto scenario = load_scenario(arguments.scenario, parse_overrides(arguments.overrides));
  SimulateOptions options;
  options.engine = arguments.engine == "reference" ? EngineKind::reference : EngineKind::simgrid;
  options.progress = progress_line();
  if (dump(arguments.dump, scenario, options, log)) return;
  const auto simulation = simulate(scenario, options, log);
  const auto json = result_json(scenario, simulation);
  if (!arguments.out.empty()) {
    make_folder(arguments.out);
    const std::filesystem::path folder = arguments.out;
    write_file(folder / "result.json", json);
    const auto window = middle_window(simulation);
    write_file(folder / "timeline.svg", timeline_picture(scenario, simulation, window.from, window.to));
  }
  if (!arguments.json.empty() && arguments.json != "-") write_file(arguments.json, json);
  print(arguments.json == "-" ? json : summary(scenario, simulation));
}

}  // namespace

std::vector<KeyOverride> parse_overrides(const std::vector<std::string>& texts) {
  std::vector<KeyOverride> result;
  Problems problems;
  for (const auto& text : texts) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      problems.add({{"--set", 0, 0}, "", "'" + text + "' has no value", "KEY=VALUE such as batch.sequences=1024"});
    } else {
      result.push_back({text.substr(0, equals), text.substr(equals + 1)});
    }
  }
  problems.throw_if_any();
  return result;
}

void add_run(CLI::App& app, spdlog::logger& log) {
  auto* command = app.add_subcommand("run", "simulate one training step of a scenario");
  auto arguments = std::make_shared<RunArguments>();
  command->add_option("scenario", arguments->scenario, "scenario file (YAML)")->required();
  command->add_option("--out", arguments->out, "folder for result.json, timeline.svg and trace.json.gz");
  command->add_option("--json", arguments->json, "write the result as JSON to a file, or to stdout with -");
  command->add_option("--set", arguments->overrides, "replace a key of the scenario: a.b=c (may be repeated)");
  command->add_option("--dump", arguments->dump, "print one value on the way instead of simulating")
      ->check(CLI::IsMember({"cluster", "mesh", "plan", "step", "program", "timeline"}));
  command->add_option("--engine", arguments->engine, "simgrid (contention) or reference (closed forms, no contention)")
      ->check(CLI::IsMember({"simgrid", "reference"}));
  command->footer("Examples:\n  lockstep run scenarios/llama3-70b-v5p.yaml\n"
                  "  lockstep run scenarios/llama3-70b-v5p.yaml --set batch.sequences=4480 --out out/double\n"
                  "  lockstep run scenarios/llama3-70b-v5p.yaml --dump mesh");
  command->callback([arguments, &log] { run_scenario(*arguments, log); });
}

}  // namespace lockstep
