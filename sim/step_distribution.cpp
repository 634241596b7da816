#include "sim/step_distribution.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/core/errors.hpp"
#include "sim/slowest_replica.hpp"
#include "sim/timing/timed_step.hpp"

namespace lockstep {
namespace {

/// Operations of all ranks and draws together: so many are simulated whole.
constexpr double most_operations = 2e7;
/// Of each cause alone, where steps are simulated by replica.
constexpr std::size_t draws_of_a_cause = 25;

using Causes = std::vector<StepCause>;

/// A scenario under one draw of some causes.
struct Drawn {
  scenario::Scenario scenario;
  bool only_rates = true;  ///< differs from the healthy one in speeds of chips and links only
  bool any_rates = false;
};

class Drawing {
 public:
  Drawing(const scenario::Scenario& scenario, const preparation::Preparation& prepared,
          const DistributionOptions& options, spdlog::logger& log)
      : scenario_(scenario), prepared_(prepared), options_(options), log_(log) {
    timing_.engine.kind =
        options.engine == engine::EngineKind::reference ? options.engine : engine::EngineKind::max_min;
    timing_.fold = options.fold;
    links_vary_ = std::any_of(scenario.variations.begin(), scenario.variations.end(), [](const auto& variation) {
      return std::holds_alternative<program::FlakyLinks>(variation);
    });
  }

  StepDistribution run(Seconds healthy) {
    const auto causes = causes_of(scenario_);
    if (causes.empty())
      throw ConfigError({{{"--draws", 0, 0},
                          "",
                          "nothing varies from step to step in " + scenario_.name,
                          "a scenario with variations, batch.lengths, routing.variation or hashed paths"}});
    const auto draws = static_cast<std::size_t>(options_.draws);
    const auto sets = causes.size() == 1 || !options_.each_alone ? 1 : 1 + causes.size();
    if (const auto step = step_by_replica(draws * sets)) prepare_healthy(*step);
    const auto of_a_cause = by_replica_ ? std::min(draws, draws_of_a_cause) : draws;
    all_draws_ = draws + (sets - 1) * of_a_cause;
    const auto part = options_.part.value_or(DistributionOptions::Part{0, options_.draws});
    StepDistribution result{healthy, steps(causes, position_of(part.last), position_of(part.first)), {}, {}};
    if (!options_.each_alone) {
      // All causes together are what was asked for.
    } else if (sets == 1) {
      result.alone.push_back({causes.front().name, result.steps});
    } else {
      for (const auto& cause : causes) result.alone.push_back({cause.name, steps({cause}, of_a_cause)});
    }
    if (by_replica_ && healthy_) add(healthy_->draws());
    if (by_replica_) result.by_replica = told_;
    return result;
  }

 private:
  /// The healthy step if its draws are simulated by replica. Whole steps of ranks that are not alike are simulated rank
  /// by rank.
  [[nodiscard]] std::optional<workloads::StepGraph> step_by_replica(std::size_t draws) const {
    const bool any_rates = !scenario_.variations.empty();
    if (options_.how == DrawnSteps::whole || !options_.fold || !any_rates) return {};
    auto step = built(scenario_, prepared_);
    const double of_a_rank =
        static_cast<double>(step.size()) / static_cast<double>(prepared_.pipeline.order.shape.ranks);
    const bool is_large =
        of_a_rank * static_cast<double>(prepared_.machine.mesh->ranks()) * static_cast<double>(draws) > most_operations;
    if (options_.how == DrawnSteps::automatic && !is_large) return {};
    return step;
  }

  StepDraws steps(const Causes& causes, std::size_t draws, std::size_t first = 0) {
    std::vector<Seconds> times;
    for (std::size_t draw = first; draw < draws; ++draw) {
      if (options_.progress)
        options_.progress("drawing steps", static_cast<double>(done_) / static_cast<double>(all_draws_));
      times.push_back(step(under(causes, draw)));
      ++done_;
    }
    return StepDraws(std::move(times));
  }

  [[nodiscard]] Drawn under(const Causes& causes, std::uint64_t draw) const {
    Drawn drawn{scenario_, true, false};
    for (const auto& cause : causes) {
      drawn.scenario = cause.under(std::move(drawn.scenario), draw);
      drawn.only_rates = drawn.only_rates && cause.only_rates;
      drawn.any_rates = drawn.any_rates || cause.only_rates;
    }
    return drawn;
  }

