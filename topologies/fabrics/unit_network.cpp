#include "topologies/fabrics/unit_network_private.hpp"

#include <algorithm>

namespace lockstep::topologies {
namespace {

std::vector<int> followed_by(std::vector<int> place, int last) {
  place.push_back(last);
  return place;
}

/// Half of the way from chip to chip lies before the switch.
void join_by_switch(const NodeSpec& node, NodeId node_switch, DeviceId first, Cluster::Graph& graph) {
  for (int chip = 0; chip < node.chips; ++chip) {
    add_both_ways(graph, first + chip, node_switch, LinkKind::scale_up, node.scale_up_efficiency * node.scale_up_link,
                  node.scale_up_latency / 2);
  }
}

void join_by_mesh(const NodeSpec& node, DeviceId first, Cluster::Graph& graph) {
  for (int from = 0; from < node.chips; ++from) {
    for (int to = 0; to < node.chips; ++to) {
      if (from == to) continue;
      graph.add_link({first + from, first + to, LinkKind::scale_up, node.scale_up_efficiency * node.scale_up_link,
                      node.scale_up_latency});
    }
  }
}

int unit_count(const ClusterSpec& spec) { return spec.units * spec.halls; }

}  // namespace

void UnitLinks::route_in_node(DeviceId from, DeviceId to, std::vector<LinkId>& links) const {
  const int a = from % unit_size;
  const int b = to % unit_size;
  const int unit = from / unit_size;
  switch (node->scale_up) {
    case NodeSpec::ScaleUp::network_switch:
      links.push_back(scale_up + 2 * from);
      links.push_back(scale_up + 2 * to + 1);
      break;
    case NodeSpec::ScaleUp::full_mesh:
      links.push_back(scale_up + (unit * unit_size + a) * (unit_size - 1) + (b < a ? b : b - 1));
      break;
    case NodeSpec::ScaleUp::pcie: tree.route(a, b, first_of_tree(from), links); break;
  }
}

void UnitLinks::route_to_nic(DeviceId chip, std::vector<LinkId>& links) const {
  if (has_tree()) tree.climb(chip % unit_size, tier_of_nic(), first_of_tree(chip), links);
  links.push_back(pcie + 2 * (has_tree() ? nic_of(chip) : chip));
}

void UnitLinks::route_from_nic(DeviceId chip, std::vector<LinkId>& links) const {
  links.push_back(pcie + 2 * (has_tree() ? nic_of(chip) : chip) + 1);
  if (has_tree()) tree.descend(chip % unit_size, tier_of_nic(), first_of_tree(chip), links);
}

int nics_of_unit(const ClusterSpec& spec) {
  if (const NodeSpec* node = spec.node()) return node->nics;
  const std::vector<int> hosts = hosts_of_chips(*spec.torus());
  return *std::max_element(hosts.begin(), hosts.end()) + 1;
}

BytesPerSecond nic_rate(const ClusterSpec& spec) {
  return spec.node() != nullptr ? spec.node()->nic : *spec.chip().dcn_per_host;
}

BytesPerSecond hall_exit_rate(const ClusterSpec& spec, int tops) {
  if (spec.between_halls.link.value() > 0) return spec.between_halls.link;
  return nic_rate(spec) * (static_cast<double>(spec.units) * nics_of_unit(spec) / tops);
}

std::vector<int> unit_place(const ClusterSpec& spec, int unit) {
  std::vector<int> place;
  if (spec.halls > 1) place.push_back(unit / spec.units);
  if (spec.units > 1) place.push_back(unit % spec.units);
  return place;
}

UnitLinks add_units(const ClusterSpec& spec, Cluster::Graph& graph) {
  UnitLinks links;
  const int units = unit_count(spec);
  links.unit_size = static_cast<int>(spec.devices() / units);
  links.node = spec.node();
  if (const TorusSpec* torus = spec.torus()) {
    for (int unit = 0; unit < units; ++unit) add_torus_chips(*torus, unit_place(spec, unit), graph);
    const int first_axis = static_cast<int>(unit_place(spec, 0).size());
    for (int unit = 0; unit < units; ++unit) add_ici(torus_axes(*torus), first_axis, unit * links.unit_size, graph);
    return links;
  }
  const NodeSpec& node = *spec.node();
  for (int unit = 0; unit < units; ++unit) {
    const std::vector<int> place = unit_place(spec, unit);
    for (int chip = 0; chip < node.chips; ++chip)
      graph.add_node(NodeKind::device, place_name("chip", followed_by(place, chip)));
  }
  if (node.scale_up == NodeSpec::ScaleUp::pcie) links.tree = PcieTree(node);
  links.first_switch = graph.nodes.next_id();
  for (int unit = 0; unit < units; ++unit) {
    const DeviceId first = unit * links.unit_size;
    const std::vector<int> place = unit_place(spec, unit);
    const NodeSpec& own = spec.node_of(unit);
    switch (node.scale_up) {
      case NodeSpec::ScaleUp::network_switch:
        join_by_switch(own, graph.add_node(NodeKind::network_switch, switch_name("switch", place, {})), first, graph);
        break;
      case NodeSpec::ScaleUp::full_mesh: join_by_mesh(own, first, graph); break;
      case NodeSpec::ScaleUp::pcie: links.tree.add(own, place, first, graph); break;
    }
  }
  return links;
}

std::vector<NodeId> add_nics(const ClusterSpec& spec, UnitLinks& units, Cluster::Graph& graph) {
  units.pcie = static_cast<LinkId>(graph.links.size());
  units.nics = nics_of_unit(spec);
  std::vector<NodeId> nics;
  if (const TorusSpec* torus = spec.torus()) {
    units.nic_of_chip = hosts_of_chips(*torus);
    for (int unit = 0; unit < unit_count(spec); ++unit) {
      const std::vector<NodeId> hosts =
          add_hosts(*torus, unit_place(spec, unit), unit * units.unit_size, *spec.chip().pcie, graph);
      nics.insert(nics.end(), hosts.begin(), hosts.end());
    }
    return nics;
  }
  const NodeSpec& node = *spec.node();
  for (int chip = 0; chip < node.chips; ++chip) units.nic_of_chip.push_back(chip / (node.chips / node.nics));
  for (int unit = 0; unit < unit_count(spec); ++unit) {
    for (int nic = 0; nic < node.nics; ++nic)
      nics.push_back(graph.add_node(NodeKind::nic, place_name("nic", followed_by(unit_place(spec, unit), nic))));
  }
  // The fabric's nic_latency counts from the chip.
  if (node.scale_up == NodeSpec::ScaleUp::pcie) {
    const int sharing = node.chips / node.nics;
    const int tier = units.tree.tier_of_nic(sharing);
    for (int nic = 0; std::cmp_less(nic, nics.size()); ++nic) {
      const NodeId above = units.first_switch + nic / node.nics * units.tree.switches() +
                           units.tree.switch_of(nic % node.nics * sharing, tier);
      add_both_ways(graph, above, nics[position_of(nic)], LinkKind::pcie, spec.node_of(nic / node.nics).pcie,
                    Seconds(0));
    }
    return nics;
  }
  for (DeviceId chip = 0; chip < unit_count(spec) * units.unit_size; ++chip) {
    add_both_ways(graph, chip, nics[position_of(units.nic_of(chip))], LinkKind::pcie,
                  spec.node_of(chip / units.unit_size).pcie, Seconds(0));
  }
  return nics;
}

}  // namespace lockstep::topologies
