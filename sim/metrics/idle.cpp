// Why ranks of a pipeline wait: own communication by axis, the ends of the step, and in between what the chain of
// operations that a rank waits for was doing on other ranks.
#include "sim/metrics/idle.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "sim/core/indexed.hpp"
#include "sim/metrics/blockers.hpp"
#include "sim/metrics/metrics.hpp"
#include "sim/metrics/sort_runs.hpp"

namespace lockstep::metrics {
namespace {

bool between_stages(const workloads::StepOp& op) {
  return op->kind == workloads::StepOp::Kind::collective && op->axes.size() == 1 && op->axes.front() == "pipeline";
}

class Waiting {
 public:
  Waiting(const workloads::StepGraph& step, const workloads::StepPipeline& pipeline, const program::Program& program,
          const timeline::Timeline& timeline)
      : step_(step),
        program_(program),
        timeline_(timeline),
        blockers_(program, timeline),
        even_wait_(wait_of_even_stages(pipeline)) {}

  IdleTime of(const RankPieces& pieces) {
    const auto rank = pieces.rank;
    IdleTime idle;
    const auto all_passes = passes(rank);
    const Seconds first = all_passes.first, last = all_passes.second;
    std::vector<timeline::Interval> gaps;
    for (const auto& [start, length, computing, communicating] : pieces.pieces) {
      if (computing) continue;
      if (communicating >= 0 && !between_stages(vertex(communicating))) {
        idle.collective += in_step(start, length);
        continue;
      }
      // A piece ends where something begins or ends, so it lies on one side of the first and the last pass.
      if (start < first.value()) {
        idle.fill += in_step(start, length);
      } else if (start >= last.value()) {
        idle.drain += in_step(start, length);
      } else if (communicating >= 0) {
        idle.transfer += in_step(start, length);
      } else {
        gaps.push_back({Seconds(start), Seconds(start + length)});
      }
    }
    explain(gaps, rank, idle);
    const Seconds even(std::max(0.0, even_wait_[program_.stage_of_rank[rank]]));  // its rounding may be below 0
    const auto waited = idle.dependency;
    idle.dependency = std::min(waited, even);
    idle.imbalance = waited - idle.dependency;
    return idle;
  }

 private:
  [[nodiscard]] Seconds in_step(double start, double length) const {
    return timeline_.repetition().in_step({Seconds(start), Seconds(start + length)});
  }
  /// The number of times that a gap occurs in the step. A gap belongs to the period in which it ends.
  [[nodiscard]] std::int64_t comes(const timeline::Interval& gap) const {
    const auto& repetition = timeline_.repetition();
    const bool within = gap.end > repetition.period.start && gap.end <= repetition.period.end;
    return within ? 1 + repetition.copies : 1;
  }
  [[nodiscard]] const workloads::StepOp& vertex(std::int32_t op) const { return step_.op(program_.ops[op].vertex); }
  [[nodiscard]] bool is_pass(std::int32_t op) const {
    return program_.ops[op].kind == program::ProgramOp::Kind::compute && vertex(op).pass != workloads::StepPass::update;
  }

  /// From the start of a rank's first pass to the end of its last.
  [[nodiscard]] std::pair<Seconds, Seconds> passes(std::int32_t rank) const {
    std::pair<Seconds, Seconds> span{timeline_.simulated_makespan(), Seconds(0)};
    timeline_.for_each_op_of(rank, [&](std::int32_t op) {
      if (!is_pass(op)) return;
      const auto one = timeline_.simulated(op, rank);
      span = {std::min(span.first, one.start), std::max(span.second, one.end)};
    });
    return span;
  }

  /// Operations of a rank by start, those that take time or not.
  [[nodiscard]] std::vector<std::pair<double, std::int32_t>> starts_on(std::int32_t rank) const {
    std::vector<std::pair<double, std::int32_t>> starts;
    timeline_.for_each_op_of(
        rank, [&](std::int32_t op) { starts.emplace_back(timeline_.simulated(op, rank).start.value(), op); });
    sort_runs(starts);
    return starts;
  }

  void explain(const std::vector<timeline::Interval>& gaps, std::int32_t rank, IdleTime& idle) {
    if (gaps.empty()) return;
    const auto starts = starts_on(rank);
    for (const auto& gap : gaps) {
      IdleTime one;
      explain(gap, rank, starts, one);
      const auto times = static_cast<double>(comes(gap));
      idle.dependency += one.dependency * times;
      idle.transfer += one.transfer * times;
      idle.collective += one.collective * times;
    }
  }

