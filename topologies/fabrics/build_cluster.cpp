#include <algorithm>
#include <utility>

#include "sim/core/errors.hpp"
#include "topologies/fabrics/unit_network_private.hpp"
#include "topologies/torus/torus.hpp"

namespace lockstep::topologies {
namespace {

/// Routes inside a node, or to the NIC, over the hall's network or the network between halls, and to the other chip.
class UnitsRouting : public Routing {
 public:
  UnitsRouting(UnitLinks units, int ends_per_hall) : units_(std::move(units)), ends_per_hall_(ends_per_hall) {}

  [[nodiscard]] std::vector<LinkId> route(DeviceId from, DeviceId to, int flow,
                                          const MissingLinks& missing) const override {
    std::vector<LinkId> links;
    links.reserve(12);
    if (from / units_.unit_size == to / units_.unit_size) {
      units_.route_in_node(from, to, links);
    } else {
      if (!over_nics(from, to, flow, missing, links)) return {};
    }
    if (!all_there(links, 0, missing)) return {};
    return links;
  }

  [[nodiscard]] NodeId nic_of(DeviceId device) const override { return nics[position_of(units_.nic_of(device))]; }

  [[nodiscard]] bool rails_are_apart() const { return halls.front()->rail_of(units_.nics - 1) > 0; }

  std::vector<NodeId> nics;
  std::vector<std::unique_ptr<const SwitchNetwork>> halls;
  std::unique_ptr<const SwitchNetwork> between_halls;

 private:
  /// Rails with networks of their own leave two ways to another rail: inside the first node to the chip on the other's
  /// rail, as NCCL's PXN does, or if a link of this is missing, inside the last node. Nodes that do not have each
  /// other's rail change in both, to and from a rail that they share.
  bool over_nics(DeviceId from, DeviceId to, int flow, const MissingLinks& missing, std::vector<LinkId>& links) const {
    if (rail_of(from) == rail_of(to) || hall_of(from) != hall_of(to))
      return from_nic_to_nic(from, to, flow, missing, links);
    return take_way(3, 0, missing, links, [&](std::size_t way) {
      const auto [out, in] = ends_on_one_rail(way, from, to);
      if (out < 0 || in < 0) return false;
      if (out != from) units_.route_in_node(from, out, links);
      if (!from_nic_to_nic(out, in, flow, missing, links)) return false;
      if (in != to) units_.route_in_node(in, to, links);
      return true;
    });
  }
  /// The chips by which data leave and enter; below 0 where the nodes have no such way.
  [[nodiscard]] std::pair<DeviceId, DeviceId> ends_on_one_rail(std::size_t way, DeviceId from, DeviceId to) const {
    if (way == 0) return {beside(from, to, rail_of(to)), to};
    if (way == 1) return {from, beside(to, from, rail_of(from))};
    if (beside(from, to, rail_of(to)) < 0 && beside(to, from, rail_of(from)) < 0) {
      for (int nic = 0; nic < units_.nics; ++nic) {
        const DeviceId out = from / units_.unit_size * units_.unit_size + nic * sharing();
        if (const DeviceId in = beside(to, out, rail_of(out)); in >= 0) return {out, in};
      }
    }
    return {-1, -1};
  }
  bool from_nic_to_nic(DeviceId from, DeviceId to, int flow, const MissingLinks& missing,
                       std::vector<LinkId>& links) const {
    units_.route_to_nic(from, links);
    if (!between_nics(units_.nic_of(from), units_.nic_of(to), flow, missing, links)) return false;
    units_.route_from_nic(to, links);
    return true;
  }
  [[nodiscard]] int hall_of(DeviceId device) const { return units_.nic_of(device) / ends_per_hall_; }
  [[nodiscard]] int rail_of(DeviceId device) const {
    return halls.front()->rail_of(units_.nic_of(device) % ends_per_hall_);
  }
  [[nodiscard]] int sharing() const { return units_.unit_size / units_.nics; }
  /// The chip in the unit of one that has a NIC on a rail: the NIC number of another chip if that is on it, else the
  /// next that is; -1: none is.
  [[nodiscard]] DeviceId beside(DeviceId chip, DeviceId other, int rail) const {
    const DeviceId unit = chip / units_.unit_size * units_.unit_size;
    const int wanted = other % units_.unit_size / sharing();
    for (int next = 0; next < units_.nics; ++next) {
      const DeviceId first = unit + (wanted + next) % units_.nics * sharing();
      if (rail_of(first) == rail) return first + chip % sharing();
    }
    return -1;
  }

