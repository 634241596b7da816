// The search for the best plan over the ranks: rank 0 keeps the sets of plans that are open and the best plans so far;
// the other ranks look into sets and time plans.
#include <spdlog/spdlog.h>

#include <cstring>
#include <optional>

#include "sim/core/errors.hpp"
#include "sim/studies/planning/remote_workers.hpp"
#include "tools/commands/command_line.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/engine_option.hpp"
#include "tools/mpi/helper.hpp"
#include "tools/mpi/job.hpp"
#include "tools/mpi/programs.hpp"
#include "tools/output/elements/answer.hpp"
#include "tools/output/files/file.hpp"
#include "tools/output/studies/plan_report.hpp"

namespace lockstep::mpi {
namespace {

struct Arguments {
  std::string scenario, json, engine = "automatic";
  std::vector<std::string> overrides;
  std::size_t top = 5;
  std::optional<double> limit;
};

const std::string files_own_plan = "own";  ///< a request to rank 0's own helper; shorter than those of a search

/// The other ranks, numbered from 1.
class RankMessages : public planning::Messages {
 public:
  explicit RankMessages(int followers) : followers_(followers) {}
  [[nodiscard]] int workers() const override { return followers_; }
  void send(int worker, const std::string& request) override { mpi::send(worker + 1, request); }
  [[nodiscard]] std::pair<int, std::string> receive() override {
    auto [rank, text] = received();
    return {rank - 1, std::move(text)};
  }

 private:
  int followers_;
};

void work(Helper& helper) {
  for (auto request = received_from_leader(); !request.empty(); request = received_from_leader())
    send(0, helper.ask(request));
}

std::string text_of(const std::optional<planning::PlanFigures>& figures) {
  return figures ? std::string(reinterpret_cast<const char*>(&*figures), sizeof *figures) : "";
}

std::optional<planning::PlanFigures> figures_in(const std::string& text) {
  if (text.empty()) return std::nullopt;
  planning::PlanFigures figures;
  std::memcpy(&figures, text.data(), std::min(text.size(), sizeof figures));
  return figures;
}

void search(const planning::PlanSpace& space, const Arguments& arguments, int followers, Helper& helper) {
  const bool as_text = arguments.json != "-";
  RankMessages messages(followers);
  planning::RemoteWorkers workers(space, messages);
  planning::SearchOptions options;
  options.top = arguments.top;
  if (arguments.limit) options.limit_s = *arguments.limit;
  options.progress = commands::progress_line();
  const auto result = search_plans(space, options, workers);
  for (int rank = 1; rank <= followers; ++rank) send(rank, "");
  if (!as_text) return output::print(plan_json(space, result, output::WallTimes::shown));
  output::Answer answer;
  answer.write(arguments.json, plan_json(space, result, output::WallTimes::hidden));
  answer.print(output::plan_text(space, result) +
               output::beside_the_files_own(space, result, figures_in(helper.ask(files_own_plan))));
}

int plan_over_ranks(const Arguments& arguments, int& argc, char**& argv, spdlog::logger& log) {
  std::optional<scenario::Scenario> scenario;
  std::optional<planning::PlanSpace> space;
  std::optional<Helper> helper;
  std::exception_ptr refused;  // told by one rank only
  try {
    if (arguments.json != "-") output::check_file_place(arguments.json);
    scenario = scenario::load_scenario(arguments.scenario, commands::parse_overrides(arguments.overrides));
    space.emplace(*scenario);
  } catch (const ConfigError&) {
    refused = std::current_exception();
  }
  if (space) {
    const auto engine = engine::engine_named(arguments.engine);
    std::optional<planning::RemoteWorker> worker;  // made in the helper
    helper.emplace([&](std::string_view request) {
      if (request == files_own_plan) return text_of(planning::figures_of_file(*scenario, engine, log));
      if (!worker) worker.emplace(*space, engine, log);
      return worker->answer(request);
    });
  }
  return run_job(
      argc, argv, refused, [&](int followers) { search(*space, arguments, followers, *helper); },
      [&] { work(*helper); });
}

}  // namespace

int plan_program(int argc, char** argv, spdlog::logger& log) {
  Arguments arguments;
  commands::CommandLine line("The search for the best plan over the ranks of an MPI job.", "lockstep-mpi");
  bool given = false;
  auto command = line.command("plan", "find the fastest way to split a scenario over its chips, and prove it");
  command.option("scenario", arguments.scenario, "scenario file (YAML); its `search` says what may be chosen")
      .required();
  command.option("--top", arguments.top, "how many plans to show, all of them proven").between(1, 1000).shows_default();
  command.option("--json", arguments.json, "write the result as JSON to a file, or to stdout with -");
  command.option("--set", arguments.overrides, "replace a key of the scenario: a.b=c (may be repeated)").repeatable();
  command
      .option("--limit", arguments.limit,
              "seconds after which the search stops, with the best plans so far and what others may gain")
      .between(0.001, 1e7);
  commands::add_engine_option(command, arguments.engine);
  command.footer("Example:\n  mpirun -n 64 lockstep-mpi plan scenario.yaml");
  command.callback([&given] { given = true; });
  if (const auto code = line.run(argc, argv)) return *code;
  return given ? plan_over_ranks(arguments, argc, argv, log) : 2;
}

}  // namespace lockstep::mpi
