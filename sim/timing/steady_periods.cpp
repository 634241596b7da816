#include "sim/timing/steady_periods.hpp"

#include <algorithm>
#include <limits>

#include "workloads/pipeline/cell_turns.hpp"

namespace lockstep::timing {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

workloads::PipelineCell later(workloads::PipelineCell cell, std::int32_t microbatches) {
  cell.first.microbatch += microbatches;
  if (cell.second) cell.second->microbatch += microbatches;
  return cell;
}

/// Around the middle of a rank's order.
SteadyPeriods::Rank steady_part(const std::vector<workloads::PipelineCell>& cells, std::int32_t microbatches) {
  const auto repeats = [&](std::size_t i, std::size_t period) {
    return cells[i + period] == later(cells[i], microbatches);
  };
  const auto middle = cells.size() / 2;
  std::size_t period = 1;
  while (middle + period < cells.size() && !repeats(middle, period)) ++period;
  if (middle + period >= cells.size()) return {};
  SteadyPeriods::Rank part{middle, middle, period};
  while (part.first > 0 && repeats(part.first - 1, period)) --part.first;
  while (part.last + period < cells.size() && repeats(part.last, period)) ++part.last;
  part.last += period;
  return part;
}

/// Operations as the cells of the order wrote them: of each rank, of each cell.
using OpsOfCells = std::vector<std::vector<std::vector<workloads::OpId>>>;

OpsOfCells ops_of_cells(const workloads::StepGraph& step, const workloads::StepPipeline& pipeline) {
  const auto& order = pipeline.order;
  OpsOfCells result;
  for (const auto& cells : order.ranks) result.emplace_back(cells.size());
  const auto written = cells_in_turn(order);
  const auto writes = [&](std::size_t cell, const workloads::StepOp& op) {
    const auto [rank, index] = written[cell];
    if (op.stage != rank) return false;
    bool found = false;
    for_each_action(order.ranks[at(rank)][at(index)], [&](const workloads::PipelineAction& action) {
      found =
          found ||
          (action.microbatch == op.microbatch &&
           (action.work == workloads::PipelineWork::forward) == (op.pass == workloads::StepPass::forward) &&
           op.block >= pipeline.first_block[at(action.stage)] && op.block < pipeline.first_block[at(action.stage) + 1]);
    });
    return found;
  };
  // An operation that matches no cell nearby (an all-gather of parts that were sent) belongs to the cell before it. Two
  // cells in a row that cannot be told apart (a microbatch's gradients of inputs, then of weights) count as one.
  std::size_t now = 0;
  constexpr std::size_t near = 16;
  for (workloads::OpId id = 0; id < step.size(); ++id) {
    const auto& op = step.op(id);
    if (op.pass == workloads::StepPass::update) break;
    if (!writes(now, op)) {
      for (std::size_t next = now + 1; next < std::min(written.size(), now + near); ++next) {
        if (!writes(next, op)) continue;
        now = next;
        break;
      }
    }
    const auto [rank, index] = written[now];
    result[at(rank)][at(index)].push_back(id);
  }
  return result;
}

class Repetition {
 public:
  Repetition(const workloads::StepGraph& step, const workloads::StepPipeline& pipeline, const SteadyPeriods& periods,
             const program::Program& program, const timeline::Timeline& timeline)
      : step_(step), periods_(periods), program_(program), timeline_(timeline), ops_(ops_of_cells(step, pipeline)) {
    tolerance_s_ = 4e-12 + 1e-13 * timeline.makespan().value();
  }

  std::optional<Seconds> run() {
    const auto& part = periods_.ranks.front();
    // Tries the latest start that leaves two periods after it first, then earlier ones.
    for (std::size_t left = 3; left + 2 < part.periods(); ++left) {
      const auto cell = part.last - left * part.cells;
      const auto since = start_of(0, cell), until = start_of(0, cell + part.cells);
      if (!since || !until || *until <= *since) return {};
      if (repeats(*since, *until - *since)) return Seconds(*until - *since);
      if (left > 6) return {};
    }
    return {};
  }

 private:
  /// When a rank's cell starts to compute; of a cell that wrote nothing, when the next one does.
  [[nodiscard]] std::optional<double> start_of(std::size_t rank, std::size_t cell) const {
    const auto lane = static_cast<std::int32_t>(
        std::find(program_.stage_of_rank.begin(), program_.stage_of_rank.end(), static_cast<std::int32_t>(rank)) -
        program_.stage_of_rank.begin());
    for (; cell < ops_[rank].size(); ++cell) {
      for (const auto id : ops_[rank][cell]) {
        if (step_.op(id)->kind == workloads::StepOp::Kind::compute && timeline_.took_part(id, lane))
          return timeline_.span(id, lane).start.value();
      }
    }
    return {};
  }

  /// Whether the state at `since_s` comes back `period_s` later.
  [[nodiscard]] bool repeats(double since_s, double period_s) const {
    const bool leads = host_leads(since_s);
    for (std::size_t rank = 0; rank < ops_.size(); ++rank) {
      const auto& part = periods_.ranks[rank];
      auto cell = part.first;  // the first that has not started yet
      while (cell < part.last &&
             start_of(rank, cell).value_or(std::numeric_limits<double>::infinity()) < since_s - tolerance_s_)
        ++cell;
      if (cell < part.first + 2 * part.cells || cell + 2 * part.cells > part.last) return false;
      for (auto other = cell - 2 * part.cells; other < cell + part.cells; ++other) {
        if (!is_later(ops_[rank][other], ops_[rank][other + part.cells], period_s, leads)) return false;
      }
      if (!all_of(rank, 0, cell - 2 * part.cells,
                  [&](const timeline::Interval& span) { return span.end.value() <= since_s + tolerance_s_; }))
        return false;
      if (!all_of(rank, cell + part.cells, ops_[rank].size(),
                  [&](const timeline::Interval& span) { return span.start.value() >= since_s - tolerance_s_; }))
        return false;
    }
    return true;
  }