  bool between_nics(int from, int to, int flow, const MissingLinks& missing, std::vector<LinkId>& links) const {
    const int here = from / ends_per_hall_;
    const int there = to / ends_per_hall_;
    const int start = from % ends_per_hall_;
    const int end = to % ends_per_hall_;
    const SwitchNetwork& hall = *halls[position_of(here)];
    if (here == there) return hall.route(start, end, flow, missing, links);

    // Leaves and enters by the top switch of the same number, as far as ends can choose, and by its port of the same
    // number. If one top switch stands for all over which packets are sprayed, the network between halls chooses the
    // port.
    const std::size_t tops = hall.tops().size();
    const std::size_t ports = static_cast<std::size_t>(between_halls->ends()) / (tops * halls.size());
    const std::uint64_t choice =
        (ports > 1 ? *between_halls : hall).choice(nics[position_of(from)], nics[position_of(to)], flow);
    return take_way(tops * ports, choice, missing, links, [&](std::size_t way) {
      const int exit = hall.top_of(start, way % tops);
      const int entry = hall.top_of(end, way % tops);
      const auto port = [&](int of_hall, int top) {
        return static_cast<int>((static_cast<std::size_t>(of_hall) * tops + static_cast<std::size_t>(top)) * ports +
                                way / tops);
      };
      hall.climb(start, exit, links);
      if (!between_halls->route(port(here, exit), port(there, entry), flow, missing, links)) return false;
      halls[position_of(there)]->descend(entry, end, links);
      return true;
    });
  }

