#include "tools/commands/fastest_plan.hpp"

#include <thread>

#include "sim/studies/planning/plan_search.hpp"
#include "tools/commands/commands.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/studies/plan_report.hpp"

namespace lockstep::commands {

std::string split_by_fastest_plan(GivenScenario& given, spdlog::logger& log) {
  if (!given.lacks_a_plan()) return "";
  const auto scenario = given.load();
  const planning::PlanSpace space(scenario);
  planning::SearchOptions options;
  options.top = 1;
  options.jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  options.progress = progress_line();
  const auto result = search_plans(space, options, log);
  if (result.best.empty()) {
    throw ConfigError({{{given.name(), 0, 0},
                        "",
                        "no plan of " + output::with_separators(static_cast<double>(result.proof.space)) +
                            " fits the memory of " + std::to_string(scenario.chips()) + " chips",
                        "more chips, fewer tokens in a step or --set training.offload=..."}});
  }
  const auto& best = result.best.front().choice;
  given.split_by(space.keys(space.node_of(best), best));
  return "plan: " + output::plan_name(space, best) + "; the fastest of " +
         output::with_separators(static_cast<double>(result.proof.space)) + ", lockstep plan shows others\n";
}

}  // namespace lockstep::commands
