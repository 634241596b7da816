#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <thread>

#include "sim/studies/design_networks/network_design.hpp"
#include "tools/commands/command_line.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/common_options.hpp"
#include "tools/commands/engine_option.hpp"
#include "tools/commands/file_content.hpp"
#include "tools/commands/interrupt.hpp"
#include "tools/commands/problems_once.hpp"
#include "tools/commands/refuse.hpp"
#include "tools/output/elements/answer.hpp"
#include "tools/output/files/exit_code.hpp"
#include "tools/output/files/file.hpp"
#include "tools/output/files/new_file.hpp"
#include "tools/output/studies/network_design_report.hpp"
#include "tools/report/network_design_page.hpp"

namespace lockstep::commands {
namespace {

struct NetworkArguments {
  std::vector<std::string> scenarios, overrides;
  std::string space, prices, weights, json, out;
  std::string engine = "automatic";
  double tokens = 0, within = 0;
  std::optional<double> limit;
  int jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
};

constexpr std::size_t most_scenarios = 16;

/// "2,1": a positive number for each scenario; without the option all weigh the same.
std::vector<design_networks::Workload> workloads_of(const NetworkArguments& arguments) {
  std::vector<design_networks::Workload> workloads;
  for (const auto& file : arguments.scenarios) workloads.push_back({file, 1});
  if (workloads.size() > most_scenarios)
    refuse("scenarios", "there are " + std::to_string(workloads.size()) + " of them",
           "at most " + std::to_string(most_scenarios));
  if (arguments.weights.empty()) return workloads;
  std::vector<std::string> words(1);
  for (const char c : arguments.weights) {
    if (c == ',')
      words.emplace_back();
    else
      words.back() += c;
  }
  if (words.size() != workloads.size())
    refuse("--weights",
           "has " + std::to_string(words.size()) + " numbers for " + std::to_string(workloads.size()) +
               (workloads.size() == 1 ? " scenario" : " scenarios"),
           "one for each scenario, such as 2,1");
  for (std::size_t i = 0; i < words.size(); ++i) {
    char* rest = nullptr;
    const double weight = std::strtod(words[i].c_str(), &rest);
    if (words[i].empty() || *rest != '\0' || !(weight > 0) || weight > 1e9)
      refuse("--weights", "'" + words[i] + "' is not a weight", "a positive number, such as 2");
    workloads[i].weight = weight;
  }
  return workloads;
}

/// The scenarios, the prices and the space, one after the other.
std::string inputs_of(const NetworkArguments& arguments, const design_networks::NetworkSpace& space) {
  std::string text;
  auto files = arguments.scenarios;
  files.push_back(arguments.prices);
  for (const auto& file : files) text += "# " + file + "\n" + content_of(file) + "\n";
  return text + "# the space\n" + space.text();
}

/// `typed`: the whole command line.
void run_design(const NetworkArguments& arguments, const std::string& typed, spdlog::logger& log) {
  output::check_folder_place(arguments.out);
  if (arguments.json != "-") output::check_file_place(arguments.json);
  const auto overrides = parse_overrides(arguments.overrides);
  const auto workloads = workloads_of(arguments);
  economics::PriceList prices;
  std::optional<design_networks::NetworkSpace> space;
  ProblemsOnce problems;
  const bool priced = problems.take([&] { prices = economics::read_price_list(arguments.prices); });
  problems.take([&] {
    const auto axes = arguments.space.empty() ? std::nullopt : std::optional<std::filesystem::path>(arguments.space);
    space.emplace(workloads, overrides, axes);
    if (priced) check_prices(load_scenario(workloads.front().file, overrides).cluster, prices);
  });
  problems.throw_if_any();

  const FirstInterrupt interrupt;
  design_networks::DesignOptions options;
  options.within = arguments.within / 100;
  options.jobs = arguments.jobs;
  options.engine = engine::engine_named(arguments.engine);
  if (arguments.limit) options.limit_s = *arguments.limit;
  options.progress = progress_line();
  options.interrupted = FirstInterrupt::came;
  const design_networks::DesignAim aim{arguments.tokens, &prices};
  const auto design = design_network(*space, aim, options, log);
  if (options.progress) options.progress("done", 1);

  const output::DesignedSpace of{*space, aim, options.within};
  const auto json = network_design_json(of, design);
  output::Answer answer;
  std::string left_out;
  if (!arguments.out.empty()) {
    const std::filesystem::path folder = arguments.out;
    output::NewFiles files(folder);
    files.write(folder / "network.json", json);
    files.write(folder / "network.svg", network_design_picture(of, design));
    files.write(folder / "space.yaml", space->text());
    left_out = report::write_report(files, folder,
                                    report::network_design_page(of, design, {typed, inputs_of(arguments, *space)}));
    answer.finish(files, folder);
  }
  answer.write(arguments.json, json);
  if (arguments.json == "-") {
    output::print(json);
  } else {
    answer.print(network_design_text(of, design) + left_out);
  }
  if (design.front.empty()) throw output::AnsweredNo();
}

}  // namespace

void add_design_network(Command& design, spdlog::logger& log) {
  auto command = design.command("network", "find the networks that no other beats in time, price and power");
  auto arguments = std::make_shared<NetworkArguments>();
  auto& a = *arguments;
  command.option("scenarios", a.scenarios, "scenario files (YAML) on one machine").required();
  command.option("--set", a.overrides, "replace a key of every scenario: a.b=c (may be repeated)").repeatable();
  command.option("--prices", a.prices, "file with prices and powers (YAML)").required();
  command.option("--tokens", a.tokens, "tokens to train on, of all scenarios together").between(1.0, 1e18).required();
  command.option("--weights", a.weights, "the scenarios' shares of the tokens, such as 2,1 (default: equal)");
  command.option("--space", a.space,
                 "file with the keys that may vary and their values, as grid, zip or list of a sweep (default: the "
                 "usual networks of the machine, which --out writes as space.yaml)");
  command.option("--within", a.within, "percent by which times may differ and still be taken for equal")
      .between(0.0, 50.0)
      .shows_default();
  add_jobs_option(command, a.jobs);
  add_limit_option(command, a.limit, "what is known by then");
  add_engine_option(command, a.engine);
  add_json_option(command, a.json);
  command.option("--out", a.out, "folder for report.html, network.json, the picture network.svg and space.yaml");
  command.footer(
      "Ctrl-C ends the search as --limit does; a second one ends the program.\n"
      "Example:\n  lockstep design network scenarios/llama3-70b-h100.yaml --prices "
      "topologies/catalog/prices/example.yaml --tokens 15e12 --within 0.5");
  command.callback([arguments, typed = command.typed(), &log] { run_design(*arguments, *typed, log); });
}

}  // namespace lockstep::commands