  UnitLinks units_;
  int ends_per_hall_;
};

/// Every hall's own network over its NICs, then one over the halls' top switches.
void add_networks(const ClusterSpec& spec, int per_unit, Cluster::Graph& graph, UnitsRouting& routing) {
  const BytesPerSecond rate = nic_rate(spec);
  const LinkKind kind = spec.node() != nullptr ? LinkKind::network : LinkKind::dcn;
  const UnitKind unit = spec.node() != nullptr ? UnitKind::node : UnitKind::pod;
  const std::ptrdiff_t ends_per_hall = std::ptrdiff_t{spec.units} * per_unit;
  std::vector<NodeId> tops;
  for (int hall = 0; hall < spec.halls; ++hall) {
    const auto first = routing.nics.begin() + hall * ends_per_hall;
    const NetworkEnds ends{{first, first + ends_per_hall}, per_unit, rate, kind, unit};
    const std::vector<int> prefix = spec.halls > 1 ? std::vector{hall} : std::vector<int>{};
    routing.halls.push_back(build_network(spec.fabric, ends, prefix, graph));
    const auto& of_hall = routing.halls.back()->tops();
    tops.insert(tops.end(), of_hall.begin(), of_hall.end());
  }
  if (spec.halls == 1) return;
  const int ports = routing.halls.front()->switches_of_a_top();
  const int per_hall = static_cast<int>(tops.size()) / spec.halls * ports;
  const BytesPerSecond exit = hall_exit_rate(spec, per_hall);
  routing.between_halls = build_network(
      spec.between_halls, {std::move(tops), per_hall, exit, LinkKind::network, UnitKind::hall, ports}, {}, graph);
}

/// The network is built for the fastest NICs; the others' cables are as fast as they are.
void slow_down_nics(const ClusterSpec& spec, const std::vector<NodeId>& nics, Cluster::Graph& graph) {
  if (spec.groups.empty()) return;
  Indexed<NodeId, BytesPerSecond> most(graph.nodes.size(), BytesPerSecond(0));
  for (std::size_t nic = 0; nic < nics.size(); ++nic) {
    const int unit = static_cast<int>(nic) / spec.node()->nics;
    most[nics[nic]] = spec.fabric.efficiency * spec.node_of(unit).nic;
  }
  for (Link& link : graph.links) {
    if (link.kind != LinkKind::network) continue;
    for (const NodeId end : {link.from, link.to}) {
      if (most[end].value() > 0) link.bandwidth = std::min(link.bandwidth, most[end]);
    }
  }
}

std::vector<PhysicalAxis> axes_of(const ClusterSpec& spec) {
  using Kind = PhysicalAxis::Kind;
  std::vector<PhysicalAxis> axes;
  const FabricSpec& fabric = spec.fabric;
  if (spec.halls > 1) {
    const FabricSpec& outer = spec.between_halls;
    const Seconds latency = 2 * (fabric.nic_latency + outer.nic_latency);
    axes.push_back({"hall", spec.halls, false, fabric.efficiency * nic_rate(spec), latency, Kind::scale_out});
  }
  if (spec.units > 1) {
    const char* name = spec.node() != nullptr ? "node" : "pod";
    axes.push_back(
        {name, spec.units, false, fabric.efficiency * nic_rate(spec), 2 * fabric.nic_latency, Kind::scale_out});
  }
  if (const NodeSpec* node = spec.node()) {
    axes.push_back({"gpu", node->chips, false, node->scale_up_efficiency * node->scale_up_link, node->scale_up_latency,
                    Kind::scale_up});
  } else {
    for (PhysicalAxis& axis : torus_axes(*spec.torus())) axes.push_back(std::move(axis));
  }
  return axes;
}

std::string name_of(const ClusterSpec& spec, bool rails_apart) {
  const TorusSpec* torus = spec.torus();
  std::string name = torus != nullptr ? torus->chip.name + ' ' + slice_text(*torus) : spec.node()->name;
  if (!spec.groups.empty()) {
    name.clear();
    for (const NodeGroup& group : spec.groups)
      name += (name.empty() ? "" : " and ") + std::to_string(group.units) + " x " + group.node.name;
  } else if (spec.units > 1)
    name = std::to_string(spec.units) + " x " + name;
  if (spec.units * spec.halls > 1) name += " on " + spec.fabric.name;
  if (rails_apart) name += ", a tree for each rail";
  if (spec.halls > 1)
    name = std::to_string(spec.halls) + " halls of " + name + ", joined by " + spec.between_halls.name;
  return name;
}

}  // namespace

Cluster build_cluster(const ClusterSpec& spec) {
  if (const auto problems = why_not_a_cluster(spec); !problems.empty())
    throw InternalError("not a cluster: " + problems.front().what);
  const bool alone = spec.units * spec.halls == 1;
  if (alone && spec.torus() != nullptr) return build_torus(*spec.torus());

  std::vector<PhysicalAxis> axes = axes_of(spec);
  auto graph = std::make_unique<Cluster::Graph>(static_cast<int>(spec.devices()), static_cast<int>(axes.size()));
  UnitLinks units = add_units(spec, *graph);
  std::unique_ptr<const NodeSpec> node =
      spec.node() != nullptr ? std::make_unique<const NodeSpec>(*spec.node()) : nullptr;
  units.node = node.get();
  std::unique_ptr<const FabricSpec> fabric;
  std::unique_ptr<UnitsRouting> routing;
  if (alone) {
    routing = std::make_unique<UnitsRouting>(std::move(units), 0);
  } else {
    std::vector<NodeId> nics = add_nics(spec, units, *graph);
    const int per_unit = units.nics;
    routing = std::make_unique<UnitsRouting>(std::move(units), spec.units * per_unit);
    routing->nics = std::move(nics);
    add_networks(spec, per_unit, *graph, *routing);
    slow_down_nics(spec, routing->nics, *graph);
    fabric = std::make_unique<const FabricSpec>(spec.fabric);
  }
  std::string name = name_of(spec, !alone && routing->rails_are_apart());
  Cluster cluster(std::move(name), spec.chip(), std::move(axes), std::move(graph), std::move(routing),
                  devices_in_order(spec), std::move(node), std::move(fabric));
  if (!spec.groups.empty()) {
    auto chips = spec.chips();
    std::vector<ChipKindId> kinds;
    for (int unit = 0; unit < spec.units; ++unit)
      kinds.push_back(
          static_cast<ChipKindId>(std::find(chips.begin(), chips.end(), spec.node_of(unit).chip) - chips.begin()));
    cluster.mix(std::move(chips), std::move(kinds));
  }
  return cluster;
}

}  // namespace lockstep::topologies
