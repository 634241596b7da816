#include <filesystem>
#include <memory>

#include "sim/studies/place_ranks/expert_study.hpp"
#include "tools/commands/command_line.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/common_options.hpp"
#include "tools/commands/engine_option.hpp"
#include "tools/commands/fastest_plan.hpp"
#include "tools/commands/given_scenario.hpp"
#include "tools/commands/refuse.hpp"
#include "tools/output/elements/answer.hpp"
#include "tools/output/files/file.hpp"
#include "tools/output/files/new_file.hpp"
#include "tools/output/studies/placement_report.hpp"
#include "tools/report/experts_page.hpp"

namespace lockstep::commands {
namespace {

struct ExpertArguments : ScenarioArguments {
  std::string write, json, out, engine = "automatic";
};

/// `typed`: the whole command line.
void run_experts(const ExpertArguments& arguments, const std::string& typed, spdlog::logger& log) {
  if (arguments.json != "-") output::check_file_place(arguments.json);
  output::check_file_place(arguments.write);
  output::check_folder_place(arguments.out);
  GivenScenario given(arguments);
  const auto plan_line = split_by_fastest_plan(given, log);
  const auto scenario = given.load();
  Problems unread;
  if (const auto loads = given.document(unread)["routing"]["loads"]; loads.is_scalar()) {
    const auto folder = given.is_file() ? std::filesystem::path(given.name()).parent_path() : std::filesystem::path();
    refuse_to_overwrite(folder / loads.text(), arguments.write);
  }
  if (given.is_file()) refuse_to_overwrite(given.name(), arguments.write);
  const auto study = place_ranks::study_experts(scenario, engine::engine_named(arguments.engine), log);
  const auto json = output::experts_json(scenario, study);
  output::Answer answer;
  answer.write(arguments.write, output::experts_csv(study));
  std::string left_out;
  if (!arguments.out.empty()) {
    const std::filesystem::path folder = arguments.out;
    output::NewFiles files(folder);
    files.write(folder / "experts.json", json);
    left_out = report::write_report(files, folder, report::experts_page(scenario, study, {typed, given.text()}));
    answer.finish(files, folder);
  }
  answer.write(arguments.json, json);
  if (arguments.json == "-") return output::print(json);
  answer.print(plan_line + output::experts_text(scenario, study) + left_out);
}

}  // namespace

void add_design_experts(Command& design, spdlog::logger& log) {
  auto command =
      design.command("experts", "place experts on ranks by their counted tokens, so that the fullest rank has least");
  auto arguments = std::make_shared<ExpertArguments>();
  auto& a = *arguments;
  add_scenario(command, a, "; its `routing.loads` counts the tokens");
  add_engine_option(command, a.engine);
  command.option("--write", a.write,
                 "write the tokens in the new order of experts as a CSV that `routing.loads` takes");
  command.option("--out", a.out, "folder for report.html and experts.json");
  add_json_option(command, a.json);
  command.footer("Example:\n  lockstep design experts job.yaml --set routing.loads=counted.csv --write placed.csv");
  command.callback([arguments, typed = command.typed(), &log] { run_experts(*arguments, *typed, log); });
}

}  // namespace lockstep::commands
