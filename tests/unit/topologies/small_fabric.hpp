#pragma once
/// Nodes, fabrics and clusters of them for tests, with round numbers.
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/topologies/small_torus.hpp"
#include "topologies/fabrics/fabric.hpp"

namespace lockstep::test {

/// Four chips behind a switch of 400 GB/s, two NICs of 50 GB/s, PCIe of 60 GB/s; 2 us from chip to chip.
inline topologies::NodeSpec node(int chips = 4, int nics = 2) {
  topologies::NodeSpec node;
  node.name = "test-node";
  node.chip = chip(never);
  node.chips = chips;
  node.nics = nics;
  node.scale_up_link = BytesPerSecond(400e9);
  node.scale_up_latency = Seconds(2e-6);
  node.nic = BytesPerSecond(50e9);
  node.pcie = BytesPerSecond(60e9);
  return node;
}

/// NICs 3 us from the first switch, each further switch 1 us; links as the NICs.
inline topologies::FabricSpec fabric(topologies::FabricKind kind, int radix = 64,
                                     std::vector<double> oversubscription = {},
                                     topologies::FabricRouting routing = topologies::FabricRouting::spray) {
  topologies::FabricSpec fabric;
  fabric.name = "test-fabric";
  fabric.kind = kind;
  fabric.routing = routing;
  fabric.radix = radix;
  fabric.oversubscription = std::move(oversubscription);
  fabric.nic_latency = Seconds(3e-6);
  fabric.switch_latency = Seconds(1e-6);
  return fabric;
}

/// Groups of 3 routers with 2 NICs and 2 global links each.
inline topologies::FabricSpec dragonfly(topologies::FabricRouting routing = topologies::FabricRouting::spray) {
  return fabric(topologies::Dragonfly{.routers_per_group = 3, .nics_per_router = 2, .global_links_per_router = 2}, 8,
                {}, routing);
}

inline topologies::ClusterSpec nodes(int units, topologies::FabricSpec fabric,
                                     topologies::NodeSpec node = test::node()) {
  topologies::ClusterSpec spec;
  spec.unit = std::move(node);
  spec.units = units;
  spec.fabric = std::move(fabric);
  return spec;
}

inline topologies::ClusterSpec pods(int units, topologies::FabricSpec fabric, std::vector<int> shape,
                                    topologies::WrapRule wrap = never) {
  topologies::ClusterSpec spec;
  spec.unit = topologies::TorusSpec{chip(wrap), std::move(shape), {}};
  spec.units = units;
  spec.fabric = std::move(fabric);
  return spec;
}

inline std::vector<std::string> names(const topologies::Cluster& cluster,
                                      const std::vector<topologies::LinkId>& route) {
  std::vector<std::string> names;
  for (const topologies::LinkId link : route) names.push_back(cluster.link_name(link));
  return names;
}

inline Seconds latency(const topologies::Cluster& cluster, const std::vector<topologies::LinkId>& route) {
  Seconds sum(0);
  for (const topologies::LinkId link : route) sum += cluster.link(link).latency;
  return sum;
}

/// The link of that name; throws if there is not exactly one.
inline const topologies::Link& link_named(const topologies::Cluster& cluster, const std::string& name) {
  const topologies::Link* found = nullptr;
  for (topologies::LinkId id = 0; id < cluster.links(); ++id) {
    if (cluster.link_name(id) != name) continue;
    if (found != nullptr) throw std::runtime_error("two links " + name);
    found = &cluster.link(id);
  }
  if (found == nullptr) throw std::runtime_error("no link " + name);
  return *found;
}

/// How many switches have a name that starts so.
inline int switches(const topologies::Cluster& cluster, const std::string& start) {
  int count = 0;
  for (topologies::NodeId id = 0; id < cluster.nodes(); ++id) {
    count += cluster.node(id).kind == topologies::NodeKind::network_switch && cluster.node(id).name.starts_with(start)
                 ? 1
                 : 0;
  }
  return count;
}

}  // namespace lockstep::test
