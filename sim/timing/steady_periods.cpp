#include "sim/timing/steady_periods.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "workloads/pipeline/action_places.hpp"

namespace lockstep::timing {
namespace {

template <class Renumber>
workloads::PipelineCell renumbered(workloads::PipelineCell cell, Renumber number) {
  cell.first.microbatch = number(cell.first);
  if (cell.second) cell.second->microbatch = number(*cell.second);
  return cell;
}

/// The microbatch with which each kind of work begins in a part of a rank's order.
class FirstMicrobatches {
 public:
  FirstMicrobatches(const std::vector<workloads::PipelineCell>& cells, std::size_t from, std::size_t until) {
    for (auto cell = from; cell < until; ++cell) {
      for_each_action(cells[cell], [&](const workloads::PipelineAction& action) {
        for_each_step(action.work, [&](workloads::PipelineStep step) {
          first_.try_emplace({step, action.stage}, action.microbatch);
        });
      });
    }
  }
  /// Whether an action was put off until after that part, since the part began with later microbatches.
  [[nodiscard]] bool put_off(const workloads::PipelineAction& action) const {
    bool found = false;
    for_each_step(action.work, [&](workloads::PipelineStep step) {
      const auto known = first_.find({step, action.stage});
      found = found || (known != first_.end() && action.microbatch < known->second);
    });
    return found;
  }

