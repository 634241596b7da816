#pragma once
/// The options of `lockstep plan`, which its two questions share: the best plans of a scenario, and of more or fewer
/// chips.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>

#include "sim/studies/planning/plan_search.hpp"
#include "tools/commands/given_scenario.hpp"

namespace lockstep::commands {

struct PlanArguments : ScenarioArguments {
  std::string json, write, out, chips, engine = "automatic";
  std::size_t top = 5;
  int jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  double tokens = 0, days = 0, price = 0;
  std::optional<double> limit;
  std::int32_t draws = 0;
  std::string objective = "p95";
  bool for_run = false;
  std::size_t most = 32;
  [[nodiscard]] bool has_objective() const { return draws > 0 || for_run; }
};

/// With a progress line, ended by the first interrupt.
[[nodiscard]] planning::SearchOptions options_of(const PlanArguments& arguments);

/// The best plans by --draws or --for-run, and what is said of them.
struct PlansByObjective {
  planning::SearchResult result;  ///< `best`: as many as are shown, the best first
  std::string text;               ///< empty: no plan fits
  nlohmann::ordered_json json;
  double step_s = 0;  ///< of the best on average: the mean of its draws, its useful step
};
[[nodiscard]] PlansByObjective search_by_objective(const PlanArguments& arguments, const planning::PlanSpace& space,
                                                   const planning::SearchOptions& options, spdlog::logger& log);

/// The days that training on --tokens takes, and the cost of the chips; 0 if no price is known.
struct Training {
  double days = 0, cost = 0;
};
[[nodiscard]] Training training_of(const PlanArguments& arguments, const scenario::Scenario& scenario,
                                   std::int64_t chips, double step_s);

/// The same machine with another number of chips; none if there is no such slice or number of nodes.
[[nodiscard]] std::optional<topologies::ClusterSpec> with_chips(topologies::ClusterSpec spec, std::int64_t chips);

/// The best plan for every doubling of the chips; with a deadline, up to the first that meets it.
void plan_for_chips(const PlanArguments& arguments, const scenario::Scenario& scenario, spdlog::logger& log);

}  // namespace lockstep::commands
