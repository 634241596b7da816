#include "workloads/sharded_layers/muon_groups.hpp"

#include <algorithm>

namespace lockstep::workloads {

std::vector<MuonGroup> muon_groups(const OptimizerSpec& spec, const std::vector<const WeightUpdate*>& weights) {
  std::vector<MuonGroup> groups;
  for (const auto* update : weights) {
    if (!by_muon(spec, *update)) continue;
    const auto& matrices = update->matrices;
    const auto more = muon_work(spec.muon, matrices, spec.moment);
    auto group = std::find_if(groups.begin(), groups.end(), [&](const MuonGroup& other) {
      return other.work.axes == more.axes && other.work.owners == more.owners;
    });
    if (group == groups.end()) {
      group = groups.insert(groups.end(), MuonGroup{});
      group->work.axes = more.axes;
      group->work.owners = more.owners;
    }
    auto& work = group->work;
    work.flops += more.flops;
    work.traffic += more.traffic;
    work.gathered += more.gathered;
    work.exchanged += more.exchanged;
    work.summed += more.summed;
    const auto small = std::min(matrices.rows, matrices.columns), large = std::max(matrices.rows, matrices.columns);
    if (small * large > group->shape.m * group->shape.n) group->shape = {1, small, large, small};
  }
  return groups;
}

}  // namespace lockstep::workloads