 private:
  std::map<std::pair<workloads::PipelineStep, std::int32_t>, std::int32_t> first_;  ///< by step and stage
};

/// Around the middle of a rank's order.
SteadyPeriods::Rank steady_part(const std::vector<workloads::PipelineCell>& cells, std::int32_t microbatches) {
  const auto repeats = [&](std::size_t i, std::size_t period) {
    return cells[i + period] ==
           renumbered(cells[i], [&](const auto& action) { return action.microbatch + microbatches; });
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

/// The operations that a cell of the order wrote: the first and one past the last.
using Ops = std::pair<workloads::OpId, workloads::OpId>;
using OpsOfCells = Indexed<workloads::StageId, Indexed<workloads::CellId, Ops>>;  ///< of each rank, of each cell

OpsOfCells ops_of_cells(const workloads::StepGraph& step, const workloads::PipelineOrder& order) {
  OpsOfCells result;
  for (const auto& cells : order.ranks) result.emplace_back(cells.size());
  for (std::size_t i = 0; i < step.cells.size(); ++i) {
    const auto& [place, first] = step.cells[i];
    result[place.rank][place.index] = {first, i + 1 < step.cells.size() ? step.cells[i + 1].first : step.first_update};
  }
  return result;
}

/// Looks for a date at which the state of the machine is what it was a period before.
class Search {
 public:
  Search(const workloads::StepGraph& step, const SteadyPeriods& periods, const workloads::PipelineOrder& order,
         const program::Program& program, const timeline::Timeline& timeline, double rounding)
      : step_(step),
        periods_(periods),
        order_(order),
        program_(program),
        timeline_(timeline),
        ops_(ops_of_cells(step, order)),
        started_(ops_.size()),
        tolerance_s_(4e-12 + rounding * timeline.simulated_makespan().value()),
        host_held_until_s_(host_held_until()) {
    for (std::size_t rank = 0; rank < ops_.size(); ++rank) starts_.push_back(starts_of_cells(rank));
  }

  std::optional<timeline::Repetition> run() {
    const auto& part = periods_.ranks.front();
    // Where several chains of operations around the pipeline take equally long, the state comes back after a few
    // periods of the order only. Tries the latest start that leaves enough of them after it first, then earlier ones.
    for (several_ = 1; several_ + 4 <= part.periods(); ++several_) {
      for (auto left = several_ + 2; left + 2 <= part.periods() && left <= several_ + 5; ++left) {
        const auto cell = part.last - left * part.cells;
        const double since = starts_[0][cell], until = starts_[0][cell + several_ * part.cells];
        if (until < later_than_all && until > since && repeats(since, until - since))
          return repetition({Seconds(since), Seconds(until)});
      }
    }
    return {};
  }

 private:
  static constexpr double later_than_all = std::numeric_limits<double>::infinity();

  /// When a rank's cells start to compute; of a cell that wrote nothing, when the next one does.
  [[nodiscard]] std::vector<double> starts_of_cells(std::size_t rank) const {
    const auto lane = static_cast<std::int32_t>(
        std::find(program_.stage_of_rank.begin(), program_.stage_of_rank.end(), static_cast<std::int32_t>(rank)) -
        program_.stage_of_rank.begin());
    std::vector<double> starts(ops_[rank].size() + 1, later_than_all);
    for (auto cell = ops_[rank].size(); cell-- > 0;) {
      starts[cell] = starts[cell + 1];
      for (auto id = ops_[rank][cell].first; id < ops_[rank][cell].second; ++id) {
        if (step_.op(id)->kind != workloads::StepOp::Kind::compute || !timeline_.took_part(id, lane)) continue;
        starts[cell] = timeline_.simulated(id, lane).start.value();
        break;
      }
    }
    return starts;
  }

  /// Whether the state at `since_s` comes back `period_s` later.
  [[nodiscard]] bool repeats(double since_s, double period_s) {
    // The host's lead over the chip only repeats where it holds the chip up: else it may grow from period to period,
    // and what it holds up later would be held up less.
    const bool host_leads = host_held_until_s_ <= since_s;
    for (std::size_t rank = 0; rank < ops_.size(); ++rank) {
      const auto& part = periods_.ranks[rank];
      auto cell = part.first;  // the first that has not started yet
      while (cell < part.last && starts_[rank][cell] < since_s - tolerance_s_) ++cell;
      started_[rank] = cell;
      if (cell < part.first + 2 * part.cells || cell + (several_ + 1) * part.cells > part.last) return false;
    }
    for (std::size_t rank = 0; rank < ops_.size(); ++rank) {
      const auto cells = periods_.ranks[rank].cells, cell = started_[rank];
      for (auto other = cell - 2 * cells; other < cell + cells; ++other) {
        if (!is_later(ops_[rank][other], ops_[rank][other + several_ * cells], period_s, host_leads)) return false;
      }
      if (!all_of(rank, 0, cell - 2 * cells,
                  [&](const timeline::Interval& span) { return span.end.value() <= since_s + tolerance_s_; }))
        return false;
      if (!all_of(rank, cell + cells, ops_[rank].size(),
                  [&](const timeline::Interval& span) { return span.start.value() >= since_s - tolerance_s_; }))
        return false;
    }
    return true;
  }

  /// The last date at which an operation waited for the host to launch it.
  [[nodiscard]] double host_held_until() const {
    double last = 0;
    for (workloads::OpId id = 0; id < step_.size(); ++id) {
      for (const auto lane : timeline_.ranks_of(id)) {
        const auto launched_s = program_.on_chip_of(lane, program_.ops[id]).launched.value();
        if (launched_s <= last) break;
        if (timeline_.simulated(id, lane).start.value() < launched_s - tolerance_s_) last = launched_s;
      }
    }
    return last;
  }

  template <class Holds>
  [[nodiscard]] bool all_of(std::size_t rank, std::size_t from, std::size_t to, Holds holds) const {
    for (auto cell = from; cell < to; ++cell) {
      for (auto id = ops_[rank][cell].first; id < ops_[rank][cell].second; ++id) {
        for (const auto lane : timeline_.ranks_of(id)) {
          if (!holds(timeline_.simulated(id, lane))) return false;
        }
      }
    }
    return true;
  }

  [[nodiscard]] bool is_later(const Ops& ops, const Ops& others, double by_s, bool host_leads) const {
    if (ops.second - ops.first != others.second - others.first) return false;
    for (auto id = ops.first; id < ops.second; ++id) {
      const auto later = id + (others.first - ops.first);
      if (!same_work(step_.op(id), step_.op(later))) return false;
      const auto launched = program_.ops[later].launched;
      const auto launched_by_s = (launched - program_.ops[id].launched).value();
      if (launched_by_s > by_s + tolerance_s_ ||
          (!host_leads && launched > Seconds(0) && launched_by_s < by_s - tolerance_s_))
        return false;
      if (!std::ranges::equal(timeline_.ranks_of(id), timeline_.ranks_of(later))) return false;
      for (const auto lane : timeline_.ranks_of(id)) {
        const auto span = timeline_.simulated(id, lane), shifted = timeline_.simulated(later, lane);
        const auto is_at = [&](Seconds a, Seconds b) { return std::abs((b - a).value() - by_s) <= tolerance_s_; };
        if (!is_at(span.start, shifted.start) || !is_at(span.end, shifted.end)) return false;
      }
    }
    return true;
  }

  [[nodiscard]] timeline::Repetition repetition(const timeline::Interval& period) const {
    using Place = timeline::Repetition::Place;
    timeline::Repetition found;
    found.period = period;
    found.microbatches = periods_.microbatches * static_cast<std::int32_t>(several_);
    if (order_.shape.placement == workloads::StagePlacement::bidirectional)
      found.first_of_other_end = order_.shape.microbatches / 2;
    found.place.assign(position_of(step_.size()), Place::after);
    found.later.assign(position_of(step_.size()), -1);
    for (std::size_t rank = 0; rank < ops_.size(); ++rank) {
      const auto one = periods_.ranks[rank].cells, cells = several_ * one, begin = started_[rank];
      found.cells.push_back({begin, cells});
      for (std::size_t cell = 0; cell < begin + cells; ++cell) {
        const auto [first, last] = ops_[rank][cell];
        std::fill(found.place.begin() + first, found.place.begin() + last,
                  cell < begin ? Place::before : Place::within);
        if (cell >= begin) {
          found.operations += last - first;
          found.pairs += order_.ranks[rank][cell].second ? 1 : 0;
        } else if (cell + 2 * one >= begin) {
          std::iota(found.later.begin() + first, found.later.begin() + last, ops_[rank][cell + cells].first);
        }
      }
      const auto& order = order_.ranks[rank];
      const FirstMicrobatches in_period(order, begin, begin + cells);
      for (auto cell = begin + cells; cell < ops_[rank].size(); ++cell) {
        const auto [first, last] = ops_[rank][cell];
        if (in_period.put_off(order[cell].first))
          std::fill(found.place.begin() + first, found.place.begin() + last, Place::put_off);
      }
    }
    return found;
  }

  const workloads::StepGraph& step_;
  const SteadyPeriods& periods_;
  const workloads::PipelineOrder& order_;
  const program::Program& program_;
  const timeline::Timeline& timeline_;
  OpsOfCells ops_;
  std::vector<std::vector<double>> starts_;  ///< of the cells of each rank
  std::size_t several_ = 1;                  ///< periods of the order after which the state repeats
  std::vector<std::size_t> started_;         ///< by rank: the first cell that has not started when the period begins
  double tolerance_s_;
  double host_held_until_s_;
};

}  // namespace

std::size_t SteadyPeriods::periods() const {
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const auto& rank : ranks) least = std::min(least, rank.periods());
  return least;
}

std::optional<SteadyPeriods> steady_periods(const workloads::PipelineOrder& order) {
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
  const bool both_ends = order.shape.placement == workloads::StagePlacement::bidirectional;
  const auto gone_from_an_end = static_cast<std::int32_t>(fewer) * periods.microbatches;
  const auto other_end =
      both_ends ? order.shape.microbatches / 2 : std::numeric_limits<std::int32_t>::max();  // its first microbatch
  made.shape.microbatches -= (both_ends ? 2 : 1) * gone_from_an_end;
  for (std::size_t rank = 0; rank < order.ranks.size(); ++rank) {
    const auto& cells = order.ranks[rank];
    auto& part = periods.ranks[rank];
    const auto gone = fewer * part.cells;
    const FirstMicrobatches in_period(cells, part.first, part.first + part.cells);
    const auto kept_number = [&](const workloads::PipelineAction& action) {
      return action.microbatch - (action.microbatch >= other_end ? gone_from_an_end : 0);
    };
    const auto later_number = [&](const workloads::PipelineAction& action) {
      return kept_number(action) - (in_period.put_off(action) ? 0 : gone_from_an_end);
    };
    auto& kept = made.ranks.emplace_back();
    kept.reserve(cells.size() - gone);
    for (std::size_t cell = 0; cell < part.first; ++cell) kept.push_back(renumbered(cells[cell], kept_number));
    for (auto cell = part.first + gone; cell < cells.size(); ++cell)
      kept.push_back(renumbered(cells[cell], later_number));
    part.last -= gone;
  }
  return made;
}

std::optional<timeline::Repetition> find_repetition(const workloads::StepGraph& step,
                                                    const workloads::PipelineOrder& order, const SteadyPeriods& periods,
                                                    const program::Program& program, const timeline::Timeline& timeline,
                                                    double rounding) {
  return Search(step, periods, order, program, timeline, rounding).run();
}

}  // namespace lockstep::timing
