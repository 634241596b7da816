#include "sim/timing/find_repetition.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "sim/timing/first_microbatches_private.hpp"

namespace lockstep::timing {
namespace {

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
        under_way_(ops_.size()),
        tolerance_s_(4e-12 + rounding * timeline.simulated_makespan().value()),
        host_held_until_s_(host_held_until()) {
    for (std::size_t rank = 0; rank < ops_.size(); ++rank) {
      starts_.push_back(starts_of_cells(rank));
      last_ends_.push_back(last_ends(rank));
      first_starts_.push_back(first_starts(rank));
    }
  }

  std::optional<timeline::Repetition> run() {
    // Where several chains of operations around the pipeline take equally long, the state comes back after a few
    // periods of the order only. Tries the latest start that leaves enough of them after it first, then earlier ones.
    constexpr std::size_t tries = 4;
    const auto& part = periods_.ranks.front();
    const auto cells = part.last - part.first, earlier = std::min(part.cells, part.cells_to_settle() / 2);
    for (several_ = 1; (several_ + 1) * part.cells + earlier <= cells; ++several_) {
      for (std::size_t tried = 1; tried <= tries; ++tried) {
        const auto left = (several_ + 1) * part.cells + tried * earlier;
        if (left > cells) break;
        const auto cell = part.last - left;
        const double since = starts_[0][cell], until = starts_[0][cell + several_ * part.cells];
        if (until == later_than_all || until <= since || !stand_at(since, several_ + 1) ||
            !is_back(since, until - since))
          continue;
        // What is held comes into its rhythm a period later than the dates do: the gradients of a virtual stage are
        // held from its first backward on. So the period that repeats is the next one. It begins a moment before, so
        // that whatever starts with it is in it in spite of rounding.
        const double next = starts_[0][cell + part.cells], end = starts_[0][cell + (several_ + 1) * part.cells];
        const double moment = 2 * tolerance_s_;
        if (end < later_than_all && stand_at(next, several_))
          return repetition({Seconds(next - moment), Seconds(end - moment)});
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

  /// Of the operations before a cell: when the last ends. Of those from a cell on: when the first starts.
  [[nodiscard]] std::vector<double> last_ends(std::size_t rank) const {
    std::vector<double> ends(ops_[rank].size() + 1, 0);
    for (std::size_t cell = 0; cell < ops_[rank].size(); ++cell) {
      ends[cell + 1] = ends[cell];
      for_each_span(rank, cell, [&](const timeline::Interval& span) {
        ends[cell + 1] = std::max(ends[cell + 1], span.end.value());
      });
    }
    return ends;
  }
  [[nodiscard]] std::vector<double> first_starts(std::size_t rank) const {
    std::vector<double> starts(ops_[rank].size() + 1, later_than_all);
    for (auto cell = ops_[rank].size(); cell-- > 0;) {
      starts[cell] = starts[cell + 1];
      for_each_span(rank, cell,
                    [&](const timeline::Interval& span) { starts[cell] = std::min(starts[cell], span.start.value()); });
    }
    return starts;
  }
  template <class Visit>
  void for_each_span(std::size_t rank, std::size_t cell, Visit visit) const {
    for (auto id = ops_[rank][cell].first; id < ops_[rank][cell].second; ++id) {
      for (const auto lane : timeline_.ranks_of(id)) visit(timeline_.simulated(id, lane));
    }
  }

  /// So many cells before the period are compared with those at its end, even if all their operations have ended.
  [[nodiscard]] static std::size_t cells_compared(const SteadyPeriods::Rank& part) {
    return std::min(2 * part.cells, part.cells_to_settle());
  }

  /// Notes where the ranks stand at a date. Whether all of them are within their steady parts, with so many periods to
  /// go.
  [[nodiscard]] bool stand_at(double date_s, std::size_t periods) {
    for (std::size_t rank = 0; rank < ops_.size(); ++rank) {
      const auto& part = periods_.ranks[rank];
      auto& cell = started_[rank];
      cell = part.first;
      while (cell < part.last && starts_[rank][cell] < date_s - tolerance_s_) ++cell;
      if (cell < part.first + cells_compared(part) || cell + periods * part.cells > part.last) return false;
      auto& under_way = under_way_[rank];
      under_way = cell - cells_compared(part);
      while (under_way > part.first && last_ends_[rank][under_way] > date_s - tolerance_s_) --under_way;
      if (last_ends_[rank][under_way] > date_s + tolerance_s_) return false;
      if (first_starts_[rank][cell + part.cells] < date_s - tolerance_s_) return false;
    }
    return true;
  }

  /// Whether the state at the date at which the ranks stand comes back `period_s` later.
  [[nodiscard]] bool is_back(double since_s, double period_s) const {
    // The host's lead over the chip only repeats where it holds the chip up: else it may grow from period to period,
    // and what it holds up later would be held up less.
    const bool host_leads = !step_.host_waits_for_transfers && host_held_until_s_ <= since_s;
    for (std::size_t rank = 0; rank < ops_.size(); ++rank) {
      const auto cells = periods_.ranks[rank].cells;
      for (auto cell = under_way_[rank]; cell < started_[rank] + cells; ++cell) {
        if (!is_later(ops_[rank][cell], ops_[rank][cell + several_ * cells], period_s, host_leads)) return false;
      }
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

  [[nodiscard]] bool is_later(const Ops& ops, const Ops& others, double by_s, bool host_leads) const {
    if (ops.second - ops.first != others.second - others.first) return false;
    for (auto id = ops.first; id < ops.second; ++id) {
      const auto later = id + (others.first - ops.first);
      if (!same_work(step_.op(id), step_.op(later))) return false;
      const auto launched = program_.ops[later].launched;
      const auto launched_by_s =
          (launched - program_.ops[id].launched).value() + (step_.host_waits_for_transfers ? by_s : 0);
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
        } else if (cell >= periods_.ranks[rank].first && cell + 2 * one >= begin) {
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
  std::vector<std::vector<double>> starts_, last_ends_, first_starts_;  ///< of the cells of each rank
  std::size_t several_ = 1;  ///< periods of the order after which the state repeats
  // Of each rank, at the date of stand_at:
  std::vector<std::size_t> started_;    ///< the first cell that has not started
  std::vector<std::size_t> under_way_;  ///< the first cell that may not have ended, or cells_compared before started_
  double tolerance_s_;
  double host_held_until_s_;
};

}  // namespace

std::optional<timeline::Repetition> find_repetition(const workloads::StepGraph& step,
                                                    const workloads::PipelineOrder& order, const SteadyPeriods& periods,
                                                    const program::Program& program, const timeline::Timeline& timeline,
                                                    double rounding) {
  return Search(step, periods, order, program, timeline, rounding).run();
}

}  // namespace lockstep::timing
