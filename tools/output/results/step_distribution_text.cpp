#include "tools/output/results/step_distribution_text.hpp"

#include <nlohmann/json.hpp>

#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/table.hpp"

namespace lockstep::output {
namespace {

using Json = nlohmann::ordered_json;

/// Rows of steps whose slowest is told: no more than a fifth of the draws, or few draws would decide.
std::vector<std::size_t> rows_of_steps(const StepDraws& draws) {
  std::vector<std::size_t> rows;
  for (std::size_t steps = 10; 5 * steps <= draws.count(); steps *= 10) rows.push_back(steps);
  return rows;
}

std::string replicas_text(const ReplicaDraws& draws) {
  return "each draw is its slowest replica of " + with_separators(static_cast<double>(draws.replicas)) + " (" +
         with_separators(static_cast<double>(draws.ranks_of_replica)) +
         " ranks each), in which ranks that do the same act by the slowest; " +
         with_separators(static_cast<double>(draws.simulated)) +
         " replicas were simulated, the others estimated: estimates were off by at most " +
         fixed(100 * draws.estimate_error, 2) + " %, and no replica that was left out can be more than " +
         fixed(100 * draws.left_out, 2) + " % slower than the step told, if its estimate is off by no more\n";
}

Json times(const StepDraws& draws) {
  return {{"p5_step_time_s", draws.quantile(0.05).value()},
          {"median_step_time_s", draws.median().value()},
          {"mean_step_time_s", draws.mean().value()},
          {"p95_step_time_s", draws.quantile(0.95).value()},
          {"worst_step_time_s", draws.worst().value()}};
}

}  // namespace

std::string distribution_text(const StepDistribution& distribution) {
  const auto& all = distribution.steps;
  Table table({std::to_string(all.count()) + " steps drawn", "median", "mean", "5th percentile", "95th", "adds"});
  const auto row = [&](const std::string& what, const StepDraws& draws) {
    table.add({what, format(draws.median()), format(draws.mean()), format(draws.quantile(0.05)),
               format(draws.quantile(0.95)),
               signed_percent((draws.mean() - distribution.healthy) / distribution.healthy)});
  };
  table.add({"healthy", format(distribution.healthy)});
  const bool several = distribution.alone.size() > 1;
  for (const auto& cause : distribution.alone) {
    const bool fewer = cause.steps.count() < all.count();
    row(cause.name + (several ? " alone" : "") + (fewer ? ", " + std::to_string(cause.steps.count()) + " draws" : ""),
        cause.steps);
  }
  if (several) row("all together", all);
  std::string text = table.to_string();
  std::string slowest;
  for (const auto steps : rows_of_steps(all))
    slowest += (slowest.empty() ? "the slowest of " : ", of ") + std::to_string(steps) +
               (slowest.empty() ? " steps in a row takes " : " ") + format(all.slowest_of(steps));
  if (!slowest.empty()) text += slowest + " on average\n";
  if (distribution.by_replica) text += replicas_text(*distribution.by_replica);
  return text;
}

Json distribution_json(const StepDistribution& distribution) {
  const auto& all = distribution.steps;
  Json json = {{"draws", all.count()}, {"healthy_step_time_s", distribution.healthy.value()}};
  json.update(times(all));
  json["causes"] = Json::array();
  for (const auto& cause : distribution.alone) {
    Json one = {{"cause", cause.name}, {"draws", cause.steps.count()}};
    one.update(times(cause.steps));
    one["added_s"] = distribution.added(cause).value();
    json["causes"].push_back(std::move(one));
  }
  json["slowest_of"] = Json::array();
  for (const auto steps : rows_of_steps(all))
    json["slowest_of"].push_back({{"steps", steps}, {"mean_step_time_s", all.slowest_of(steps).value()}});
  json["step_times_s"] = Json::array();
  for (const auto step : all.in_order()) json["step_times_s"].push_back(step.value());
  json["by_replica"] = {};
  if (const auto& draws = distribution.by_replica)
    json["by_replica"] = {{"replicas", draws->replicas},
                          {"ranks_of_replica", draws->ranks_of_replica},
                          {"simulated", draws->simulated},
                          {"estimate_error", draws->estimate_error},
                          {"left_out", draws->left_out}};
  return json;
}

}  // namespace lockstep::output
