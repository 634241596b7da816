#include "sim/timing/timed_step.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "sim/timing/find_repetition.hpp"
#include "sim/timing/outer_steps.hpp"
#include "sim/timing/steady_periods.hpp"
#include "workloads/pipeline/verify_order.hpp"

namespace lockstep::timing {
namespace {

/// Dates of our own engines are sums of few rounded numbers. SimGrid advances its clock from event to event and ends
/// flows whose remainder is below its own precision.
constexpr double rounding = 1e-13, rounding_of_simgrid = 1e-10;

/// By what part of its time folding may change a step in which kernels and collectives slow each other down: as much as
/// our own engines and SimGrid differ.
constexpr double change_allowed = 5e-7;

class Timing {
 public:
  Timing(const scenario::Scenario& scenario, const preparation::Preparation& prepared,
         const workloads::ShardedLayers& layers, const workloads::StepOptions& options, const TimingOptions& timing,
         spdlog::logger& log)
      : scenario_(scenario), preparation_(prepared), layers_(layers), options_(options), timing_(timing), log_(log) {}

  TimedStep run() {
    // Uneven loads of experts and documents are drawn anew for every microbatch.
    const bool may_repeat = timing_.fold && options_.expert_load.variation == 0 && !options_.sequence_load.varies();
    const auto steady = may_repeat ? steady_periods(preparation_.pipeline.order) : std::nullopt;
    if (steady) {
      if (auto timed = with_few_periods(*steady)) return std::move(*timed);
    }
    auto whole = prepared(preparation_.pipeline);
    whole.run = engine::run(whole.folded.program, timing_.engine, log_);
    return whole;
  }

 private:
  [[nodiscard]] std::size_t microbatches_of(const SteadyPeriods& steady, std::size_t periods) const {
    const bool both_ends = preparation_.pipeline.order.shape.placement == workloads::StagePlacement::bidirectional;
    return periods * static_cast<std::size_t>(steady.microbatches) * (both_ends ? 2 : 1);
  }

  /// A period shows only after those that fill the pipeline, and later where kernels and collectives slow each other
  /// down. So more are kept until one does: a quarter of the microbatches more, then twice as many more each time, as
  /// long as all tries together have no more microbatches than the step. Where kernels slow down some steps never
  /// settle, and then all tries are in vain. So there a first try of more than half of the step's microbatches is not
  /// made, and after one whose deviation from its period did not halve over the last period the next has twice as many
  /// microbatches, as long as all tries together have no more than half of the step's.
  std::optional<TimedStep> with_few_periods(const SteadyPeriods& steady) {
    constexpr double comes_closer = 0.5;
    const auto whole = static_cast<std::size_t>(preparation_.pipeline.order.shape.microbatches);
    const auto tried = [&](std::size_t kept) { return whole - microbatches_of(steady, steady.periods() - kept); };
    const bool slow_down = kernels_slow_down(scenario_);
    std::size_t kept = steady.fewest_to_repeat() + (slow_down ? 1 : 0), more = 0, simulated = 0;
    bool settles = !slow_down;
    while (kept < steady.periods()) {
      simulated += tried(kept);
      if (simulated > (settles ? whole : whole / 2)) return {};
      if (auto timed = with_periods(steady, kept)) return timed;
      settles = !slow_down || shrinking_ < comes_closer;
      const auto periods_of = [&](std::size_t microbatches) {
        return 1 + (microbatches - 1) / microbatches_of(steady, 1);
      };
      more = !settles ? periods_of(tried(kept)) : more == 0 ? periods_of((tried(kept) + 3) / 4) : 2 * more;
      kept += more;
    }
    return {};
  }

  /// The step with only so many periods simulated, or a few more; nothing if none of them repeats.
  std::optional<TimedStep> with_periods(const SteadyPeriods& steady, std::size_t kept) {
    for (std::size_t more = 0;; kept += more) {
      auto timed = with_just(steady, kept, more);  // one try is gone before the next takes memory
      if (timed || more == 0) return timed;
    }
  }

