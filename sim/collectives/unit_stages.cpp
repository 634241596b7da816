#include "sim/collectives/unit_stages.hpp"

#include <utility>

namespace lockstep::collectives::network {
namespace {

GroupStructure inside_a_unit(const GroupStructure& groups) {
  GroupStructure inner = groups;
  inner.groups = groups.groups * groups.units;
  inner.members = groups.local;
  inner.units = 1;
  inner.rails = 1;
  return inner;
}

GroupStructure across_units(const GroupStructure& groups) {
  GroupStructure outer = groups;
  outer.groups = groups.groups * groups.local;
  outer.members = groups.units;
  outer.local = outer.most_local = outer.rails = 1;
  outer.cross_hop = groups.remote_hop;
  outer.torus.clear();
  outer.torus_by_axis.clear();
  return outer;
}

/// Puts the phases of one stage behind the others: `share` of the bytes, in the slots from `first` on.
void append(std::vector<Phase>& phases, const std::vector<Phase>& stage, double share, std::int32_t first,
            std::int32_t slots) {
  for (const auto& from : stage) {
    Phase phase{from.latency, Indexed<SlotId, double>(slots, 0.0)};
    for (const SlotId slot : from.slot_bytes.ids()) {
      phase.slot_bytes[first + slot] = share * from.slot_bytes[slot];
    }
    phases.push_back(std::move(phase));
  }
}

/// Only the first stage pays for the launch.
topologies::Protocol next(const std::vector<Phase>& phases, const topologies::Protocol& protocol) {
  return phases.empty() ? protocol : launched(protocol);
}

}  // namespace

UnitStages::UnitStages(const topologies::Cluster& cluster, const GroupStructure& groups,
                       const CollectiveAlgorithm& across)
    : UnitStages(cluster, groups, across, cluster.unit_is_torus() ? torus() : direct()) {}

UnitStages::UnitStages(const topologies::Cluster& cluster, const GroupStructure& groups,
                       const CollectiveAlgorithm& across, const CollectiveAlgorithm& inside)
    : cluster_(cluster),
      inner_(inside_a_unit(groups)),
      outer_(across_units(groups)),
      inner_algorithm_(inside),
      outer_algorithm_(across) {}

bool UnitStages::possible(workloads::CollectiveKind across_kind, const topologies::Cluster& cluster,
                          const GroupStructure& groups, const CollectiveAlgorithm& across) {
  return groups.units > 1 && groups.local > 1 && across.serves(across_kind, cluster, across_units(groups));
}

std::int32_t UnitStages::slots() const {
  return inner_algorithm_.slots(cluster_, inner_) + outer_algorithm_.slots(cluster_, outer_);
}

std::vector<Flow> UnitStages::flows(const NetworkGroup& group) const {
  std::vector<Flow> flows;
  if (cluster_.unit_is_torus()) {
    flows = inner_algorithm_.flows(cluster_, group, inner_);  // its lanes lie in all units
  } else {
    for (const auto& unit : group.units) {
      for (auto& flow : inner_algorithm_.flows(cluster_, {unit, {unit}, {}}, inner_)) flows.push_back(std::move(flow));
    }
  }
  for (std::size_t local = 0; local < group.units.front().size(); ++local) {
    NetworkGroup peers;
    for (const auto& unit : group.units) {
      peers.members.push_back(unit[local]);
      peers.units.push_back({unit[local]});
    }
    for (auto& flow : outer_algorithm_.flows(cluster_, peers, outer_)) {
      flow.slot += inner_algorithm_.slots(cluster_, inner_);
      flows.push_back(std::move(flow));
    }
  }
  return flows;
}

void UnitStages::inside(std::vector<Phase>& phases, workloads::CollectiveKind kind, Bytes full_size, double share,
                        const topologies::Protocol& protocol) const {
  append(phases, inner_algorithm_.plan(kind, full_size, cluster_, inner_, next(phases, protocol)), share, 0, slots());
}

void UnitStages::across(std::vector<Phase>& phases, workloads::CollectiveKind kind, Bytes full_size, double share,
                        const topologies::Protocol& protocol) const {
  append(phases, outer_algorithm_.plan(kind, full_size, cluster_, outer_, next(phases, protocol)), share,
         inner_algorithm_.slots(cluster_, inner_), slots());
}

}  // namespace lockstep::collectives::network
