#include <algorithm>
#include <filesystem>
#include <memory>
#include <thread>

#include "sim/core/yaml_text.hpp"
#include "sim/studies/place_ranks/place_ranks.hpp"
#include "tools/commands/command_line.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/common_options.hpp"
#include "tools/commands/engine_option.hpp"
#include "tools/commands/fastest_plan.hpp"
#include "tools/commands/given_scenario.hpp"
#include "tools/commands/interrupt.hpp"
#include "tools/commands/moved_files.hpp"
#include "tools/commands/refuse.hpp"
#include "tools/output/elements/answer.hpp"
#include "tools/output/files/file.hpp"
#include "tools/output/files/new_file.hpp"
#include "tools/output/studies/placement_report.hpp"
#include "tools/report/placement_page.hpp"

namespace lockstep::commands {
namespace {

struct PlacementArguments : ScenarioArguments {
  std::string write, json, out, engine = "automatic";
  std::int32_t moves = 100;
  bool layers = false;
  std::uint64_t seed = 1;
  std::optional<double> limit;
  int jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
};

/// Whether the order stands in a file of its own: the ranks of a cluster on a graph take a list of hosts.
bool has_order_file(const GivenScenario& given, const scenario::Scenario& scenario,
                    const place_ranks::UnitOrder& order) {
  Problems problems;
  const auto cluster = given.document(problems)["cluster"];
  return output::host_order(scenario, order).empty() || (cluster.is_map() && cluster["order"].exists());
}

std::filesystem::path order_file(const std::string& scenario) {
  return std::filesystem::path(scenario).replace_extension(".order");
}

/// What is written must not stand where the command reads.
void refuse_own_files(const GivenScenario& given, const std::string& target) {
  if (!given.is_file() || target.empty()) return;
  refuse_to_overwrite(given.name(), target);
  Problems problems;
  const auto cluster = given.document(problems)["cluster"];
  if (!cluster.is_map() || !cluster["order"].is_scalar()) return;
  refuse_to_overwrite(std::filesystem::path(given.name()).parent_path() / cluster["order"].text(), order_file(target));
}

/// The scenario with its ranks in this order.
std::string as_scenario(const GivenScenario& given, const scenario::Scenario& scenario, const std::string& target,
                        const place_ranks::PlacedRanks& placed) {
  const auto& order = placed.best.order;
  Problems problems;
  auto root = given.document(problems);
  move_files(root, scenario, given, target);
  if (has_order_file(given, scenario, order)) {
    const auto* node = scenario.cluster.node();
    if (!root["cluster"].is_map() && node != nullptr)
      root = root.with_override(
          "cluster", "{node: " + in_one_line(node->name) + ", nodes: " + std::to_string(scenario.cluster.units) + "}");
    root = root.with_override("cluster.order", in_one_line(order_file(target).filename().string()));
  } else {
    root = root.with_override("cluster.placement", "{hosts: " + in_one_line(output::host_order(scenario, order)) + "}");
  }
  if (placed.has_other_layers())
    root = root.with_override("pipeline.layers", "[" + output::layers_text(placed.layers) + "]");
  problems.throw_if_any();
  return "# " + std::filesystem::path(given.name()).filename().string() +
         " as `lockstep design placement` orders it.\n" + lines_of(root);
}

/// `typed`: the whole command line.
void run_placement(const PlacementArguments& arguments, const std::string& typed, spdlog::logger& log) {
  if (arguments.json != "-") output::check_file_place(arguments.json);
  output::check_file_place(arguments.write);
  output::check_folder_place(arguments.out);
  GivenScenario given(arguments);
  refuse_own_files(given, arguments.write);
  const auto plan_line = split_by_fastest_plan(given, log);
  const auto scenario = given.load();
  const FirstInterrupt interrupt;
  place_ranks::PlaceOptions options;
  options.moves = arguments.moves;
  options.layers = arguments.layers;
  options.seed = arguments.seed;
  options.jobs = arguments.jobs;
  options.explained = true;
  options.engine = engine::engine_named(arguments.engine);
  if (arguments.limit) options.limit_s = *arguments.limit;
  options.progress = progress_line();
  options.interrupted = FirstInterrupt::came;
  const auto placed = place_ranks::place_ranks(scenario, options, log);
  if (options.progress) options.progress("done", 1);
  const auto json = output::placement_json(scenario, placed);
  output::Answer answer;
  if (!arguments.write.empty()) {
    answer.write(arguments.write, as_scenario(given, scenario, arguments.write, placed));
    if (has_order_file(given, scenario, placed.best.order))
      answer.write(order_file(arguments.write), output::device_order(scenario, placed.best.order));
  }
  std::string left_out;
  if (!arguments.out.empty()) {
    const std::filesystem::path folder = arguments.out;
    output::NewFiles files(folder);
    files.write(folder / "placement.json", json);
    files.write(folder / "placement.svg", output::placement_picture(scenario, placed));
    left_out = report::write_report(files, folder, report::placement_page(scenario, placed, {typed, given.text()}));
    answer.finish(files, folder);
  }
  answer.write(arguments.json, json);
  if (arguments.json == "-") return output::print(json);
  answer.print(plan_line + output::placement_text(scenario, placed) + left_out);
}

}  // namespace

void add_design_placement(Command& design, spdlog::logger& log) {
  auto command = design.command("placement", "find the best order of ranks on the nodes of a machine, with a bound");
  auto arguments = std::make_shared<PlacementArguments>();
  auto& a = *arguments;
  add_scenario(command, a);
  command.option("--moves", a.moves, "orders to try beyond the first few, each a move away from the best so far")
      .between(0, 1000000)
      .shows_default();
  command.flag("--layers", a.layers, "then search the layers of each stage of the pipeline too, with as many tries");
  command.option("--seed", a.seed, "of the moves").shows_default();
  add_jobs_option(command, a.jobs);
  add_limit_option(command, a.limit, "the best order so far");
  add_engine_option(command, a.engine);
  command.option("--write", a.write, "write the scenario with the best order as a file that `lockstep run` takes");
  command.option("--out", a.out, "folder for report.html, placement.json and the picture placement.svg");
  add_json_option(command, a.json);
  command.footer(
      "Ctrl-C ends the search as --limit does; a second one ends the program.\n"
      "Example:\n  lockstep design placement scenarios/llama3-70b-h100-oversubscribed.yaml --set "
      "'cluster.order={scattered: 1}'");
  command.callback([arguments, typed = command.typed(), &log] { run_placement(*arguments, *typed, log); });
}

}  // namespace lockstep::commands
