#include <memory>
#include <optional>

#include "sim/core/quantity_text.hpp"
#include "sim/core/yaml_text.hpp"
#include "sim/simulate.hpp"
#include "sim/studies/goodput/run_model.hpp"
#include "sim/studies/planning/memory_front.hpp"
#include "tools/commands/command_line.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/common_options.hpp"
#include "tools/commands/draws_option.hpp"
#include "tools/commands/engine_option.hpp"
#include "tools/commands/interrupt.hpp"
#include "tools/commands/moved_files.hpp"
#include "tools/commands/plan_arguments_private.hpp"
#include "tools/commands/refuse.hpp"
#include "tools/output/elements/answer.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/files/exit_code.hpp"
#include "tools/output/files/file.hpp"
#include "tools/output/studies/plan_report.hpp"
#include "tools/report/plan_report.hpp"

namespace lockstep::commands {

planning::SearchOptions options_of(const PlanArguments& arguments) {
  planning::SearchOptions options;
  options.top = arguments.top;
  options.jobs = arguments.jobs;
  if (arguments.limit) options.limit_s = *arguments.limit;
  options.engine = engine::engine_named(arguments.engine);
  options.progress = progress_line();
  options.interrupted = FirstInterrupt::came;
  return options;
}

namespace {

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

// ---- what is said and written ----------------------------------------------------------------------

std::string training_text(const PlanArguments& arguments, const planning::PlanSpace& space,
                          const PlansByObjective& found) {
  const auto& best = found.result.best;
  if (arguments.tokens <= 0 || best.empty()) return "";
  const double step_s = found.step_s > 0 ? found.step_s : best.front().figures.step_s;
  const auto chips = arguments.for_run ? goodput::paid_chips(space.base()) : space.base().chips();
  const auto training = training_of(arguments, space.base(), chips, step_s);
  return output::with_separators(arguments.tokens) + " tokens take " + output::fixed(training.days, 1) + " days" +
         (arguments.price > 0 ? " and cost " + output::with_separators(training.cost) : "") + "\n";
}

/// Where no plan keeps within memory: the fewest chips, doubling, on which one does, found by searches of their own.
std::string what_would_do(const planning::PlanSpace& space, planning::SearchOptions options, spdlog::logger& log) {
  constexpr std::int64_t most_doublings = 8;
  const auto& base = space.base();
  options.top = 1;
  std::string tried;
  for (std::int64_t times = 2; times <= most_doublings && !options.interrupted(); times *= 2) {
    auto more = base;
    const auto cluster = with_chips(base.cluster, base.chips() * times);
    if (!cluster) break;
    more.cluster = *cluster;
    const auto chips = output::with_separators(static_cast<double>(more.chips())) + " chips";
    try {
      const planning::PlanSpace larger(more);
      const auto result = search_plans(larger, options, log);
      const auto words = result.best.empty() ? "" : output::may_not_fit_text(larger, result.best.front());
      if (!result.best.empty())
        return "what would do: " + chips + ", " + output::plan_name(larger, result.best.front().choice) + ", " +
               format(Seconds(result.best.front().figures.step_s)) + " a step" + (words.empty() ? "" : "; " + words) +
               "\n";
      tried = chips;
    } catch (const ConfigError&) {
      break;  // the batch cannot be split over so many
    }
  }
  return (tried.empty() ? "" : "no plan does on " + tried + " either; ") +
         "what may help: a wider search, fewer tokens in a step or --set training.offload=...\n";
}

void refuse_what_asks_for_nothing(const PlanArguments& arguments) {
  if (arguments.days > 0 && arguments.tokens <= 0) refuse("--days", "a deadline without an amount of work", "--tokens");
  if (arguments.price > 0 && arguments.tokens <= 0) refuse("--price", "a price without an amount of work", "--tokens");
  if (!arguments.write.empty() && (!arguments.chips.empty() || arguments.days > 0))
    refuse("--write", "a table of several clusters is not a scenario", "one number of chips, the scenario's own");
  if (arguments.has_objective() && (!arguments.chips.empty() || arguments.days > 0))
    refuse(arguments.for_run ? "--for-run" : "--draws", "a table of several clusters compares healthy steps",
           "one number of chips, the scenario's own");
}

/// plan.json, best.yaml and report.html; gives back what to tell the user about them.
std::string write_folder(const PlanArguments& arguments, const GivenScenario& given, const planning::PlanSpace& space,
                         const planning::SearchResult& result, const nlohmann::ordered_json& objective,
                         output::Answer& answer, spdlog::logger& log) {
  const std::filesystem::path folder = arguments.out;
  std::vector<planning::MemoryPoint> front;
  std::optional<Simulation> step;
  std::string best_yaml;
  if (!result.best.empty()) {
    front = planning::memory_front(space.base(), space.memory(), result, options_of(arguments), log);
    const auto& best = result.best.front().choice;
    const auto& node = space.node_of(best);
    SimulateOptions options;
    options.engine = engine::engine_named(arguments.engine);
    step = simulate(space.scenario(node, best), options, log);
    best_yaml = as_scenario(space.base(), given, (folder / "best.yaml").string(), space.keys(node, best));
  }
  output::NewFiles files(folder);
  files.write(folder / "plan.json", plan_json(space, result, output::WallTimes::hidden, front, objective));
  if (!best_yaml.empty()) files.write(folder / "best.yaml", best_yaml);
  const auto left_out =
      report::write_report(files, folder, report::plan_report(space, result, front, step ? &*step : nullptr));
  answer.finish(files, folder);
  return left_out;
}

void run_plan(const PlanArguments& arguments, spdlog::logger& log) {
  if (arguments.json != "-") output::check_file_place(arguments.json);
  output::check_file_place(arguments.write);
  output::check_folder_place(arguments.out);
  const GivenScenario given(arguments);
  const auto scenario = given.load();
  refuse_what_asks_for_nothing(arguments);
  const FirstInterrupt interrupt;
  if (!arguments.chips.empty() || arguments.days > 0) return plan_for_chips(arguments, scenario, log);
  const planning::PlanSpace space(scenario);
  if (!arguments.write.empty())
    (void)as_scenario(scenario, given, arguments.write, {});  // what stands in its way is told before the search
  if (!arguments.out.empty())
    (void)as_scenario(scenario, given, (std::filesystem::path(arguments.out) / "best.yaml").string(), {});
  const auto options = options_of(arguments);
  const bool as_text = arguments.json != "-";
  const auto own =
      as_text && !given.lacks_a_plan() ? planning::figures_of_file(scenario, options.engine, log) : std::nullopt;
  PlansByObjective found;
  if (arguments.has_objective()) {
    found = search_by_objective(arguments, space, options, log);
  } else {
    found.result = search_plans(space, options, log);
  }
  const auto& result = found.result;
  if (found.text.empty())
    found.text = output::plan_text(space, result) + output::beside_the_files_own(space, result, own);
  output::Answer answer;
  if (!arguments.json.empty() && as_text)
    answer.write(arguments.json, plan_json(space, result, output::WallTimes::hidden, {}, found.json));
  if (!arguments.write.empty() && !result.best.empty()) {
    const auto& best = result.best.front().choice;
    answer.write(arguments.write, as_scenario(scenario, given, arguments.write, space.keys(space.node_of(best), best)));
  }
  const auto left_out =
      arguments.out.empty() ? "" : write_folder(arguments, given, space, result, found.json, answer, log);
  const bool none_found = result.best.empty() && !result.stopped;
  if (as_text) {
    answer.print(found.text + training_text(arguments, space, found) +
                 (none_found ? what_would_do(space, options, log) : "") + left_out);
  } else {
    output::print(plan_json(space, result, output::WallTimes::shown, {}, found.json));
  }
  if (options.progress) options.progress("done", 1);
  if (result.best.empty()) throw output::AnsweredNo();
}

}  // namespace

void add_plan(CommandLine& line, spdlog::logger& log) {
  auto command = line.command("plan", "find the fastest way to split a scenario over its chips, and prove it");
  auto arguments = std::make_shared<PlanArguments>();
  add_scenario(command, *arguments, "; its `search` says what may be chosen");
  command.option("--top", arguments->top, "how many plans to show, all of them proven")
      .between(1, 1000)
      .shows_default();
  add_jobs_option(command, arguments->jobs);
  add_limit_option(command, arguments->limit, "the best plans so far and what others may gain");
  add_json_option(command, arguments->json);
  command.option("--write", arguments->write, "write the best plan as a scenario file that `lockstep run` takes");
  command.option("--out", arguments->out,
                 "folder for report.html, plan.json and the best plan as best.yaml; the report also has the best plans "
                 "with three, two and one quarter of the memory, each a search of its own, or with --chips step time "
                 "over chips");
  command.option("--chips", arguments->chips,
                 "print a table of the best plan for every doubling of the chips, such as 64..1024");
  command.option("--tokens", arguments->tokens, "tokens to train on; prints how many days they take")
      .between(1.0, 1e18);
  command.option("--days", arguments->days, "find the fewest chips, doubling, that train --tokens in this many days")
      .between(1e-3, 1e5);
  command.option("--price", arguments->price, "price of a chip hour; prints what --tokens cost").between(1e-6, 1e6);
  const auto draws = add_draws_option(command, arguments->draws,
                                      "choose the plan by its steps in this many draws of all that varies, each draw "
                                      "the same for all plans, instead of the healthy step");
  command
      .option("--objective", arguments->objective,
              "of the draws: the median, the 95th percentile, or the largest time beyond the fastest plan of a draw")
      .one_of({"median", "p95", "regret"})
      .shows_default()
      .needs("--draws");
  command
      .flag("--for-run", arguments->for_run,
            "choose the plan by the useful time of the run that `reliability` describes: the step over goodput")
      .excludes(draws);
  command.option("--most", arguments->most, "the most plans to compare with --draws or --for-run, and to show")
      .between(1, 1000)
      .shows_default();
  add_engine_option(command, arguments->engine);
  command.footer(
      "Ctrl-C ends the search as --limit does; a second one ends the program.\n"
      "Examples:\n  lockstep plan scenarios/llama3-70b-h100.yaml --out out/plan\n"
      "  lockstep plan scenarios/llama3-70b-v5p.yaml --set 'search={tensor: [2, 4, 8], pipeline: 1}' --write "
      "best.yaml\n"
      "  lockstep plan llama-3-70b --cluster h100:64 --batch-tokens 4M --sequence-length 8192 --write best.yaml\n"
      "  lockstep plan scenarios/llama3-70b-h100.yaml --tokens 15e12 --days 60 --price 2.5");
  command.callback([arguments, &log] { run_plan(*arguments, log); });
}

}  // namespace lockstep::commands