  Seconds step(const Drawn& drawn) {
    const bool replicas = by_replica_ && drawn.any_rates;
    if (drawn.only_rates) return replicas ? of_healthy(drawn.scenario) : whole(drawn.scenario, prepared_);
    const auto prepared = preparation::prepare(drawn.scenario);
    if (!replicas) return whole(drawn.scenario, prepared);
    auto without = drawn.scenario;
    without.perturbations.resize(scenario_.perturbations.size());
    const auto graph = built(without, prepared);
    auto program = lower_with_perturbations(without, prepared, graph);
    const auto speeds = speeds_of(drawn.scenario, program, prepared.machine);
    SlowestReplica replica(graph, std::move(program), links_vary_, timing_.engine.kind);
    if (!replica.applies()) return whole(drawn.scenario, prepared);
    const auto time = replica.step(speeds);
    add(replica.draws());
    return time;
  }

  Seconds whole(const scenario::Scenario& drawn, const preparation::Preparation& prepared) {
    const auto building = step_options(drawn, prepared.model);
    return timed_step(drawn, prepared, prepared.model.layers, building, timing_, log_).run.timeline.makespan();
  }

  /// For draws in which only speeds differ from the healthy step.
  void prepare_healthy(const workloads::StepGraph& step) {
    auto program = lower_with_perturbations(scenario_, prepared_, step);
    speeds_.stage_of_rank = program.stage_of_rank;
    speeds_.slowdown_of_rank = program.slowdown_of_rank;
    speeds_.links = program.links;
    healthy_.emplace(step, std::move(program), links_vary_, timing_.engine.kind);
    by_replica_ = healthy_->applies();
  }

  Seconds of_healthy(const scenario::Scenario& drawn) {
    return healthy_->step(speeds_of(drawn, speeds_, prepared_.machine));
  }

  [[nodiscard]] static workloads::StepGraph built(const scenario::Scenario& scenario,
                                                  const preparation::Preparation& prepared) {
    check_step_size(scenario, prepared, prepared.pipeline.order.shape.microbatches);
    auto building = step_options(scenario, prepared.model);
    building.memory = false;
    return build_step(prepared.model.layers, prepared.pipeline.kinds, prepared.pipeline, building);
  }

  /// `program`: its stages, speeds and links are read.
  [[nodiscard]] Speeds speeds_of(const scenario::Scenario& drawn, const program::Program& program,
                                 const preparation::Machine& machine) const {
    program::Program speeds;
    speeds.stage_of_rank = program.stage_of_rank;
    speeds.slowdown_of_rank = program.slowdown_of_rank;
    speeds.links = program.links;
    const std::vector variations(drawn.perturbations.begin() + std::ssize(scenario_.perturbations),
                                 drawn.perturbations.end());
    if (!perturb(speeds, variations, *machine.cluster, *machine.mesh).empty())
      throw InternalError("a variation takes a link down");
    return {std::move(speeds.slowdown_of_rank), std::move(speeds.links)};
  }

  void add(const ReplicaDraws& draws) {
    told_.replicas = draws.replicas;
    told_.ranks_of_replica = draws.ranks_of_replica;
    told_.simulated += draws.simulated;
    told_.estimate_error = std::max(told_.estimate_error, draws.estimate_error);
    told_.left_out = std::max(told_.left_out, draws.left_out);
  }

  const scenario::Scenario& scenario_;
  const preparation::Preparation& prepared_;
  const DistributionOptions& options_;
  spdlog::logger& log_;
  timing::TimingOptions timing_;
  bool links_vary_ = false, by_replica_ = false;
  std::size_t all_draws_ = 0, done_ = 0;
  program::Program speeds_;  // of the healthy step: stages, speeds and links alone
  std::optional<SlowestReplica> healthy_;
  ReplicaDraws told_;
};

}  // namespace

Seconds StepDistribution::added(const StepOfCause& cause) const { return cause.steps.mean() - healthy; }

StepDistribution step_distribution(const scenario::Scenario& scenario, const preparation::Preparation& prepared,
                                   Seconds healthy, const DistributionOptions& options, spdlog::logger& log) {
  return Drawing(scenario, prepared, options, log).run(healthy);
}

}  // namespace lockstep
