#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <thread>

#include "sim/planning/plan_search.hpp"
#include "tools/commands/commands.hpp"
#include "tools/output/file.hpp"
#include "tools/output/plan_report.hpp"

namespace lockstep {
namespace {

struct PlanArguments {
  std::string scenario, json, write, engine = "simgrid";
  std::vector<std::string> overrides;
  std::size_t top = 5;
  int jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
};

void run_plan(const PlanArguments& arguments, spdlog::logger& log) {
  if (arguments.json != "-") check_file_place(arguments.json);
  const PlanSpace space(load_scenario(arguments.scenario, parse_overrides(arguments.overrides)));
  SearchOptions options;
  options.top = arguments.top;
  options.jobs = arguments.jobs;
  options.engine = arguments.engine == "reference" ? EngineKind::reference : EngineKind::simgrid;
  options.progress = progress_line();
  const auto result = search_plans(space, options, log);
  if (!arguments.json.empty() && arguments.json != "-") write_file(arguments.json, plan_json(space, result, WallTimes::hidden));
  const auto text = arguments.json == "-" ? plan_json(space, result, WallTimes::shown) : plan_text(space, result);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace

void add_plan(CLI::App& app, spdlog::logger& log) {
  auto* command = app.add_subcommand("plan", "find the fastest way to split a scenario over its chips, and prove it");
  auto arguments = std::make_shared<PlanArguments>();
  command->add_option("scenario", arguments->scenario, "scenario file (YAML); its `search` says what may be chosen")->required();
  command->add_option("--top", arguments->top, "how many plans to show, all of them proven")->check(CLI::Range(1, 1000))->capture_default_str();
  command->add_option("--jobs", arguments->jobs, "simulations at a time")->check(CLI::Range(1, 1024))->capture_default_str();
  command->add_option("--json", arguments->json, "write the result as JSON to a file, or to stdout with -");
  command->add_option("--set", arguments->overrides, "replace a key of the scenario: a.b=c (may be repeated)")->allow_extra_args(false);
  command->add_option("--engine", arguments->engine, "simgrid (contention) or reference (closed forms, no contention)")->check(CLI::IsMember({"simgrid", "reference"}));
  command->footer("Examples:\n  lockstep plan scenarios/llama3-70b-h100.yaml\n"
                  "  lockstep plan scenarios/llama3-70b-v5p.yaml --set 'search={tensor: [2, 4, 8], pipeline: 1}' --top 10");
  command->callback([arguments, &log] { run_plan(*arguments, log); });
}

}  // namespace lockstep
