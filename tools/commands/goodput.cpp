#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "sim/core/quantity_text.hpp"
#include "sim/simulate.hpp"
#include "sim/studies/goodput/run_facts.hpp"
#include "tools/commands/command_line.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/common_options.hpp"
#include "tools/commands/engine_option.hpp"
#include "tools/commands/fastest_plan.hpp"
#include "tools/commands/given_scenario.hpp"
#include "tools/output/elements/answer.hpp"
#include "tools/output/files/file.hpp"
#include "tools/output/studies/goodput_text.hpp"
#include "tools/report/goodput_report.hpp"
#include "topologies/fabrics/component_counts.hpp"

namespace lockstep::commands {
namespace {

struct GoodputArguments : ScenarioArguments {
  std::string json, step_time, out;
  std::string engine = "automatic";
  double tokens = 0, price = 0, days = 0;
  std::int64_t runs = 200;
  std::uint64_t seed = 1;
  bool published = false;
  int jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
};

/// Simulated, unless it is given.
Seconds step_time(const GoodputArguments& arguments, const scenario::Scenario& scenario, spdlog::logger& log) {
  if (arguments.step_time.empty()) {
    SimulateOptions options;
    options.engine = engine::engine_named(arguments.engine);
    return simulate(scenario, options, log).metrics.step_time;
  }
  const auto given = parse_seconds(arguments.step_time);
  if (const auto* error = std::get_if<QuantityError>(&given))
    throw ConfigError({{{"--step-time", 0, 0}, "", error->what, error->expected}});
  if (std::get<Seconds>(given) > Seconds(0)) return std::get<Seconds>(given);
  throw ConfigError({{{"--step-time", 0, 0}, "", "is zero", "a time such as 10 s"}});
}

void run_goodput(const GoodputArguments& arguments, spdlog::logger& log) {
  if (arguments.json != "-") output::check_file_place(arguments.json);
  output::check_folder_place(arguments.out);
  GivenScenario given(arguments);
  const auto plan_line = split_by_fastest_plan(given, log);
  const auto scenario = given.load();
  goodput::check_has_reliability(scenario);
  const auto preparation = preparation::prepare_step(scenario);
  const auto step = step_time(arguments, scenario, log);
  goodput::FactsOptions states;
  states.jobs = arguments.jobs;
  states.progress = progress_line();
  const auto found = goodput::run_facts(scenario, preparation, step, states, log);
  if (states.progress) states.progress("done", 1);
  auto model = goodput::run_model(scenario, found.facts);
  std::optional<goodput::BesidePublished> beside;
  if (arguments.published) beside = goodput::beside_published(scenario, model, found.facts);

  output::GoodputAim aim{static_cast<double>(scenario.batch.sequences * scenario.batch.sequence_length) / step.value(),
                         scenario.chips(),
                         goodput::paid_chips(scenario) - scenario.chips(),
                         {},
                         {}};
  if (arguments.tokens > 0) aim.tokens = arguments.tokens;
  if (arguments.price > 0) aim.price_per_chip_hour = arguments.price;
  double days = arguments.days > 0 ? arguments.days : 30;
  if (arguments.days == 0 && aim.tokens)
    days = *aim.tokens / (aim.tokens_per_s * expected_shares(model).useful * 86400);
  const auto hosts = topologies::count_components(scenario.cluster).hosts;
  auto study = study_goodput(std::move(model), arguments.runs, arguments.seed, Seconds(days * 86400),
                             {scenario.chips(), hosts, scenario.chips() / std::max<std::int64_t>(hosts, 1)});
  study.notes.insert(study.notes.begin(), found.notes.begin(), found.notes.end());
  study.published = std::move(beside);

  const auto json = goodput_json(scenario, study, aim);
  output::Answer answer;
  answer.write(arguments.json, json);
  std::string left_out;
  if (!arguments.out.empty()) {
    output::NewFiles files(arguments.out);
    files.write(std::filesystem::path(arguments.out) / "goodput.json", json);
    if (study.published)
      files.write(std::filesystem::path(arguments.out) / "failures.svg",
                  output::failures_picture(*study.published, study.simulated.length));
    left_out = report::write_report(files, arguments.out, report::goodput_report(scenario, study, aim));
    answer.finish(files, arguments.out);
  }
  if (arguments.json == "-") return output::print(json);
  answer.print(plan_line + goodput_text(scenario, study, aim) + left_out);
}

}  // namespace

void add_goodput(CommandLine& line, spdlog::logger& log) {
  auto command = line.command("goodput", "useful share of a run's time with failures, restarts and checkpoints");
  auto arguments = std::make_shared<GoodputArguments>();
  add_scenario(command, *arguments, "; with `reliability`");
  command.option("--tokens", arguments->tokens, "tokens to train on; prints days, chip hours and cost")
      .between(1.0, 1e18);
  command.option("--price", arguments->price, "price of a chip hour, in any currency")
      .between(1e-6, 1e6)
      .needs("--tokens");
  command
      .option("--days", arguments->days, "length of the simulated runs (default: the time that --tokens take, or 30)")
      .between(1e-3, 1e5);
  add_engine_option(command, arguments->engine);
  command.option("--runs", arguments->runs, "simulated runs").between(2, 1'000'000).shows_default();
  command.option("--jobs", arguments->jobs, "simulations of broken machines at a time")
      .between(1, 1024)
      .shows_default();
  command.option("--seed", arguments->seed, "seed of the first run").shows_default();
  command.option("--step-time", arguments->step_time, "time of one step, such as '10 s', instead of simulating it");
  command.flag("--published", arguments->published,
               "also: the failures of the run's own rates beside those that published rates of parts predict");
  command.option("--out", arguments->out, "folder for report.html and goodput.json, and with --published failures.svg");
  add_json_option(command, arguments->json);
  command.footer(
      "Example:\n  lockstep goodput scenarios/published/llama3-405b-54-days.yaml --tokens 15.6e12 --price 2");
  command.callback([arguments, &log] { run_goodput(*arguments, log); });
}

}  // namespace lockstep::commands
