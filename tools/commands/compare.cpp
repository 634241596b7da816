#include <algorithm>
#include <cstdio>
#include <memory>

#include "sim/studies/isolated.hpp"
#include "tools/commands/command_line.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/draws_option.hpp"
#include "tools/commands/engine_option.hpp"
#include "tools/commands/problems_once.hpp"
#include "tools/commands/scenario_variants.hpp"
#include "tools/output/elements/answer.hpp"
#include "tools/output/files/file.hpp"
#include "tools/output/results/result_json.hpp"
#include "tools/output/results/scenario_comparison.hpp"
#include "tools/report/compare_report.hpp"
#include "tools/report/timeline_data.hpp"

namespace lockstep::commands {
namespace {

struct CompareArguments {
  VariedScenarios given;
  std::string json, out;
  std::string engine = "automatic";
  std::int32_t draws = 0;
};

/// Checked as far as can be done without simulating; every problem of every scenario once.
std::vector<scenario::Scenario> load_all(const std::vector<Variant>& variants,
                                         std::vector<output::ScenarioInputs>& inputs) {
  std::vector<scenario::Scenario> scenarios;
  ProblemsOnce problems;
  for (const auto& variant : variants) {
    problems.take([&] {
      auto scenario = load_scenario(variant.file, variant.overrides);
      inputs.push_back(output::inputs_of(scenario, preparation::prepare(scenario)));
      scenarios.push_back(std::move(scenario));
    });
  }
  problems.throw_if_any();
  return scenarios;
}

void run_compare(const CompareArguments& arguments, spdlog::logger& log) {
  output::check_folder_place(arguments.out);
  if (arguments.json != "-") output::check_file_place(arguments.json);
  const auto variants = variants_of(arguments.given);
  if (variants.size() < 2) {
    throw ConfigError({{{"compare", 0, 0},
                        "",
                        "there is only one scenario",
                        "two or more files, or one with --vary KEY=VALUE,VALUE,..."}});
  }
  std::vector<output::ScenarioInputs> inputs;
  const auto scenarios = load_all(variants, inputs);
  const auto progress = progress_line();
  engine::load(engine::engine_named(arguments.engine));
  std::vector<output::ComparedScenario> compared;
  std::vector<std::string> timelines;
  for (std::size_t i = 0; i < scenarios.size(); ++i) {
    const auto name = variant_name(variants[i], variants);
    if (progress) progress("simulating " + name, static_cast<double>(i) / static_cast<double>(scenarios.size()));
    SimulateOptions options;
    options.engine = engine::engine_named(arguments.engine);
    options.record_phases = true;
    options.draws = usual_draws;
    options.steps = arguments.draws;
    const auto answer = studies::in_child([&] {
      const auto simulation = simulate(scenarios[i], options, log);
      return result_json(scenarios[i], simulation, output::WallTimes::hidden) + '\0' +
             (arguments.out.empty() ? "" : report::packed_timeline(name, simulation, 1));
    });
    const auto end = answer.find('\0');  // of the JSON, which has none
    compared.push_back(output::read_compared(name, std::move(inputs[i]), answer.substr(0, end)));
    timelines.push_back(answer.substr(end + 1));
  }
  if (progress) progress("done", 1);
  const auto json = comparison_json(compared);
  output::Answer answer;
  std::string left_out;
  if (!arguments.out.empty()) {
    output::NewFiles files(arguments.out);
    files.write(std::filesystem::path(arguments.out) / "compare.json", json);
    files.write(std::filesystem::path(arguments.out) / "compare.svg", comparison_picture(compared));
    left_out = report::write_report(files, arguments.out, report::compare_report(compared, timelines));
    answer.finish(files, arguments.out);
  }
  answer.write(arguments.json, json);
  if (arguments.json == "-") return output::print(json);
  answer.print(comparison_text(compared) + left_out);
}

}  // namespace

void add_compare(CommandLine& line, spdlog::logger& log) {
  auto command = line.command("compare", "simulate scenarios side by side: what differs, and where the time goes");
  auto arguments = std::make_shared<CompareArguments>();
  add_varied_scenarios(command, arguments->given, "; all are compared with the first");
  add_engine_option(command, arguments->engine);
  add_draws_option(command, arguments->draws);
  command.option("--json", arguments->json, "write the comparison as JSON to a file, or to stdout with -");
  command.option("--out", arguments->out, "folder for report.html, compare.json and the bars of compare.svg");
  command.footer(
      "Examples:\n  lockstep compare scenarios/llama3-70b-h100.yaml scenarios/llama3-70b-v5p.yaml\n"
      "  lockstep compare scenarios/llama3-70b-h100.yaml --vary batch.sequences=512,1024,2048 --out out/batch");
  command.callback([arguments, &log] { run_compare(*arguments, log); });
}

}  // namespace lockstep::commands