  /// Whether the host holds up nothing from `since_s` on. Its lead over the chip only repeats where it holds the chip
  /// up: else it may grow from period to period, and what it holds up later would be held up less.
  [[nodiscard]] bool host_leads(double since_s) const {
    for (workloads::OpId id = 0; id < step_.size(); ++id) {
      const auto launched_s = program_.ops[at(id)].launched.value();
      for (std::int32_t lane = 0; lane < timeline_.ranks() && launched_s > since_s; ++lane) {
        if (timeline_.took_part(id, lane) && timeline_.span(id, lane).start.value() < launched_s - tolerance_s_)
          return false;
      }
    }
    return true;
  }

  template <class Holds>
  [[nodiscard]] bool all_of(std::size_t rank, std::size_t from, std::size_t to, Holds holds) const {
    for (auto cell = from; cell < to; ++cell) {
      for (const auto id : ops_[rank][cell]) {
        for (std::int32_t lane = 0; lane < timeline_.ranks(); ++lane) {
          if (timeline_.took_part(id, lane) && !holds(timeline_.span(id, lane))) return false;
        }
      }
    }
    return true;
  }

  [[nodiscard]] bool is_later(const std::vector<workloads::OpId>& ops, const std::vector<workloads::OpId>& others,
                              double by_s, bool host_leads) const {
    if (ops.size() != others.size()) return false;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const auto& op = step_.op(ops[i]);
      const auto& other = step_.op(others[i]);
      if (op.what != other.what || op.stage != other.stage || op.other_stage != other.other_stage ||
          op.block != other.block)
        return false;
      const auto launched = program_.ops[at(others[i])].launched;
      const auto launched_by_s = (launched - program_.ops[at(ops[i])].launched).value();
      if (launched_by_s > by_s + tolerance_s_ ||
          (!host_leads && launched > Seconds(0) && launched_by_s < by_s - tolerance_s_))
        return false;
      for (std::int32_t lane = 0; lane < timeline_.ranks(); ++lane) {
        if (timeline_.took_part(ops[i], lane) != timeline_.took_part(others[i], lane)) return false;
        if (!timeline_.took_part(ops[i], lane)) continue;
        const auto span = timeline_.span(ops[i], lane), shifted = timeline_.span(others[i], lane);
        const auto is_at = [&](Seconds a, Seconds b) { return std::abs((b - a).value() - by_s) <= tolerance_s_; };
        if (!is_at(span.start, shifted.start) || !is_at(span.end, shifted.end)) return false;
      }
    }
    return true;
  }

  const workloads::StepGraph& step_;
  const SteadyPeriods& periods_;
  const program::Program& program_;
  const timeline::Timeline& timeline_;
  OpsOfCells ops_;
  double tolerance_s_;
};

}  // namespace

std::size_t SteadyPeriods::periods() const {
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const auto& rank : ranks) least = std::min(least, rank.periods());
  return least;
}

std::optional<SteadyPeriods> steady_periods(const workloads::PipelineOrder& order) {
  if (order.shape.placement == workloads::StagePlacement::bidirectional) return {};
  std::optional<SteadyPeriods>
      longest;  // interleaved chunks repeat for a few microbatches, and then for groups of them
  const auto repeated = [](const SteadyPeriods& periods) {
    return periods.periods() * static_cast<std::size_t>(periods.microbatches);
  };
  for (const auto microbatches : {1, 2, order.shape.ranks}) {
    SteadyPeriods found;
    found.microbatches = microbatches;
    for (const auto& cells : order.ranks) {
      const auto part = steady_part(cells, microbatches);
      if (part.cells == 0) break;
      found.ranks.push_back(part);
    }
    if (found.ranks.size() == order.ranks.size() && (!longest || repeated(found) > repeated(*longest))) longest = found;
  }
  return longest;
}

workloads::PipelineOrder without_periods(const workloads::PipelineOrder& order, std::size_t fewer,
                                         SteadyPeriods& periods) {
  workloads::PipelineOrder made{order.schedule, order.shape, {}};
  const auto microbatches = static_cast<std::int32_t>(fewer) * periods.microbatches;
  made.shape.microbatches -= microbatches;
  for (std::size_t rank = 0; rank < order.ranks.size(); ++rank) {
    const auto& cells = order.ranks[rank];
    auto& part = periods.ranks[rank];
    const auto gone = fewer * part.cells;
    auto& kept = made.ranks.emplace_back(cells.begin(), cells.begin() + static_cast<std::ptrdiff_t>(part.first));
    for (auto cell = part.first + gone; cell < cells.size(); ++cell) kept.push_back(later(cells[cell], -microbatches));
    part.last -= gone;
  }
  return made;
}

std::optional<Seconds> repeated_period(const workloads::StepGraph& step, const workloads::StepPipeline& pipeline,
                                       const SteadyPeriods& periods, const program::Program& program,
                                       const timeline::Timeline& timeline) {
  return Repetition(step, pipeline, periods, program, timeline).run();
}

}  // namespace lockstep::timing
