#pragma once
/// Functions that add the parts of a torus, for clusters with one torus or many. `prefix` are the coordinates of the
/// unit on the outer axes; they lead every name.
#include <string>
#include <string_view>
#include <vector>

#include "topologies/cluster/cluster_graph_private.hpp"
#include "topologies/torus/torus.hpp"

namespace lockstep::topologies {

[[nodiscard]] std::string place_name(std::string_view what, const std::vector<int>& coordinates);
/// Joins two nodes by a link in each direction; returns the id of the first link, and the second has the next id.
LinkId add_both_ways(Cluster::Graph& graph, NodeId a, NodeId b, LinkKind kind, BytesPerSecond rate, Seconds latency);

[[nodiscard]] std::vector<PhysicalAxis> torus_axes(const TorusSpec& spec);
void add_torus_chips(const TorusSpec& spec, const std::vector<int>& prefix, Cluster::Graph& graph);
/// ICI links of one torus whose chips are numbered from `first`; its axes are the cluster's from `first_axis` on.
void add_ici(const std::vector<PhysicalAxis>& torus, int first_axis, DeviceId first, Cluster::Graph& graph);
/// The host of every chip of a slice, as a number.
[[nodiscard]] std::vector<int> hosts_of_chips(const TorusSpec& spec);
/// The host blocks that cover a slice, the last ones clipped; PCIe links of its chips to them, in order of the chips.
std::vector<NodeId> add_hosts(const TorusSpec& spec, const std::vector<int>& prefix, DeviceId first,
                              BytesPerSecond pcie, Cluster::Graph& graph);

}  // namespace lockstep::topologies
