#include "sim/step_distribution.hpp"

#include <algorithm>
#include <utility>

#include "sim/core/errors.hpp"
#include "sim/timing/timed_step.hpp"

namespace lockstep {
namespace {

class Drawing {
 public:
  Drawing(const scenario::Scenario& scenario, const preparation::Preparation& prepared,
          const DistributionOptions& options, spdlog::logger& log)
      : scenario_(scenario), prepared_(prepared), options_(options), log_(log) {
    timing_.engine.kind =
        options.engine == engine::EngineKind::reference ? options.engine : engine::EngineKind::max_min;
    timing_.fold = options.fold;
  }

  StepDistribution run(Seconds healthy) {
    const auto causes = causes_of(scenario_);
    if (causes.empty())
      throw ConfigError({{{"--draws", 0, 0},
                          "",
                          "nothing varies from step to step in " + scenario_.name,
                          "a scenario with variations, batch.lengths, routing.variation or hashed paths"}});
    draws_left_ = draws_ = static_cast<std::size_t>(options_.draws) * (causes.size() == 1 ? 1 : 1 + causes.size());
    StepDistribution result{healthy, steps(causes), {}, {}};
    if (causes.size() == 1) {
      result.alone.push_back({causes.front().name, result.steps});
      return result;
    }
    for (const auto& cause : causes) result.alone.push_back({cause.name, steps({cause})});
    return result;
  }

 private:
  StepDraws steps(const std::vector<StepCause>& causes) {
    std::vector<Seconds> times;
    for (int draw = 0; draw < options_.draws; ++draw) {
      if (options_.progress)
        options_.progress("drawing steps", 1 - static_cast<double>(draws_left_) / static_cast<double>(draws_));
      times.push_back(step(causes, static_cast<std::uint64_t>(draw)));
      --draws_left_;
    }
    return StepDraws(std::move(times));
  }

  /// Every rank of it.
  Seconds step(const std::vector<StepCause>& causes, std::uint64_t draw) {
    auto drawn = scenario_;
    bool only_rates = true;
    for (const auto& cause : causes) {
      drawn = cause.under(std::move(drawn), draw);
      only_rates = only_rates && cause.only_rates;
    }
    if (only_rates) return whole(drawn, prepared_);
    return whole(drawn, preparation::prepare(drawn));
  }

  Seconds whole(const scenario::Scenario& drawn, const preparation::Preparation& prepared) {
    const auto building = step_options(drawn, prepared.model);
    return timed_step(drawn, prepared, prepared.model.layers, building, timing_, log_).run.timeline.makespan();
  }

  const scenario::Scenario& scenario_;
  const preparation::Preparation& prepared_;
  const DistributionOptions& options_;
  spdlog::logger& log_;
  timing::TimingOptions timing_;
  std::size_t draws_ = 0, draws_left_ = 0;
};

}  // namespace

Seconds StepDistribution::added(const StepOfCause& cause) const { return cause.steps.mean() - healthy; }

StepDistribution step_distribution(const scenario::Scenario& scenario, const preparation::Preparation& prepared,
                                   Seconds healthy, const DistributionOptions& options, spdlog::logger& log) {
  return Drawing(scenario, prepared, options, log).run(healthy);
}

}  // namespace lockstep
