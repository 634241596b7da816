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
         const program::Program& program, const timeline::Timeline& timeline, const Tolerance& tolerance)
      : step_(step),
        periods_(periods),
        order_(order),
        program_(program),
        timeline_(timeline),
        ops_(ops_of_cells(step, order)),
        started_(ops_.size()),
        under_way_(ops_.size()),
        missing_(tolerance.missing_periods),
        change_allowed_(tolerance.change_allowed),
        rounding_s_(4e-12 + tolerance.rounding * timeline.simulated_makespan().value()) {
    for (std::size_t rank = 0; rank < ops_.size(); ++rank) {
      starts_.push_back(starts_of_cells(rank));
      last_ends_.push_back(last_ends(rank));
      first_starts_.push_back(first_starts(rank));
    }
  }

  RepetitionSearch run() {
    auto found = repetition_found();
    return {std::move(found), found ? 1 : shrinking()};
  }

 private:
  static constexpr double later_than_all = std::numeric_limits<double>::infinity();

  std::optional<timeline::Repetition> repetition_found() {
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
        if (!repeats(cell)) continue;
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

  /// By what factor the state came closer to itself over the last period of the order.
  [[nodiscard]] double shrinking() {
    const auto& part = periods_.ranks.front();
    const auto left = 2 * part.cells + std::min(part.cells, part.cells_to_settle() / 2);
    if (part.first + part.cells + left > part.last) return 1;
    several_ = 1;
    tolerance_s_ = rounding_s_;
    const auto cell = part.last - left;
    const auto away = deviation_at(cell, 2, later_than_all),
               before = deviation_at(cell - part.cells, 3, later_than_all);
    return away && before ? *away / std::max(*before, rounding_s_) : 1;
  }

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

  /// Whether the state at which rank 0 starts a cell comes back `several_` periods later, or so nearly that all missing
  /// periods together change the step's time by less than is allowed.
  [[nodiscard]] bool repeats(std::size_t cell) {
    tolerance_s_ = rounding_s_;
    const auto& part = periods_.ranks.front();
    const auto period = several_ * part.cells;
    const double copies = static_cast<double>(missing_) / static_cast<double>(several_);
    const double allowed_s = change_allowed_ * (timeline_.simulated_makespan().value() +
                                                copies * (starts_[0][cell + period] - starts_[0][cell]));
    // Deviations d do not grow, so no later period is longer or shorter than this one by more than d. If they shrink by
    // a factor r from one to the next, all later ones together deviate by d r / (1 - r), and so does their length.
    constexpr double least_factor = 0.1, doubt = 2;
    const double least = doubt * least_factor / (1 - least_factor);
    const auto away = deviation_at(cell, several_ + 1, std::max(rounding_s_, allowed_s / copies / least));
    if (!away) return false;
    if (*away <= rounding_s_) return true;
    double change_s = *away * copies;
    if (cell >= part.first + period) {
      const auto before = deviation_at(cell - period, several_ + 2, later_than_all);
      const double factor = before ? std::max(least_factor, *away / *before) : 1;
      if (factor < 1) change_s *= std::min(1.0, doubt * factor / (1 - factor));
    }
    if (change_s > allowed_s) return false;
    tolerance_s_ = *away;
    return true;
  }

  /// How far the dates of the operations around the start of a cell of rank 0 are from what they are `several_` periods
  /// later, less these, in seconds; nothing if it is more than `most_s`, if they are not the same operations, or if not
  /// all ranks stand within their steady parts, with so many periods to go.
  [[nodiscard]] std::optional<double> deviation_at(std::size_t cell, std::size_t periods_to_go, double most_s) {
    const double since = starts_[0][cell], until = starts_[0][cell + several_ * periods_.ranks.front().cells];
    if (until == later_than_all || until <= since || !stand_at(since, periods_to_go)) return {};
    double worst_s = 0;
    for (std::size_t rank = 0; rank < ops_.size(); ++rank) {
      const auto cells = periods_.ranks[rank].cells;
      for (auto of_rank = under_way_[rank]; of_rank < started_[rank] + cells; ++of_rank) {
        const auto away = deviation(ops_[rank][of_rank], ops_[rank][of_rank + several_ * cells], until - since, most_s);
        if (!away) return {};
        worst_s = std::max(worst_s, *away);
      }
    }
    return worst_s;
  }

  /// Of the operations of two cells; nothing if they are not the same, or if it is more than `most_s`.
  [[nodiscard]] std::optional<double> deviation(const Ops& ops, const Ops& others, double by_s, double most_s) const {
    if (ops.second - ops.first != others.second - others.first) return {};
    double worst_s = 0;
    for (auto id = ops.first; id < ops.second; ++id) {
      const auto later = id + (others.first - ops.first);
      if (!same_work(step_.op(id), step_.op(later))) return {};
      if (!std::ranges::equal(timeline_.ranks_of(id), timeline_.ranks_of(later))) return {};
      for (const auto lane : timeline_.ranks_of(id)) {
        const auto span = timeline_.simulated(id, lane), shifted = timeline_.simulated(later, lane);
        const auto away = [&](Seconds a, Seconds b) { return std::abs((b - a).value() - by_s); };
        worst_s = std::max({worst_s, away(span.start, shifted.start), away(span.end, shifted.end)});
        const auto launched = program_.on_chip_of(lane, program_.ops[id]).launched,
                   launched_later = program_.on_chip_of(lane, program_.ops[later]).launched;
        if (launched_later > Seconds(0))
          worst_s = std::max(worst_s, deviation_of_host(span.start, launched, shifted.start, launched_later, by_s));
      }
      if (worst_s > most_s) return {};
    }
    return worst_s;
  }
  /// The host's lead over the chip may grow from period to period, but not where it holds the chip up, since it would
  /// hold it up less later on. An operation starts before it is launched if it waits for the host.
  [[nodiscard]] double deviation_of_host(Seconds start, Seconds launched, Seconds later_start, Seconds later_launched,
                                         double by_s) const {
    const auto launched_by_s = (later_launched - launched).value();
    if (step_.host_waits_for_transfers) return std::abs(launched_by_s);  // since its rank's host waited
    const auto is_held = [&](Seconds from, Seconds until) { return from < until - Seconds(rounding_s_); };
    const bool held = is_held(start, launched) || is_held(later_start, later_launched);
    return held ? std::abs(launched_by_s - by_s) : launched_by_s - by_s;
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
  std::size_t missing_;                 ///< periods of the order
  double change_allowed_;               ///< of the step's time
  double rounding_s_;
  double tolerance_s_ = rounding_s_;  ///< within which dates are equal
};

}  // namespace

RepetitionSearch find_repetition(const workloads::StepGraph& step, const workloads::PipelineOrder& order,
                                 const SteadyPeriods& periods, const program::Program& program,
                                 const timeline::Timeline& timeline, const Tolerance& tolerance) {
  return Search(step, periods, order, program, timeline, tolerance).run();
}

}  // namespace lockstep::timing
