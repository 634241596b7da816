#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>

#include "sim/core/visible_text.hpp"
#include "sim/simulate.hpp"
#include "sim/studies/sensitivity/elasticity.hpp"
#include "sim/studies/sensitivity/faster_parts.hpp"
#include "tools/commands/command_line.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/common_options.hpp"
#include "tools/commands/draws_option.hpp"
#include "tools/commands/engine_option.hpp"
#include "tools/commands/fastest_plan.hpp"
#include "tools/commands/given_scenario.hpp"
#include "tools/commands/kept_to_the_end.hpp"
#include "tools/commands/moved_files.hpp"
#include "tools/output/elements/answer.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/files/file.hpp"
#include "tools/output/results/critical_path_text.hpp"
#include "tools/output/results/pipeline_picture.hpp"
#include "tools/output/results/result_json.hpp"
#include "tools/output/results/step_distribution_text.hpp"
#include "tools/output/results/summary.hpp"
#include "tools/output/results/timeline_picture.hpp"
#include "tools/report/run_report.hpp"
#include "tools/trace/chakra_trace.hpp"
#include "tools/trace/chrome_trace.hpp"
#include "tools/trace/goal_text.hpp"
#include "tools/trace/perfetto_trace.hpp"

namespace lockstep::commands {
namespace {

struct RunArguments : ScenarioArguments {
  std::string out;
  std::string chakra, goal;
  std::string json;
  std::string dump;
  std::string engine = "automatic";
  bool no_fold = false;
  bool trace_flows = false;
  bool trace_json = false;
  bool sensitivity = false;
  std::int32_t draws = 0;
  std::int64_t rank = -1;
};

std::string blocks_text(const preparation::Preparation& preparation) {
  std::string text = preparation.model.plan.to_string();
  for (const auto& block : preparation.model.layers) text += block.to_string();
  return text;
}

std::string program_text(const scenario::Scenario& scenario, const preparation::PreparedStep& preparation,
                         bool folding) {
  auto whole = lower_with_perturbations(scenario, preparation);
  const auto folded = folding ? fold(whole) : unfolded(std::move(whole));
  std::string text = std::to_string(folded.ranks.class_of_rank.size()) + " ranks in " +
                     std::to_string(folded.ranks.count()) + " classes, links in " +
                     std::to_string(folded.link_classes) + " classes\n";
  for (std::int32_t id = 0; id < std::min(folded.ranks.count(), 100); ++id) {
    text += "  class " + std::to_string(id) + ": " + std::to_string(folded.ranks.size[id]) + " ranks like rank " +
            std::to_string(folded.ranks.representative[id]) + "\n";
  }
  if (folded.ranks.count() > 100) text += "  ... " + std::to_string(folded.ranks.count() - 100) + " more\n";
  return text + folded.program.to_string();
}

/// simulate(), seen from a given rank (-1: the critical one).
Simulation simulate_at(std::int64_t rank, bool sensitivity, const scenario::Scenario& scenario,
                       const SimulateOptions& options, spdlog::logger& log) {
  if (rank >= scenario.chips()) {
    throw ConfigError({{{"--rank", 0, 0},
                        "",
                        "rank " + std::to_string(rank) + " does not exist",
                        "a rank from 0 to " + std::to_string(scenario.chips() - 1)}});
  }
  auto simulation =
      sensitivity ? sensitivity::simulate_with_elasticity(scenario, options, log) : simulate(scenario, options, log);
  if (rank >= 0) look_at(simulation, static_cast<topologies::RankId>(rank));
  return simulation;
}

/// Pictures, page and traces show every operation of the whole step.
void refuse_to_show(const Simulation& simulation, const std::string& option) {
  constexpr std::int64_t most = 5'000'000;
  const auto operations = simulation.run.timeline.whole_ops();
  if (operations <= most) return;
  throw ConfigError(
      {{{option, 0, 0},
        "",
        "the step has " + output::with_separators(static_cast<double>(operations)) + " operations to show",
        "at most " + output::with_separators(static_cast<double>(most)) + "; --json has the figures of longer steps"}});
}

/// With the keys of --set, and files by their whole path, so that it is the same scenario in any folder.
std::string scenario_text(const scenario::Scenario& scenario, const GivenScenario& given) {
  Problems problems;
  auto root = given.document(problems);
  move_files(root, scenario, given, "");
  problems.throw_if_any();
  return lines_of(root);
}

/// Prints one value on the way and nothing else; only the timeline needs the engine.
bool dump(const std::string& what, std::int64_t rank, const scenario::Scenario& scenario, const GivenScenario& given,
          const SimulateOptions& options, spdlog::logger& log) {
  if (what.empty()) return false;
  if (what == "scenario") {
    output::print(scenario_text(scenario, given));
    return true;
  }
  if (what == "timeline") {
    const auto simulation = simulate_at(rank, false, scenario, options, log);
    refuse_to_show(simulation, "--dump");
    output::print(output::timeline_text(simulation));
    return true;
  }
  const auto preparation = preparation::prepare_step(scenario);
  if (what == "cluster") output::print(preparation.machine.cluster->to_string());
  if (what == "mesh") output::print(preparation.machine.mesh->to_string());
  if (what == "plan") output::print(blocks_text(preparation));
  if (what == "step") output::print(preparation.step.to_string());
  if (what == "program") output::print(program_text(scenario, preparation, options.fold));
  return true;
}

std::string command_of(const RunArguments& arguments, const GivenScenario& given) {
  std::string text = "lockstep run " + given.arguments();
  if (arguments.engine != "automatic") text += " --engine " + arguments.engine;
  if (arguments.rank >= 0) text += " --rank " + std::to_string(arguments.rank);
  if (arguments.sensitivity) text += " --sensitivity";
  if (arguments.draws > 0) text += " --draws " + std::to_string(arguments.draws);
  return visible(text + (arguments.no_fold ? " --no-fold" : ""));
}

void run_scenario(const RunArguments& arguments, spdlog::logger& log) {
  output::check_folder_place(arguments.out);
  output::check_folder_place(arguments.chakra);
  output::check_file_place(arguments.goal);
  if (arguments.json != "-") output::check_file_place(arguments.json);
  GivenScenario given(arguments);
  const auto plan_line = split_by_fastest_plan(given, log);
  const auto scenario = given.load();
  SimulateOptions options;
  options.engine = engine::engine_named(arguments.engine);
  options.fold = !arguments.no_fold;
  options.draws = usual_draws;
  options.steps = arguments.draws;
  if (arguments.no_fold) options.how_drawn = DrawnSteps::whole;
  options.progress = progress_line();
  options.record_phases =  // for the link loads of result.json, and to know which links are used most
      !arguments.out.empty() || !arguments.json.empty() || arguments.sensitivity;
  if (dump(arguments.dump, arguments.rank, scenario, given, options, log)) return;
  const auto& simulation = kept_to_the_end(simulate_at(arguments.rank, arguments.sensitivity, scenario, options, log));
  std::vector<sensitivity::FasterPart> faster;
  if (arguments.sensitivity) faster = sensitivity::faster_parts(scenario, simulation, log);
  if (!arguments.out.empty()) refuse_to_show(simulation, "--out");
  const auto json = [&] { return result_json(scenario, simulation, output::WallTimes::hidden, faster); };
  output::Answer answer;
  std::string left_out;
  if (!arguments.out.empty()) {
    const std::filesystem::path folder = arguments.out;
    output::NewFiles files(folder);
    files.write(folder / "result.json", json());
    const auto window = output::middle_window(simulation);
    files.write(folder / "timeline.svg", output::timeline_picture(scenario, simulation, window.from, window.to));
    if (simulation.metrics.stages.size() > 1)
      files.write(folder / "pipeline.svg", output::pipeline_picture(scenario, simulation));
    if (simulation.distribution) files.write(folder / "draws.svg", output::draws_picture(*simulation.distribution));
    left_out = report::write_report(
        files, folder, report::run_report(scenario, simulation, {command_of(arguments, given), given.text()}, faster));
    trace::write_perfetto_trace(files, folder / "trace.pftrace.gz", scenario, simulation, {16, arguments.trace_flows});
    if (arguments.trace_json)
      trace::write_chrome_trace(files, folder / "trace.json.gz", scenario, simulation, {16, arguments.trace_flows});
    answer.finish(files, folder);
  }
  if (!arguments.chakra.empty()) {
    output::NewFiles files(arguments.chakra);
    left_out += trace::write_chakra_trace(files, arguments.chakra, std::filesystem::path(given.name()).stem(), scenario,
                                          preparation::prepare_step(scenario));
    answer.finish(files, arguments.chakra);
  }
  if (!arguments.goal.empty()) {
    output::NewFiles files;
    left_out += trace::write_goal(files, arguments.goal, scenario, preparation::prepare_step(scenario), log);
    answer.finish(files, arguments.goal);
  }
  if (arguments.json == "-") return output::print(result_json(scenario, simulation, output::WallTimes::shown, faster));
  if (!arguments.json.empty()) answer.write(arguments.json, json());
  answer.print(plan_line + output::summary(scenario, simulation) + output::what_twice_as_fast_brings(faster) +
               left_out);
}

}  // namespace

void add_run(CommandLine& line, spdlog::logger& log) {
  auto command = line.command("run", "simulate one training step of a scenario");
  auto arguments = std::make_shared<RunArguments>();
  add_scenario(command, *arguments);
  command.option(
      "--out", arguments->out,
      "folder for report.html, result.json, timeline.svg and trace.pftrace.gz (Perfetto), and with --draws draws.svg");
  command.option("--chakra", arguments->chakra,
                 "folder for the step as Chakra's execution traces, one for each rank, with their groups.json");
  command.option("--goal", arguments->goal,
                 "file for the step as GOAL, which packet simulators read (LogGOPSim, ATLAHS): computations, sends and "
                 "receives of all ranks");
  add_json_option(command, arguments->json);
  command.option("--dump", arguments->dump, "print one intermediate value instead of simulating")
      .one_of({"scenario", "cluster", "mesh", "plan", "step", "program", "timeline"});
  add_engine_option(command, arguments->engine);
  command.option("--rank", arguments->rank, "show this rank's lane instead of the critical one").not_negative();
  command.flag("--trace-flows", arguments->trace_flows, "draw arrows for dependencies in the trace");
  command
      .flag("--trace-json", arguments->trace_json,
            "also write the trace of --out as Chrome's JSON, trace.json.gz, which other programs read")
      .needs("--out");
  const auto sensitivity =
      command.flag("--sensitivity", arguments->sensitivity,
                   "simulate again with each rate of the machine a little better, and say what would help most");
  add_draws_option(command, arguments->draws).excludes(sensitivity);
  command.flag("--no-fold", arguments->no_fold,
               "simulate every rank instead of one per symmetry class (same result, slower)");
  command.footer(
      "Examples:\n  lockstep run scenarios/llama3-70b-v5p.yaml\n"
      "  lockstep run scenarios/llama3-70b-v5p.yaml --set batch.sequences=4480 --out out/double\n"
      "  lockstep run scenarios/llama3-70b-v5p.yaml --dump mesh\n"
      "  lockstep run scenarios/llama3-70b-v5p.yaml --set 'variations=[{jitter: 0.01}]' --draws 200\n"
      "  lockstep run llama-3-70b --cluster h100:64 --batch-tokens 4M --sequence-length 8192");
  command.callback([arguments, &log] { run_scenario(*arguments, log); });
}

}  // namespace lockstep::commands
