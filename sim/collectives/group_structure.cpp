#include <algorithm>
#include <set>

#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/exchange_by_switch.hpp"
#include "sim/collectives/group_structure_private.hpp"

namespace lockstep::collectives {

PlaceOfDevice places_in_order(const topologies::Cluster& cluster, UnitOrder order) {
  PlaceOfDevice places(cluster.devices());
  for (topologies::DeviceId position = 0; position < cluster.devices(); ++position) {
    const auto device = order == UnitOrder::ranks ? cluster.device_at_position(position) : position;
    places[device] = position;
  }
  return places;
}

namespace {

int rails_of(const topologies::Cluster& cluster, const NetworkGroup& group) {
  std::size_t least = group.units.front().size();
  for (const auto& unit : group.units) {
    std::set<topologies::NodeId> nics;
    for (const auto device : unit) nics.insert(cluster.nic_of(device));
    least = std::min(least, nics.size());
  }
  return static_cast<int>(least);
}

void add_hops(const topologies::Cluster& cluster, const NetworkGroup& group, GroupStructure& structure) {
  const auto& units = group.units;
  for (const auto& unit : units) {
    if (unit.size() > 1)
      structure.local_hop = std::max(structure.local_hop, network::route_latency(cluster, unit[0], unit[1]));
  }
  if (units.size() == 1) return;
  Seconds around(0);
  for (std::size_t u = 0; u < units.size(); ++u) {
    const Seconds to_next = network::route_latency(cluster, units[u].front(), units[(u + 1) % units.size()].front());
    around += to_next;
    structure.remote_hop = std::max(structure.remote_hop, to_next);
    if (u == 0) continue;
    structure.remote_hop =
        std::max(structure.remote_hop, network::route_latency(cluster, units.front().front(), units[u].front()));
    structure.cross_hop =
        std::max(structure.cross_hop, network::route_latency(cluster, units.front().front(), units[u].back()));
  }
  structure.around = std::max(structure.around, around);
}

/// Pairs of members that share units, of all groups together.
bool may_have_many_pairs(const topologies::Cluster& cluster, const GroupStructure& structure) {
  const std::int64_t members = structure.members;
  return structure.local > 1 && !cluster.unit_is_torus() &&
         (members * members > network::most_listed_pairs || members * cluster.devices() > network::most_pairs_in_all);
}

}  // namespace

GroupStructure structure_of(const topologies::Cluster& cluster, const std::vector<NetworkGroup>& groups) {
  GroupStructure structure;
  structure.groups = static_cast<int>(groups.size());
  const auto& first = groups.front();
  structure.members = static_cast<int>(first.members.size());
  structure.local = static_cast<int>(first.units.front().size());
  for (const auto& group : groups) {
    structure.units = std::max(structure.units, static_cast<int>(group.units.size()));
    for (const auto& unit : group.units) {
      structure.most_local = std::max(structure.most_local, static_cast<int>(unit.size()));
      if (unit.size() != first.units.front().size()) structure.local = 0;
    }
    add_hops(cluster, group, structure);
  }
  if (const auto* fabric = cluster.fabric_spec(); fabric != nullptr) {
    structure.incast_slowdown = fabric->incast_slowdown(structure.units - 1);
    structure.step_slowdown = fabric->step_slowdown(structure.units);
    if (cluster.unit_is_torus()) structure.barrier = fabric->barrier_of(structure.units);
  }
  if (structure.local == 0 || structure.units == 1) return structure;
  structure.rails = structure.local;
  for (const auto& group : groups) structure.rails = std::min(structure.rails, rails_of(cluster, group));
  if (may_have_many_pairs(cluster, structure)) structure.own_ways = has_own_ways(cluster, first.units);
  return structure;
}

}  // namespace lockstep::collectives
