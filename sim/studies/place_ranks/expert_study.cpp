#include "sim/studies/place_ranks/expert_study.hpp"

#include <numeric>

#include "sim/core/quantity_text.hpp"
#include "sim/studies/isolated.hpp"

namespace lockstep::place_ranks {
namespace {

Seconds step_of(const scenario::Scenario& scenario, engine::EngineKind engine, spdlog::logger& log) {
  return Seconds(std::stod(studies::in_child([&] {
    SimulateOptions options;
    options.engine = engine;
    options.detail = Detail::totals;
    return exact(simulate(scenario, options, log).metrics.step_time.value());
  })));
}

/// Groups whose experts a token may only have together; 1: it may have any.
std::int64_t groups_of(const scenario::Scenario& scenario, std::int64_t ranks) {
  const auto& experts = *scenario.model.experts;
  if (experts.groups_per_token == experts.groups) return 1;
  const bool divide = experts.groups >= ranks ? experts.groups % ranks == 0 : ranks % experts.groups == 0;
  if (!divide)
    throw ConfigError(
        {{scenario.where("parallel"), "parallel",
          std::to_string(ranks) + " ranks do not divide " + std::to_string(experts.groups) + " groups of experts",
          "as many ranks for each group, or as many groups for each rank"}});
  return experts.groups;
}

}  // namespace

ExpertStudy study_experts(const scenario::Scenario& scenario, engine::EngineKind engine, spdlog::logger& log) {
  if (scenario.routing.loads.empty())
    throw ConfigError({{scenario.where("routing.loads"), "routing.loads", "there are no counted tokens of experts",
                        "a CSV file with the columns expert and tokens"}});
  ExpertStudy study;
  study.ranks = preparation::prepare(scenario).model.expert_ranks;
  const auto groups = groups_of(scenario, study.ranks);
  for (const auto& tokens : scenario.routing.loads) {
    study.layers.push_back(place_experts(tokens, study.ranks, groups));
    auto& moved = study.loads.emplace_back();
    for (const int expert : study.layers.back().order) moved.push_back(tokens[static_cast<std::size_t>(expert)]);
  }
  engine::load(engine);
  study.given = step_of(scenario, engine, log);
  auto other = scenario;
  other.routing.loads = study.loads;
  study.placed = step_of(other, engine, log);
  for (auto& tokens : other.routing.loads)
    tokens.assign(tokens.size(),
                  std::accumulate(tokens.begin(), tokens.end(), 0.0) / static_cast<double>(tokens.size()));
  study.even = step_of(other, engine, log);
  return study;
}

}  // namespace lockstep::place_ranks
