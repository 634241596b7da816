#include "sim/timing/steady_periods.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "sim/timing/first_microbatches_private.hpp"

namespace lockstep::timing {
namespace {

template <class Renumber>
workloads::PipelineCell renumbered(workloads::PipelineCell cell, Renumber number) {
  cell.first.microbatch = number(cell.first);
  if (cell.second) cell.second->microbatch = number(*cell.second);
  return cell;
}

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

}  // namespace

std::size_t SteadyPeriods::periods() const {
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const auto& rank : ranks) least = std::min(least, rank.periods());
  return least;
}

std::size_t SteadyPeriods::fewest_to_repeat() const {
  std::size_t fewest = 0;
  for (const auto& rank : ranks) {
    const auto needed = 2 * rank.cells + rank.cells_to_settle(),
               beyond = rank.last - rank.first - periods() * rank.cells;
    fewest = std::max(fewest, (std::max(needed, beyond) - beyond + rank.cells - 1) / rank.cells);
  }
  return fewest;
}

std::optional<SteadyPeriods> steady_periods(const workloads::PipelineOrder& order) {
  std::optional<SteadyPeriods>
      longest;  // interleaved chunks repeat for a few microbatches, and then for groups of them
  const auto repeated = [](const SteadyPeriods& periods) {
    return periods.periods() * static_cast<std::size_t>(periods.microbatches);
  };
  const auto slices = order.shape.slices;  // slices differ in their work, so a period has whole microbatches
  for (const auto some : {1, 2, order.shape.ranks}) {
    const auto microbatches = std::lcm(some, slices);
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

}  // namespace lockstep::timing
