#include "sim/timing/whole_step.hpp"
#include "sim/core/indexed.hpp"

#include <algorithm>
#include <utility>

namespace lockstep::timing {
namespace {

using Place = timeline::Repetition::Place;

}  // namespace

WholeStep::WholeStep(const workloads::PipelineOrder& order, const workloads::StepGraph& step,
                     const timeline::Timeline& timeline)
    : order_(order), step_(step), repetition_(timeline.repetition()) {
  if (repetition_.copies == 0) {
    for (std::int32_t op = 0; op < timeline.ops(); ++op) runs_.push_back({op, 0});
    return;
  }
  Indexed<workloads::StageId, Indexed<workloads::CellId, std::pair<workloads::OpId, workloads::OpId>>> simulated(
      order.ranks.size());
  for (std::size_t i = 0; i < step.cells.size(); ++i) {
    const auto& [place, first] = step.cells[i];
    auto& of_rank = simulated[place.rank];
    of_rank.resize(std::max(of_rank.size(), position_of(place.index) + 1));
    of_rank[place.index] = {first, i + 1 < step.cells.size() ? step.cells[i + 1].first : step.first_update};
  }
  for (const auto& cells : order.ranks) cells_.emplace_back(cells.size());
  for (const auto& place : cells_in_turn(order)) {
    const auto& [first, count] = repetition_.cells[place.rank];
    const auto whole = position_of(place.index);
    const auto copy =
        whole < first ? 0 : std::min((whole - first) / count, static_cast<std::size_t>(repetition_.copies));
    const auto [begin, end] = simulated[place.rank][whole - copy * count];
    cells_[place.rank][whole] = {std::ssize(runs_), begin, end};
    for (auto op = begin; op < end; ++op) runs_.push_back({op, static_cast<std::int64_t>(copy)});
    for_each_action(order.ranks[place.rank][whole], [&](const workloads::PipelineAction& action) {
      places_[{action.work, action.stage, action.microbatch}] = place;
    });
  }
  for (auto op = step.first_update; op < timeline.ops(); ++op) runs_.push_back({op, repetition_.copies});
}

const workloads::CellOps& WholeStep::simulated_cell(workloads::OpId op) const {
  const auto after = std::partition_point(step_.cells.begin(), step_.cells.end(),
                                          [op](const workloads::CellOps& cell) { return cell.first <= op; });
  return *std::prev(after);
}

std::int64_t WholeStep::number(const Run& run) const {
  if (repetition_.copies == 0) return run.op;
  if (run.op >= step_.first_update) return std::ssize(runs_) - (step_.size() - run.op);
  const auto& [place, first] = simulated_cell(run.op);
  const auto later = static_cast<std::size_t>(run.copy) * repetition_.cells[place.rank].count;
  return cells_[place.rank][position_of(place.index) + later].number + (run.op - first);
}

std::int64_t WholeStep::number_before(const Run& run, std::int32_t before) const {
  if (run.copy == 0 || repetition_.place_of(before) != Place::before) return number({before, run.copy});
  if (repetition_.place_of(run.op) == Place::put_off) return number({before, 0});
  // The predecessor's action for the microbatch `run.copy` periods later. Both orders have the same cells up to the
  // period.
  const auto& [place, first] = simulated_cell(before);
  const auto& simulated = order_.ranks[place.rank][place.index].first;
  const auto later = static_cast<std::int32_t>(run.copy) * repetition_.microbatches;
  const auto found = places_.find({simulated.work, simulated.stage, simulated.microbatch + later});
  if (found == places_.end()) return -1;
  const auto& cell = cells_[found->second.rank][found->second.index];
  const auto same = cell.first + (before - first);
  return same < cell.last && same_work(step_.op(before), step_.op(same)) ? cell.number + (before - first) : -1;
}

}  // namespace lockstep::timing
