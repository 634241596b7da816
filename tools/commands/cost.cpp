#include <algorithm>
#include <filesystem>
#include <memory>

#include "sim/studies/economics/run_cost.hpp"
#include "sim/studies/isolated.hpp"
#include "tools/commands/command_line.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/common_options.hpp"
#include "tools/commands/engine_option.hpp"
#include "tools/commands/problems_once.hpp"
#include "tools/commands/scenario_variants.hpp"
#include "tools/output/elements/answer.hpp"
#include "tools/output/files/file.hpp"
#include "tools/output/files/new_file.hpp"
#include "tools/output/studies/cost_report.hpp"

namespace lockstep::commands {
namespace {

struct CostArguments {
  VariedScenarios given;
  std::string prices, json, out;
  std::string engine = "automatic";
  double tokens = 0;
};

/// Checked as far as can be done without simulating; every problem of every scenario and of the prices once.
std::vector<scenario::Scenario> load_all(const std::vector<Variant>& variants, const std::string& prices,
                                         economics::PriceList& list) {
  std::vector<scenario::Scenario> scenarios;
  ProblemsOnce problems;
  const bool known = problems.take([&] { list = economics::read_price_list(prices); });
  for (const auto& variant : variants) {
    problems.take([&] {
      auto scenario = load_scenario(variant.file, variant.overrides);
      if (known) {
        check_prices(scenario.cluster, list);
        (void)prices_on(scenario.cluster, list);
      }
      (void)preparation::prepare(scenario);
      scenarios.push_back(std::move(scenario));
    });
  }
  problems.throw_if_any();
  return scenarios;
}

void run_cost(const CostArguments& arguments, spdlog::logger& log) {
  output::check_folder_place(arguments.out);
  if (arguments.json != "-") output::check_file_place(arguments.json);
  const auto variants = variants_of(arguments.given);
  economics::PriceList prices;
  const auto scenarios = load_all(variants, arguments.prices, prices);
  const auto progress = progress_line();
  SimulateOptions options;
  options.engine = engine::engine_named(arguments.engine);
  options.detail = Detail::totals;
  engine::load(options.engine);
  std::vector<output::CostedScenario> runs;
  for (std::size_t i = 0; i < scenarios.size(); ++i) {
    const auto name = variant_name(variants[i], variants);
    if (progress) progress("simulating " + name, static_cast<double>(i) / static_cast<double>(scenarios.size()));
    const auto answer = studies::in_child([&] {
      return output::run_cost_json(
          economics::cost_of_run(scenarios[i], simulate(scenarios[i], options, log), prices, arguments.tokens));
    });
    runs.push_back({name, output::read_run_cost(answer)});
  }
  if (progress) progress("done", 1);
  const output::CostAim aim{arguments.tokens, prices.currency};
  const auto json = cost_json(runs, aim);
  output::Answer answer;
  if (!arguments.out.empty()) {
    output::NewFiles files(arguments.out);
    files.write(std::filesystem::path(arguments.out) / "cost.json", json);
    files.write(std::filesystem::path(arguments.out) / "power.svg", power_picture(runs));
    answer.finish(files, arguments.out);
  }
  answer.write(arguments.json, json);
  if (arguments.json == "-") return output::print(json);
  answer.print(cost_text(runs, aim));
}

}  // namespace

void add_cost(CommandLine& line, spdlog::logger& log) {
  auto command = line.command("cost", "money, energy and power of training runs, side by side");
  auto arguments = std::make_shared<CostArguments>();
  add_varied_scenarios(command, arguments->given, "");
  command.option("--prices", arguments->prices, "file with prices and powers (YAML)").required();
  command.option("--tokens", arguments->tokens, "tokens to train on").between(1.0, 1e18).required();
  add_engine_option(command, arguments->engine);
  add_json_option(command, arguments->json);
  command.option("--out", arguments->out, "folder for cost.json and power.svg, the power over a step");
  command.footer(
      "Examples:\n  lockstep cost scenarios/published/llama3-405b-54-days.yaml --prices "
      "topologies/catalog/prices/example.yaml "
      "--tokens 15.6e12\n"
      "  lockstep cost scenarios/llama3-70b-h100.yaml --prices topologies/catalog/prices/example.yaml --tokens 15e12 "
      "--fabrics "
      "infiniband-ndr-rail,roce-400g");
  command.callback([arguments, &log] { run_cost(*arguments, log); });
}

}  // namespace lockstep::commands
