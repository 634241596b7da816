#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <thread>

#include "sim/core/quantity_text.hpp"
#include "sim/core/yaml_text.hpp"
#include "sim/studies/planning/plan_search.hpp"
#include "tools/commands/command_line.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/engine_option.hpp"
#include "tools/commands/given_scenario.hpp"
#include "tools/commands/moved_files.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/files/file.hpp"
#include "tools/output/studies/plan_report.hpp"
#include "topologies/torus/torus.hpp"

namespace lockstep::commands {
namespace {

struct PlanArguments : ScenarioArguments {
  std::string json, write, chips, engine = "automatic";
  std::size_t top = 5;
  int jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  double tokens = 0, days = 0, price = 0;
  std::optional<double> limit;
};

[[noreturn]] void refuse(const std::string& option, const std::string& what, const std::string& expected) {
  throw ConfigError({{{option, 0, 0}, "", what, expected}});
}

planning::SearchOptions options_of(const PlanArguments& arguments) {
  planning::SearchOptions options;
  options.top = arguments.top;
  options.jobs = arguments.jobs;
  if (arguments.limit) options.limit_s = *arguments.limit;
  options.engine = engine::engine_named(arguments.engine);
  options.progress = progress_line();
  return options;
}

// ---- the plan as a scenario file -------------------------------------------------------------------

/// The scenario with the overrides of the command line, split by `plan`.
std::string as_scenario(const scenario::Scenario& scenario, const GivenScenario& given, const std::string& target,
                        const std::vector<scenario::KeyOverride>& plan) {
  Problems problems;
  auto root = given.document(problems);
  for (const auto& key : plan) root = root.with_override(key.path, key.value);
  move_files(root, scenario, given, target);
  problems.throw_if_any();
  return "# " + std::filesystem::path(given.name()).filename().string() + " as `lockstep plan` splits it.\n" +
         lines_of(root, "search");
}

// ---- more or fewer chips ---------------------------------------------------------------------------

/// The same machine with another number of chips; none if there is no such slice or number of nodes.
std::optional<topologies::ClusterSpec> with_chips(topologies::ClusterSpec spec, std::int64_t chips) {
  if (spec.halls > 1) return std::nullopt;
  if (const auto* node = spec.node()) {
    if (chips % node->chips != 0) return std::nullopt;
    spec.units = static_cast<int>(chips / node->chips);
    return why_not_a_cluster(spec).empty() ? std::optional(spec) : std::nullopt;
  }
  auto& torus = std::get<topologies::TorusSpec>(spec.unit);
  std::optional<std::vector<int>> most_cubic;
  const auto axes = torus.shape.size();
  const auto fill = [&](const auto& self, std::vector<int> shape, std::int64_t left) -> void {
    if (shape.size() + 1 == axes) {
      shape.push_back(static_cast<int>(left));
      auto tried = torus;
      tried.shape = shape;
      if (!shape.empty() && std::is_sorted(shape.begin(), shape.end()) && why_not_a_slice(tried).empty() &&
          (!most_cubic || shape.back() < most_cubic->back()))
        most_cubic = shape;
      return;
    }
    for (std::int64_t side = 1; side <= left; ++side) {
      if (left % side == 0 && (side % 4 == 0 || side < 4))
        self(
            self,
            [&] {
              auto longer = shape;
              longer.push_back(static_cast<int>(side));
              return longer;
            }(),
            left / side);
    }
  };
  if (chips % spec.units != 0) return std::nullopt;
  fill(fill, {}, chips / spec.units);
  if (!most_cubic) return std::nullopt;
  torus.shape = *most_cubic;
  return spec;
}

struct Range {
  std::int64_t least = 0, most = 0;
};

Range range_of(const std::string& text) {
  Range range;
  char rest = 0;
  long long least = 0, most = 0;
  if (std::sscanf(text.c_str(), "%lld..%lld%c", &least, &most, &rest) != 2 || least < 1 || most < least ||
      most > 1'000'000) {
    refuse("--chips", "'" + text + "' is not a range", "two numbers such as 64..1024");
  }
  range.least = least;
  range.most = most;
  return range;
}

/// The days that training on this many tokens takes, and the cost of the chips; 0 if no price is known.
struct Training {
  double days = 0, cost = 0;
};

Training training_of(const PlanArguments& arguments, const scenario::Scenario& scenario, std::int64_t chips,
                     double step_s) {
  const double days = arguments.tokens /
                      static_cast<double>(scenario.batch.sequences * scenario.batch.sequence_length) * step_s / 86400;
  return {days, days * 24 * static_cast<double>(chips) * arguments.price};
}

/// The best plan for every doubling of the chips; with a deadline, up to the first that meets it.
void run_for_chips(const PlanArguments& arguments, const scenario::Scenario& scenario, spdlog::logger& log) {
  const bool deadline = arguments.days > 0;
  const auto range = arguments.chips.empty() ? Range{8, 1'000'000} : range_of(arguments.chips);
  auto options = options_of(arguments);
  options.top = 1;
  std::vector<std::string> header{"chips", "step time", "MFU", "memory", "plan"};
  if (arguments.tokens > 0) header.insert(header.begin() + 2, "days");
  if (arguments.price > 0) header.insert(header.begin() + 3, "cost");
  output::Table table(header);
  table.align_left(header.size() - 1);
  output::PlanRows rows;
  std::string met;
  for (std::int64_t chips = range.least; chips <= range.most && met.empty(); chips *= 2) {
    const auto cluster = with_chips(scenario.cluster, chips);
    if (!cluster) continue;
    auto scaled = scenario;
    scaled.cluster = *cluster;
    std::vector<std::string> row{output::with_separators(static_cast<double>(chips))};
    const auto without_plan = [&](const std::string& why) {
      row.resize(header.size() - 1);
      row.push_back(why);
      table.add(row);
      rows.add_none(chips, why);
    };
    std::unique_ptr<const planning::PlanSpace> made;
    try {
      made = std::make_unique<const planning::PlanSpace>(scaled);
    } catch (const ConfigError& error) {
      without_plan(error.problems().front().what);
      continue;
    }
    const auto& space = *made;
    const auto result = search_plans(space, options, log);
    if (result.best.empty()) {
      without_plan("nothing fits");
      continue;
    }
    const auto& best = result.best.front();
    const auto training = training_of(arguments, scenario, chips, best.figures.step_s);
    row.push_back(format(Seconds(best.figures.step_s)));
    if (arguments.tokens > 0) row.push_back(output::fixed(training.days, 1));
    if (arguments.price > 0) row.push_back(output::with_separators(training.cost));
    row.insert(row.end(), {output::percent(best.figures.mfu), format(Bytes(best.figures.peak_bytes)),
                           output::plan_name(space, best.choice)});
    table.add(row);
    rows.add(space, result, training.days, training.cost);
    if (deadline && training.days <= arguments.days)
      met = output::with_separators(static_cast<double>(chips)) + " chips are the fewest, doubling from " +
            std::to_string(range.least) + ", that finish in " + output::fixed(arguments.days, 1) + " days\n";
  }
  if (options.progress) options.progress("done", 1);
  if (!arguments.json.empty() && arguments.json != "-") output::write_file(arguments.json, rows.to_string());
  const auto text =
      arguments.json == "-"
          ? rows.to_string()
          : table.to_string() + (deadline ? "\n" + (met.empty() ? "no number of chips in the range finishes in " +
                                                                      output::fixed(arguments.days, 1) + " days\n"
                                                                : met)
                                          : "");
  output::print(text);
}

std::string training_text(const PlanArguments& arguments, const planning::PlanSpace& space,
                          const planning::SearchResult& result) {
  if (arguments.tokens <= 0 || result.best.empty()) return "";
  const auto training = training_of(arguments, space.base(), space.base().chips(), result.best.front().figures.step_s);
  return output::with_separators(arguments.tokens) + " tokens take " + output::fixed(training.days, 1) + " days" +
         (arguments.price > 0 ? " and cost " + output::with_separators(training.cost) : "") + "\n";
}

void refuse_what_asks_for_nothing(const PlanArguments& arguments) {
  if (arguments.days > 0 && arguments.tokens <= 0) refuse("--days", "a deadline without an amount of work", "--tokens");
  if (arguments.price > 0 && arguments.tokens <= 0) refuse("--price", "a price without an amount of work", "--tokens");
  if (!arguments.write.empty() && (!arguments.chips.empty() || arguments.days > 0))
    refuse("--write", "a table of several clusters is not a scenario", "one number of chips, the scenario's own");
}

void run_plan(const PlanArguments& arguments, spdlog::logger& log) {
  if (arguments.json != "-") output::check_file_place(arguments.json);
  output::check_file_place(arguments.write);
  const GivenScenario given(arguments);
  const auto scenario = given.load();
  refuse_what_asks_for_nothing(arguments);
  if (!arguments.chips.empty() || arguments.days > 0) return run_for_chips(arguments, scenario, log);
  const planning::PlanSpace space(scenario);
  if (!arguments.write.empty())
    (void)as_scenario(scenario, given, arguments.write, {});  // what stands in its way is told before the search
  const auto options = options_of(arguments);
  const bool as_text = arguments.json != "-";
  const auto own =
      as_text && !given.lacks_a_plan() ? planning::figures_of_file(scenario, options.engine, log) : std::nullopt;
  const auto result = search_plans(space, options, log);
  if (!arguments.json.empty() && arguments.json != "-")
    output::write_file(arguments.json, plan_json(space, result, output::WallTimes::hidden));
  if (!arguments.write.empty()) {
    if (result.best.empty()) refuse("--write", "no plan fits", "more chips, more memory or a wider search");
    const auto& best = result.best.front().choice;
    output::write_file(arguments.write,
                       as_scenario(scenario, given, arguments.write, space.keys(space.node_of(best), best)));
  }
  const auto text = as_text ? output::plan_text(space, result) + output::beside_the_files_own(space, result, own) +
                                  training_text(arguments, space, result)
                            : plan_json(space, result, output::WallTimes::shown);
  output::print(text);
}

}  // namespace

void add_plan(CommandLine& line, spdlog::logger& log) {
  auto command = line.command("plan", "find the fastest way to split a scenario over its chips, and prove it");
  auto arguments = std::make_shared<PlanArguments>();
  add_scenario(command, *arguments, "; its `search` says what may be chosen");
  command.option("--top", arguments->top, "how many plans to show, all of them proven")
      .between(1, 1000)
      .shows_default();
  command.option("--jobs", arguments->jobs, "simulations at a time").between(1, 1024).shows_default();
  command
      .option("--limit", arguments->limit,
              "seconds after which the search stops, with the best plans so far and what others may gain")
      .between(0.001, 1e7);
  command.option("--json", arguments->json, "write the result as JSON to a file, or to stdout with -");
  command.option("--write", arguments->write, "write the best plan as a scenario file that `lockstep run` takes");
  command.option("--chips", arguments->chips,
                 "print a table of the best plan for every doubling of the chips, such as 64..1024");
  command.option("--tokens", arguments->tokens, "tokens to train on; prints how many days they take")
      .between(1.0, 1e18);
  command.option("--days", arguments->days, "find the fewest chips, doubling, that train --tokens in this many days")
      .between(1e-3, 1e5);
  command.option("--price", arguments->price, "price of a chip hour; prints what --tokens cost").between(1e-6, 1e6);
  add_engine_option(command, arguments->engine);
  command.footer(
      "Examples:\n  lockstep plan scenarios/llama3-70b-h100.yaml\n"
      "  lockstep plan scenarios/llama3-70b-v5p.yaml --set 'search={tensor: [2, 4, 8], pipeline: 1}' --write "
      "best.yaml\n"
      "  lockstep plan llama-3-70b --cluster h100:64 --batch-tokens 4M --sequence-length 8192 --write best.yaml\n"
      "  lockstep plan scenarios/llama3-70b-h100.yaml --tokens 15e12 --days 60 --price 2.5");
  command.callback([arguments, &log] { run_plan(*arguments, log); });
}

}  // namespace lockstep::commands
