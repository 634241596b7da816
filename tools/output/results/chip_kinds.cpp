#include "tools/output/results/chip_kinds.hpp"

#include <algorithm>

#include "sim/core/quantity_text.hpp"

namespace lockstep::output {

std::vector<ChipKindUse> chip_kinds_of(const Simulation& simulation) {
  const auto& chips = simulation.preparation.machine.cluster->chips();
  if (chips.count() == 1) return {};
  Indexed<topologies::ChipKindId, ChipKindUse> kinds;
  for (const auto& chip : chips) kinds.push_back({chip.name, 0, {}});
  for (topologies::RankId lane = 0; lane < simulation.program.ranks(); ++lane) {
    auto& kind = kinds[simulation.program.chip_of(lane)];
    kind.chips += simulation.ranks.size[lane];
    const auto breakdown = metrics::breakdown_of(simulation.program, simulation.run.timeline, lane);
    if (breakdown.compute > kind.breakdown.compute) kind.breakdown = breakdown;
  }
  return {kinds.begin(), kinds.end()};
}

std::string chip_kinds_line(const std::vector<ChipKindUse>& kinds) {
  if (kinds.empty()) return "";
  constexpr double noticed = 1.02;
  const auto shorter = [](const ChipKindUse& a, const ChipKindUse& b) {
    return a.breakdown.compute < b.breakdown.compute;
  };
  const auto [fastest, slowest] = std::minmax_element(kinds.begin(), kinds.end(), shorter);
  const bool wait = slowest->breakdown.compute > noticed * fastest->breakdown.compute;
  std::string text = wait ? "the others wait for " + slowest->chip : "no kind of chip waits for another";
  const char* joint = ": ";
  for (const auto& kind : kinds) {
    text += joint + std::to_string(kind.chips) + ' ' + kind.chip + " compute for " + format(kind.breakdown.compute);
    joint = ", ";
  }
  return text;
}

}  // namespace lockstep::output
