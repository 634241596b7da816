#pragma once
/// Algorithms that others are built from, and the helpers that all of them share. algorithms.cpp lists every algorithm.
#include <vector>

#include "sim/collectives/group_network.hpp"

namespace lockstep::collectives {

/// An algorithm that is another for each network. It runs only where a scenario or a user names it, never because it is
/// the cheapest.
class MadeForGroups : public CollectiveAlgorithm {
 public:
  /// The algorithm for these groups (devices by member), which has the slots, flows and plans.
  [[nodiscard]] virtual std::shared_ptr<const CollectiveAlgorithm> made_for(
      const topologies::Cluster& cluster, const std::vector<std::vector<topologies::DeviceId>>& groups) const = 0;
};

/// Null if the algorithm is the same for all groups.
[[nodiscard]] inline const MadeForGroups* made_for_groups(const CollectiveAlgorithm& algorithm) {
  return dynamic_cast<const MadeForGroups*>(&algorithm);
}

/// Whether there are groups on which the algorithm runs collectives of this kind (CollectiveAlgorithm::serves).
[[nodiscard]] bool runs(const CollectiveAlgorithm& algorithm, workloads::CollectiveKind kind);

}  // namespace lockstep::collectives

namespace lockstep::collectives::network {

[[nodiscard]] const CollectiveAlgorithm& torus();
[[nodiscard]] const CollectiveAlgorithm& torus_all_to_all();
[[nodiscard]] const CollectiveAlgorithm& ring();
[[nodiscard]] const CollectiveAlgorithm& tree();
[[nodiscard]] const CollectiveAlgorithm& direct();
[[nodiscard]] const CollectiveAlgorithm& in_network();
/// Of tokens alone: it is none of collective_algorithms(), and taken where a dispatcher asks for it.
[[nodiscard]] const CollectiveAlgorithm& forwarded_all_to_all();

/// About two million links on the routes of a direct exchange's pairs; beyond, in all groups together, they are counted
/// by switch where that is possible.
inline constexpr std::int64_t most_listed_pairs = 350'000;
/// 400 MB of links, and some seconds, for all groups together.
inline constexpr std::int64_t most_pairs_in_all = 4'000'000;
/// Two seconds, of pairs in all groups whose links are counted one by one: all of 4,096 members.
inline constexpr std::int64_t most_counted_pairs = 17'000'000;

/// Whether every route between members leads through switches or over a link of their own, as in nodes, or with one
/// chip of each torus.
[[nodiscard]] bool without_torus(const topologies::Cluster& cluster, const GroupStructure& groups);

/// A step of an algorithm, from a member to another of its unit or of any unit.
[[nodiscard]] Seconds local_step(const GroupStructure& groups, const topologies::Protocol& protocol);
[[nodiscard]] Seconds remote_step(const GroupStructure& groups, const topologies::Protocol& protocol);
/// The bytes that links carry for full_size, given the share of their bandwidth that the protocol uses.
[[nodiscard]] double carried(Bytes full_size, const topologies::Protocol& protocol);
/// The protocols that a library runs an algorithm in. Those named NVLS and NVLSTree, with anything behind it, are of
/// in-network reduction: the in-network tree has the latter or else the former, the in-network algorithm the former,
/// each where there are any, and no other algorithm has them. NCCL's all-to-all, made of sends and receives, has no
/// LL128.
[[nodiscard]] std::vector<topologies::Protocol> protocols_of(const topologies::NodeSpec& node,
                                                             std::string_view algorithm);
/// A protocol that has been launched.
[[nodiscard]] topologies::Protocol launched(topologies::Protocol protocol);

/// The sum over the links of the route.
[[nodiscard]] Seconds route_latency(const topologies::Cluster& cluster, topologies::DeviceId from,
                                    topologies::DeviceId to);
void append_route(const topologies::Cluster& cluster, topologies::DeviceId from, topologies::DeviceId to,
                  std::vector<topologies::LinkId>& links);
/// Members unit by unit.
[[nodiscard]] std::vector<topologies::DeviceId> by_unit(const NetworkGroup& group);
/// Positions in the group's first unit of the first members on each NIC, as many as the group has rails.
[[nodiscard]] std::vector<std::size_t> rail_starts(const topologies::Cluster& cluster, const NetworkGroup& group,
                                                   const GroupStructure& groups);

}  // namespace lockstep::collectives::network
