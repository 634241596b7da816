#include "sim/timing/outer_steps.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "sim/program/steps_beside.hpp"
#include "workloads/step/outer_step.hpp"

namespace lockstep::timing {
namespace {

/// Operations of all classes of ranks in one run: some ten seconds and some gigabytes.
constexpr double most_operations = 40e6;
/// Of the engines' dates, where inner steps were timed by another one than those beside a reduction.
constexpr double rounding = 1e-9;

class OuterSteps {
 public:
  OuterSteps(const scenario::Scenario& scenario, const preparation::Preparation& prepared,
             const workloads::ShardedLayers& layers, workloads::StepOptions options, const TimingOptions& timing,
             Seconds inner_step, spdlog::logger& log)
      : scenario_(scenario),
        prepared_(prepared),
        layers_(layers),
        options_(std::move(options)),
        updates_(*options_.local_updates),
        timing_(timing),
        inner_step_(inner_step),
        log_(log) {
    options_.memory = false;
  }

  metrics::LocalUpdates run() {
    const auto& mesh = *prepared_.machine.mesh;
    metrics::LocalUpdates found;
    found.sites = mesh.axis(updates_.axis).size();
    found.chips_of_site = mesh.ranks() / found.sites;
    found.inner_steps = updates_.inner_steps;
    found.inner_step = inner_step_;
    std::vector<workloads::OuterStep> different;
    for (std::int64_t fragment = 0; fragment < updates_.fragments; ++fragment) {
      auto outer = build_outer_step(layers_, prepared_.pipeline, options_, fragment);
      const auto known = std::find_if(different.begin(), different.end(),
                                      [&](const auto& other) { return do_the_same(other, outer); });
      if (known != different.end()) {
        ++found.reductions[position_of(known - different.begin())].fragments;
        continue;
      }
      found.reductions.emplace_back().first_fragment = fragment;
      different.push_back(std::move(outer));
    }
    for (std::size_t i = 0; i < different.size(); ++i) measure(different[i], found.reductions[i]);
    return found;
  }

 private:
  /// A run of some inner steps beside an outer step, or of the outer step alone.
  struct Window {
    Seconds steps_end{0};  ///< of the last inner step
    Seconds reduction_start{0}, reduction_end{0};
    Seconds end{0};
  };

  void measure(const workloads::OuterStep& outer, metrics::OuterReduction& found) {
    const auto program = lower_with_perturbations(scenario_, prepared_, outer.graph);
    describe(outer, program, found);
    if (found.full_size == Bytes(0)) return;
    const auto delay = updates_.delay;
    const auto alone_steps = inner_step_ > Seconds(0) ? std::ceil(std::min(found.alone / inner_step_, 1e9)) : 1;
    auto steps = std::min(delay, std::max<std::int64_t>(1, static_cast<std::int64_t>(alone_steps)));
    auto window = run(outer, program, steps);
    while (steps < delay && window.reduction_end > window.steps_end) {
      steps = std::min(delay, 2 * steps);
      window = run(outer, program, steps);
    }
    const auto inner = inner_step_ * static_cast<double>(steps);
    const auto above_rounding = [&](Seconds time) {
      return std::abs(time.value()) > rounding * (inner + window.end).value() ? time : Seconds(0);
    };
    found.reduction = window.reduction_end - window.reduction_start;
    const auto from = steps > 0 ? window.steps_end : window.reduction_start;
    found.exposed = above_rounding(std::max(Seconds(0), window.reduction_end - from));
    const auto after = window.end - std::max(window.steps_end, window.reduction_end);
    found.optimizer = window.reduction_start + after;
    found.slower = above_rounding(window.end - inner - found.exposed - found.optimizer);
    if (found.slower < Seconds(0)) {  // collectives of the first inner step ran beside the outer gradient
      found.optimizer += found.slower;
      found.slower = Seconds(0);
    }
  }

