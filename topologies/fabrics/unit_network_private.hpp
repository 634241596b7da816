#pragma once
/// A cluster's units in its graph: their chips, the links and switches that join these, and the NICs or hosts by which
/// they reach other units.
#include <vector>

#include "topologies/fabrics/pcie_tree_private.hpp"
#include "topologies/fabrics/switch_network_private.hpp"

namespace lockstep::topologies {

/// Ids of the units' links, by arithmetic: links inside nodes, and each chip's link to its NIC or host (id; the link
/// back is id + 1). In nodes with PCIe alone the link to a NIC comes from a switch, and all chips of the NIC share it.
struct UnitLinks {
  int unit_size = 1;
  const NodeSpec* node = nullptr;  ///< null: tori, whose routes Cluster knows
  LinkId scale_up = 0;             ///< the first link inside nodes
  LinkId pcie = 0;                 ///< the first of the links to NICs or hosts
  PcieTree tree;                   ///< of a node, if it has PCIe alone
  NodeId first_switch = 0;         ///< of that tree in the first node
  std::vector<int> nic_of_chip;    ///< in a unit
  int nics = 0;                    ///< of a unit

  [[nodiscard]] int nic_of(DeviceId device) const {
    return device / unit_size * nics + nic_of_chip[position_of(device % unit_size)];
  }
  void route_in_node(DeviceId from, DeviceId to, std::vector<LinkId>& links) const;
  void route_to_nic(DeviceId chip, std::vector<LinkId>& links) const;
  void route_from_nic(DeviceId chip, std::vector<LinkId>& links) const;

 private:
  [[nodiscard]] bool has_tree() const { return node != nullptr && node->scale_up == NodeSpec::ScaleUp::pcie; }
  [[nodiscard]] LinkId first_of_tree(DeviceId chip) const { return scale_up + chip / unit_size * tree.links(); }
  [[nodiscard]] int tier_of_nic() const { return tree.tier_of_nic(unit_size / nics); }
};

/// The number of NICs (of a node) or hosts (of a pod) of one unit, and the rate of one of them.
[[nodiscard]] int nics_of_unit(const ClusterSpec& spec);
[[nodiscard]] BytesPerSecond nic_rate(const ClusterSpec& spec);
/// The rate of the port by which each of the `tops` top switches of a hall leads to the other halls, before the
/// efficiency of their network: the rate of its links or, if none is given, enough for all NICs of the hall.
[[nodiscard]] BytesPerSecond hall_exit_rate(const ClusterSpec& spec, int tops);

/// Adds chips, and the links between the chips of a unit.
[[nodiscard]] UnitLinks add_units(const ClusterSpec& spec, Cluster::Graph& graph);
/// Adds the NICs or hosts of all units, unit by unit, with the chips' links to them.
[[nodiscard]] std::vector<NodeId> add_nics(const ClusterSpec& spec, UnitLinks& units, Cluster::Graph& graph);
/// Coordinates of a unit on the hall and unit axes that the cluster has.
[[nodiscard]] std::vector<int> unit_place(const ClusterSpec& spec, int unit);

/// The device of every logical position; empty: as they are numbered. The order must be possible.
[[nodiscard]] std::vector<DeviceId> devices_in_order(const ClusterSpec& spec);
/// The reasons why the order is not an order of the cluster's devices.
[[nodiscard]] std::vector<ClusterProblem> why_not_an_order(const ClusterSpec& spec);

}  // namespace lockstep::topologies