  /// Follows what ended the gap backwards in time, from operation to what ended last before it.
  void explain(const timeline::Interval& gap, std::int32_t rank,
               const std::vector<std::pair<double, std::int32_t>>& starts, IdleTime& idle) {
    const auto next = std::lower_bound(starts.begin(), starts.end(), std::pair{gap.end.value(), std::int32_t{0}});
    auto until = gap.end;
    if (next == starts.end()) {
      idle.dependency += until - gap.start;
      return;
    }
    std::int32_t op = next->second;
    while (until > gap.start) {
      const auto before = blockers_.of(op, rank);
      if (before.op < 0) {
        idle.dependency += until - gap.start;
        return;
      }
      const auto span = timeline_.simulated(before.op, before.rank);
      const auto held = std::max(span.end - program_.ops[before.op].held, gap.start);  // from then on by hosts
      if (until > held) idle.collective += until - held;
      take(vertex(before.op), std::max(span.start, gap.start), std::min(until, held), idle);
      until = std::min(until, std::max(span.start, gap.start));
      op = before.op;
      rank = before.rank;
    }
  }

  static void take(const workloads::StepOp& op, Seconds from, Seconds to, IdleTime& idle) {
    if (to <= from) return;
    const auto length = to - from;
    if (op->kind == workloads::StepOp::Kind::collective) {
      (between_stages(op) ? idle.transfer : idle.collective) += length;
      return;
    }
    idle.dependency += length;
  }

  /// The time that each rank of the schedule would wait within its span if all stages took the average time.
  Indexed<workloads::StageId, double> wait_of_even_stages(const workloads::StepPipeline& pipeline) const {
    const auto stages = step_.held.size();
    const auto ranks = program_.stage_of_rank.size();
    Grid<topologies::RankId, bool, double> busy(ranks, 2, 0);  // by rank, and whether it is in the backward
    for (std::int32_t op = 0; op < timeline_.ops(); ++op) {
      if (!is_pass(op)) continue;
      const bool backward = vertex(op).pass != workloads::StepPass::forward;
      const auto runs = static_cast<double>(timeline_.repetition().runs(op));
      for (const auto rank : timeline_.ranks_of(op)) {
        const auto span = timeline_.simulated(op, rank);
        busy(rank, backward) += (span.end - span.start - program_.ops[op].held).value() * runs;
      }
    }
    std::array<double, 2> mean{0, 0};  // forward, backward: of the fastest rank of each stage
    for (const bool backward : {false, true}) {
      Indexed<workloads::StageId, double> fastest(stages, std::numeric_limits<double>::infinity());
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        auto& stage = fastest[program_.stage_of_rank[rank]];
        stage = std::min(stage, busy(rank, backward));
      }
      const auto& shape = pipeline.order.shape;
      for (const double stage : fastest)
        mean[backward ? 1 : 0] +=
            stage / static_cast<double>(stages) / (shape.chunks * static_cast<double>(shape.whole_microbatches()));
    }
    double input = 0, weight = 0;
    for (const auto& stage : pipeline.times.stages) {
      input += stage.input_gradient;
      weight += stage.weight_gradient;
    }
    const double share = input + weight > 0 ? input / (input + weight) : 0.5;
    workloads::PipelineTimes even;
    even.slices = pipeline.times.slices;
    even.stages = {{mean[0], mean[1] * share, mean[1] * (1 - share)}};
    return time_order(pipeline.order, even).bubble_span;
  }

  const workloads::StepGraph& step_;
  const program::Program& program_;
  const timeline::Timeline& timeline_;
  Blockers blockers_;
  Indexed<workloads::StageId, double> even_wait_;  ///< by stage
};

}  // namespace

std::vector<IdleTime> idle_of(const workloads::StepGraph& step, const workloads::StepPipeline& pipeline,
                              const program::Program& program, const timeline::Timeline& timeline,
                              const std::vector<std::int32_t>& ranks) {
  std::vector<IdleTime> result;
  for_each_idle(step, pipeline, program, timeline, ranks,
                [&](const RankPieces&, const IdleTime& idle) { result.push_back(idle); });
  return result;
}

void for_each_idle(const workloads::StepGraph& step, const workloads::StepPipeline& pipeline,
                   const program::Program& program, const timeline::Timeline& timeline,
                   const std::vector<std::int32_t>& ranks,
                   const std::function<void(const RankPieces&, const IdleTime&)>& visit) {
  Waiting waiting(step, pipeline, program, timeline);
  for (const auto rank : ranks) {
    const RankPieces pieces(program, timeline, rank);
    visit(pieces, waiting.of(pieces));
  }
}

std::vector<std::int32_t> last_rank_of_stages(const program::Program& program, const timeline::Timeline& timeline) {
  std::vector<std::int32_t> result;
  for (std::int32_t rank = 0; rank < program.ranks(); ++rank) {
    const auto stage = position_of(program.stage_of_rank[rank]);
    if (result.size() <= stage) result.resize(stage + 1, -1);
    if (result[stage] < 0 || timeline.simulated_end(rank) > timeline.simulated_end(result[stage])) result[stage] = rank;
  }
  return result;
}

double Metrics::bubble_fraction_step() const {
  double worst = 0;
  for (const auto& stage : stages) worst = std::max(worst, stage.idle.step_bubble() / step_time);
  return worst;
}

double Metrics::bubble_fraction_span() const {
  double worst = 0;
  for (const auto& stage : stages) worst = std::max(worst, stage.idle.span_bubble() / step_time);
  return worst;
}

}  // namespace lockstep::metrics
