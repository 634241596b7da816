#include <algorithm>
#include <filesystem>
#include <memory>
#include <thread>

#include "sim/studies/faults/fault_study.hpp"
#include "tools/commands/command_line.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/common_options.hpp"
#include "tools/output/elements/answer.hpp"
#include "tools/output/files/file.hpp"
#include "tools/output/studies/fault_text.hpp"
#include "tools/report/fault_report.hpp"
#include "tools/report/page.hpp"

namespace lockstep::commands {
namespace {

struct FaultArguments {
  std::string scenario, json, out;
  std::vector<std::string> overrides;
  std::int32_t most = 64;
};

void run_faults(const FaultArguments& arguments, spdlog::logger& log) {
  output::check_folder_place(arguments.out);
  if (arguments.json != "-") output::check_file_place(arguments.json);
  const auto scenario = load_scenario(arguments.scenario, parse_overrides(arguments.overrides));
  faults::FaultOptions options;
  options.most = arguments.most;
  options.jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  options.progress = progress_line();
  const auto study = study_faults(scenario, options, log);
  const auto json = output::fault_json(scenario, study);
  output::Answer answer;
  std::string left_out;
  if (!arguments.out.empty()) {
    output::NewFiles files(arguments.out);
    files.write(std::filesystem::path(arguments.out) / "faults.json", json);
    left_out = report::write_report(files, arguments.out, report::fault_report(scenario, study));
    answer.finish(files, arguments.out);
  }
  answer.write(arguments.json, json);
  if (arguments.json == "-") return output::print(json);
  answer.print(output::fault_text(scenario, study) + left_out);
}

}  // namespace

void add_faults(CommandLine& line, spdlog::logger& log) {
  auto command = line.command("faults", "step time without each switch and cable of the network, the worst first");
  auto arguments = std::make_shared<FaultArguments>();
  command.option("scenario", arguments->scenario, "scenario file (YAML)").required();
  command.option("--most", arguments->most, "losses to simulate; switches come first, then what is used most")
      .between(1, 100'000)
      .shows_default();
  command.option("--out", arguments->out, "folder for report.html and faults.json");
  add_json_option(command, arguments->json);
  command.option("--set", arguments->overrides, "replace a key of the scenario: a.b=c (may be repeated)").repeatable();
  command.footer("Example:\n  lockstep faults scenarios/llama3-70b-h100-oversubscribed.yaml");
  command.callback([arguments, &log] { run_faults(*arguments, log); });
}

}  // namespace lockstep::commands