  /// `more`: how many periods more it takes to leave out a whole number of those that repeat, if some do; otherwise 0.
  std::optional<TimedStep> with_just(const SteadyPeriods& steady, std::size_t kept, std::size_t& more) {
    more = 0;
    shrinking_ = 1;
    auto periods = steady;
    auto pipeline = preparation_.pipeline;
    const auto missing = periods.periods() - kept;
    pipeline.order = without_periods(preparation_.pipeline.order, missing, periods);
    if (!verify_order(pipeline.order).empty()) return {};  // some work is put off from one microbatch to the next
    auto timed = prepared(pipeline);
    const double change = kernels_slow_down(scenario_) ? change_allowed : 0;
    const auto look = [&](double rounded) {
      auto [found, shrinking] = find_repetition(timed.step, pipeline.order, periods, timed.folded.program,
                                                timed.run.timeline, {rounded, missing, change});
      shrinking_ = shrinking;
      if (found) found->copies = static_cast<std::int64_t>(missing) * steady.microbatches / found->microbatches;
      return found;
    };
    // SimGrid runs once in a process, so our own solver of the same network looks for the period. What it has simulated
    // counts, unless the user asks for SimGrid.
    const bool simgrid = timing_.engine.kind == engine::EngineKind::simgrid;
    auto own = timing_.engine;
    if (own.kind != engine::EngineKind::reference) own.kind = engine::EngineKind::max_min;
    timed.run = engine::run(timed.folded.program, own, log_);
    auto found = look(rounding);
    if (!found) return {};
    more = missing % static_cast<std::size_t>(found->microbatches / steady.microbatches);
    if (more > 0) return {};
    if (simgrid) {
      timed.run = {};  // two timelines at once would be the most memory that a run takes
      timed.run = engine::run(timed.folded.program, timing_.engine, log_);
      auto again = look(rounding_of_simgrid);
      if (again && again->microbatches == found->microbatches) {
        found = std::move(again);
      } else {
        timed.run = engine::run(timed.folded.program, own, log_);
      }
    }
    timed.run.timeline.repeat(std::move(*found));
    preparation::refuse_endless_step(scenario_, timed.run.timeline.makespan());
    return timed;
  }

  TimedStep prepared(const workloads::StepPipeline& pipeline) {
    check_step_size(scenario_, preparation_, pipeline.order.shape.microbatches);
    TimedStep timed;
    timed.step = build_step(layers_, pipeline.kinds, pipeline, options_);
    auto program = lower_with_perturbations(scenario_, preparation_, timed.step);
    const auto started = std::chrono::steady_clock::now();
    timed.folded = !timing_.fold   ? unfolded(std::move(program))
                   : timing_.folds ? timing_.folds->fold(std::move(program))
                                   : fold(std::move(program));
    timed.fold_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    const auto operations = std::ssize(timed.folded.program.ops) * timed.folded.ranks.count();
    if (timing_.most_operations > 0 && operations > timing_.most_operations) {
      Bytes held(0);
      for (const auto& stage : timed.step.held) held = std::max(held, stage.weights + stage.optimizer);
      throw TooManyOperations(timed.folded.ranks.count(), held);
    }
    return timed;
  }

  const scenario::Scenario& scenario_;
  const preparation::Preparation& preparation_;
  const workloads::ShardedLayers& layers_;
  const workloads::StepOptions& options_;
  const TimingOptions& timing_;
  spdlog::logger& log_;
  double shrinking_ = 1;  ///< of the last try: RepetitionSearch
};

}  // namespace

bool kernels_slow_down(const scenario::Scenario& scenario) {
  return scenario.time_model == cost::TimeModel::calibrated;
}

TooManyOperations::TooManyOperations(std::int32_t of_ranks, Bytes of_rank)
    : std::runtime_error("too many operations to simulate"), classes(of_ranks), held(of_rank) {}

Seconds TimedStep::step_time() const {
  return local_updates ? local_updates->period() / static_cast<double>(local_updates->inner_steps)
                       : run.timeline.makespan();
}

TimedStep timed_step(const scenario::Scenario& scenario, const preparation::Preparation& prepared,
                     const workloads::ShardedLayers& layers, const workloads::StepOptions& options,
                     const TimingOptions& timing, spdlog::logger& log) {
  auto timed = Timing(scenario, prepared, layers, options, timing, log).run();
  if (options.local_updates)
    timed.local_updates = outer_steps(scenario, prepared, layers, options, timing, timed.run.timeline.makespan(), log);
  return timed;
}

}  // namespace lockstep::timing