  void describe(const workloads::OuterStep& outer, const program::Program& program,
                metrics::OuterReduction& found) const {
    const auto ranks_of = [&](workloads::StageId stage) {
      return std::count(program.stage_of_rank.begin(), program.stage_of_rank.end(), stage);
    };
    const double sites = prepared_.machine.mesh->axis(updates_.axis).size();
    auto& collectives = *prepared_.machine.collectives;
    double sent = 0;
    for (const auto id : outer.reductions) {
      const auto& work = outer.graph.op(id);
      const auto lowered = collectives.lower(work->collective, work->axes, work->full_size);
      const bool by_switches = lowered.layout.second.starts_with("in-network");
      const double part = by_switches ? 1 : 2 * (sites - 1) / sites;
      sent += part * static_cast<double>(work->full_size.value()) * static_cast<double>(ranks_of(work.stage));
      found.full_size = std::max(found.full_size, work->full_size);
      found.alone = std::max(found.alone, lowered.closed_form);
    }
    found.sent_by_chip = sent / program.ranks();
  }

  Window run(const workloads::OuterStep& outer, const program::Program& program, std::int64_t steps) {
    program::StepsBeside beside;
    if (steps == 0) {
      beside.program = program;
      for (const auto id : program.ops.ids()) beside.outer.push_back(id);
    } else {
      refuse_if_too_long(static_cast<double>(inner().ops.size()) * static_cast<double>(steps), steps);
      beside = steps_beside(inner(), static_cast<std::int32_t>(steps), inner_step_, program, outer.first_after);
    }
    auto folded = timing_.fold ? program::fold(std::move(beside.program)) : unfolded(std::move(beside.program));
    const auto operations = std::ssize(folded.program.ops) * folded.ranks.count();
    if (steps > 0 && timing_.most_operations > 0 && operations > timing_.most_operations)
      throw TooManyOperations(folded.ranks.count(), held_);
    refuse_if_too_long(static_cast<double>(operations), steps);
    auto options = timing_.engine;
    if (options.kind != engine::EngineKind::reference) options.kind = engine::EngineKind::max_min;
    options.record_phases = false;
    const auto timeline = engine::run(folded.program, options, log_).timeline;
    Window window{Seconds(0), timeline.makespan(), Seconds(0), timeline.makespan()};
    for (const auto reduction : outer.reductions) {
      const auto op = beside.outer[reduction];
      for (const auto rank : timeline.ranks_of(op)) {
        const auto span = timeline.span(op, rank);
        window.reduction_start = std::min(window.reduction_start, span.start);
        window.reduction_end = std::max(window.reduction_end, span.end);
      }
    }
    if (steps > 0) window.steps_end = timeline.span(beside.last_end, 0).end;
    return window;
  }

  /// The program of an inner step with all its microbatches, made at first use.
  const program::Program& inner() {
    if (!inner_) {
      const auto& pipeline = prepared_.pipeline;
      check_step_size(scenario_, prepared_, pipeline.order.shape.microbatches);
      const auto step = build_step(layers_, pipeline.kinds, pipeline, options_);
      for (const auto& stage : step.held) held_ = std::max(held_, stage.weights + stage.optimizer);
      inner_ = lower_with_perturbations(scenario_, prepared_, step);
    }
    return *inner_;
  }

  void refuse_if_too_long(double operations, std::int64_t steps) const {
    if (operations <= most_operations) return;
    const std::string key = "training.local_updates.delay";
    throw ConfigError({{scenario_.where(key), key,
                        std::to_string(steps) + " inner steps beside a reduction are " +
                            std::to_string(std::llround(operations / 1e6)) + " million operations of ranks",
                        "at most " + std::to_string(std::llround(most_operations / 1e6)) +
                            " million: a shorter delay, fewer microbatches, or ranks that are alike"}});
  }

  const scenario::Scenario& scenario_;
  const preparation::Preparation& prepared_;
  const workloads::ShardedLayers& layers_;
  workloads::StepOptions options_;
  const workloads::LocalUpdates& updates_;
  const TimingOptions& timing_;
  Seconds inner_step_;
  spdlog::logger& log_;
  std::optional<program::Program> inner_;
  Bytes held_{0};  ///< weights and optimizer of a rank, the most of all stages; of the inner step
};

}  // namespace

metrics::LocalUpdates outer_steps(const scenario::Scenario& scenario, const preparation::Preparation& prepared,
                                  const workloads::ShardedLayers& layers, const workloads::StepOptions& options,
                                  const TimingOptions& timing, Seconds inner_step, spdlog::logger& log) {
  return OuterSteps(scenario, prepared, layers, options, timing, inner_step, log).run();
}

}  // namespace lockstep::timing
