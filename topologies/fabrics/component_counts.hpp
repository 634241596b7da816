#pragma once
/// The number of parts of each kind that can fail in a cluster.
#include <cstdint>
#include <vector>

#include "topologies/fabrics/fabric.hpp"

namespace lockstep::topologies {

/// Counts switches and links of the networks between hosts, and of a torus. Links and switches inside a node belong to
/// its host.
struct ComponentCounts {
  std::int64_t chips = 0;
  std::int64_t hosts = 0;  ///< nodes, or hosts of the chips of a torus
  std::int64_t nics = 0;   ///< one a host for the chips of a torus
  std::int64_t switches = 0;
  std::int64_t links = 0;         ///< cables: both directions are one, parallel ones are several
  std::int64_t torus_links = 0;   ///< of these, between chips of a torus
  std::int64_t switch_links = 0;  ///< of these, between two switches
  std::vector<std::int64_t> switches_of_tier, links_of_tier;  ///< from tier 1; links of tier t lead down from a switch
                                                              ///< of tier t
  std::int64_t switches_to_buy = 0;  ///< of `switches`, those that the cables need (bought_switches.hpp)
  [[nodiscard]] std::int64_t host_links() const { return links - torus_links - switch_links; }
};

/// Of each node the switches on the shortest way to the nearest chip, host or NIC through the networks between hosts,
/// itself included: 1 of a leaf, 2 of a spine; 0 of all that is no switch of these networks.
[[nodiscard]] Indexed<NodeId, int> network_tiers(const Cluster& cluster);
/// The tier of a link of these networks: that of its end farther from the hosts; 0 of a torus.
[[nodiscard]] int tier_of(const Link& link, const Indexed<NodeId, int>& tiers);

/// Cables over which packets are sprayed are counted one by one, though the cluster models equal ones as one link.
[[nodiscard]] ComponentCounts count_components(ClusterSpec spec);

}  // namespace lockstep::topologies
