#pragma once
/// The inside of nodes whose chips reach each other over PCIe alone: chips below PCIe switches, these below CPUs, and
/// the link between the CPUs. A chip's traffic to its NIC takes the same port as that to other chips.
#include <vector>

#include "topologies/cluster/cluster_graph_private.hpp"
#include "topologies/cluster/cluster_spec.hpp"

namespace lockstep::topologies {

/// Tier 0 are the lowest switches, above each of which is the node's uplink of the same number; the last tier is what
/// joins all chips. Links are numbered inside a node; the link back of each is the next number.
class PcieTree {
 public:
  PcieTree() = default;
  explicit PcieTree(const NodeSpec& node);

  [[nodiscard]] int links() const { return first_link_.back(); }
  [[nodiscard]] int switches() const { return first_switch_.back(); }
  /// Adds the switches and links of one node; its chips are there. `place`: the node's coordinates.
  void add(const NodeSpec& node, const std::vector<int>& place, DeviceId first, Cluster::Graph& graph) const;
  /// The links between two chips of a node, whose own number is `first`.
  void route(int from, int to, LinkId first, std::vector<LinkId>& links) const;
  /// The links from a chip up to the switch of a tier, or down from it.
  void climb(int chip, int tier, LinkId first, std::vector<LinkId>& links) const;
  void descend(int chip, int tier, LinkId first, std::vector<LinkId>& links) const;
  /// The lowest tier on which all `chips` chips that share a NIC have one switch.
  [[nodiscard]] int tier_of_nic(int chips) const;
  /// The number of a chip's switch among those of a node.
  [[nodiscard]] int switch_of(int chip, int tier) const {
    return first_switch_[position_of(tier)] + chip / span_[position_of(tier)];
  }

 private:
  std::vector<int> span_;             ///< by tier: chips below a switch
  std::vector<int> first_switch_{0};  ///< by tier, then how many there are
  std::vector<int> first_link_{0};    ///< ports of chips, then the uplinks of each tier, then how many there are
};

}  // namespace lockstep::topologies
