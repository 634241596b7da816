#include "topologies/cluster/cluster.hpp"

#include <array>
#include <utility>

#include "sim/core/quantity_text.hpp"
#include "topologies/cluster/cluster_graph_private.hpp"
#include "topologies/cluster/cluster_spec.hpp"
#include "topologies/cluster/twisted_torus.hpp"

namespace lockstep::topologies {
namespace {

/// Of a network from a file, the adapter of a device as the file names it.
std::string end_name(const Cluster& cluster, DeviceId device) {
  const auto* fabric = cluster.fabric_spec();
  const bool of_graph = fabric != nullptr && std::holds_alternative<GivenNetwork>(fabric->kind);
  return cluster.node(of_graph ? cluster.nic_of(device) : device).name;
}

}  // namespace

Cluster::Cluster(std::string name, Chip chip, PhysicalAxes axes, std::unique_ptr<Graph> graph)
    : name_(std::move(name)), chips_{std::move(chip)}, axes_(std::move(axes)), graph_(std::move(graph)) {}
Cluster::Cluster(std::string name, Chip chip, PhysicalAxes axes, std::unique_ptr<Graph> graph,
                 std::unique_ptr<const Routing> routing, std::vector<DeviceId> order,
                 std::unique_ptr<const NodeSpec> node, std::unique_ptr<const FabricSpec> fabric)
    : name_(std::move(name)),
      chips_{std::move(chip)},
      axes_(std::move(axes)),
      graph_(std::move(graph)),
      routing_(std::move(routing)),
      order_(std::move(order)),
      node_(std::move(node)),
      fabric_(std::move(fabric)) {}
Cluster::Cluster(Cluster&&) noexcept = default;
Cluster& Cluster::operator=(Cluster&&) noexcept = default;
Cluster::~Cluster() = default;

int Cluster::devices() const {
  int count = 1;
  for (const PhysicalAxis& axis : axes_) count *= axis.size;
  return count;
}

int Cluster::nodes() const { return graph_->nodes.count(); }
int Cluster::links() const { return graph_->links.count(); }
const Node& Cluster::node(NodeId id) const { return graph_->nodes[id]; }
const Link& Cluster::link(LinkId id) const { return graph_->links[id]; }

std::string Cluster::link_name(LinkId id) const { return node(link(id).from).name + '>' + node(link(id).to).name; }

std::vector<int> Cluster::coordinates(DeviceId device) const {
  std::vector<int> coordinates(axes_.size());
  for (std::size_t axis = axes_.size(); axis-- > 0; device /= axes_[axis].size) {
    coordinates[axis] = device % axes_[axis].size;
  }
  return coordinates;
}

DeviceId Cluster::device_at(const std::vector<int>& coordinates) const {
  DeviceId device = 0;
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) device = device * axes_[axis].size + coordinates[axis];
  return device;
}

int Cluster::unit_size() const {
  int size = 1;
  for (const PhysicalAxis& axis : axes_) {
    if (axis.kind != PhysicalAxis::Kind::scale_out) size *= axis.size;
  }
  return size;
}

bool Cluster::unit_is_torus() const { return axes_.back().kind == PhysicalAxis::Kind::torus; }

DeviceId Cluster::device_at_position(DeviceId position) const { return order_.empty() ? position : order_[position]; }

LinkId Cluster::neighbour_link(DeviceId device, AxisId axis, int direction) const {
  return graph_->neighbours(device, axis).towards(direction);
}

void Cluster::share_with(BackgroundShares others) {
  background_ = std::move(others);
  for (const LinkId link : background_.ids()) {
    BytesPerSecond& rate = graph_->links[link].bandwidth;
    rate = rate * (1 - background_[link]);
  }
}

int Cluster::flows_of_connection() const {
  return node_ == nullptr || fabric_ == nullptr ? 1 : fabric_->flows_of_connection();
}

std::vector<LinkId> Cluster::routes(DeviceId from, DeviceId to) const {
  std::vector<LinkId> links = route(from, to);
  for (int flow = 1; flow < flows_of_connection(); ++flow) {
    const std::vector<LinkId> more = route_of_flow(from, to, flow);
    links.insert(links.end(), more.begin(), more.end());
  }
  return links;
}

std::vector<LinkId> Cluster::route(DeviceId from, DeviceId to) const { return route_of_flow(from, to, 0); }

std::vector<LinkId> Cluster::route_of_flow(DeviceId from, DeviceId to, int flow) const {
  if (from == to) return {};
  if (!unit_is_torus() || unit_of(from) != unit_of(to)) {
    std::vector<LinkId> way = routing_->route(from, to, flow, missing_);
    if (way.empty())
      throw NoRoute("missing links leave no route from " + end_name(*this, from) + " to " + end_name(*this, to));
    return way;
  }
  const std::vector<int> hops = shortest_hops(*this, from, to);
  const AxisId first = first_of_torus(*this);
  std::vector<LinkId> route;
  DeviceId device = from;
  for (AxisId axis = first; axis < axes_.count(); ++axis) {
    int steps = hops[position_of(axis - first)];
    const int direction = steps >= 0 ? 1 : -1;
    for (; steps != 0; steps -= direction) {
      route.push_back(neighbour_link(device, axis, direction));
      device = link(route.back()).to;
    }
  }
  return route;
}

std::string Cluster::to_string() const {
  std::string text = "cluster " + name_ + ": " + std::to_string(devices()) + " chips\n";
  for (const PhysicalAxis& axis : axes_) {
    const bool torus = axis.kind == PhysicalAxis::Kind::torus;
    const std::string shape = axis.kind == PhysicalAxis::Kind::scale_up    ? ", scale-up"
                              : axis.kind == PhysicalAxis::Kind::scale_out ? ", scale-out"
                              : !axis.twist.empty()                        ? ", a twisted ring"
                              : axis.wraps                                 ? ", a ring"
                                                                           : ", a line";
    text += "  axis " + axis.name + ' ' + std::to_string(axis.size) + shape + ", " + format(axis.link) +
            (torus ? " one way, hop " : " one way, latency ") + format(axis.hop_latency) + '\n';
  }
  IndexedArray<NodeKind, int, 4> nodes_of{};
  for (NodeId id = 0; id < nodes(); ++id) ++nodes_of[node(id).kind];
  IndexedArray<LinkKind, int, 5> links_of{};
  for (const Link& link : graph_->links) ++links_of[link.kind];
  text += "  nodes: chips " + std::to_string(nodes_of[NodeKind::device]) + ", hosts " +
          std::to_string(nodes_of[NodeKind::host]) + ", switches " +
          std::to_string(nodes_of[NodeKind::network_switch]) +
          (nodes_of[NodeKind::nic] > 0 ? ", NICs " + std::to_string(nodes_of[NodeKind::nic]) : "") + '\n';
  text += "  one-way links: ICI " + std::to_string(links_of[LinkKind::ici]) + ", PCIe " +
          std::to_string(links_of[LinkKind::pcie]) + ", DCN " + std::to_string(links_of[LinkKind::dcn]);
  if (links_of[LinkKind::scale_up] + links_of[LinkKind::network] > 0)
    text += ", scale-up " + std::to_string(links_of[LinkKind::scale_up]) + ", network " +
            std::to_string(links_of[LinkKind::network]);
  text += '\n';
  for (const Chip& chip : chips_) text += lockstep::topologies::to_string(chip);
  return text;
}

}  // namespace lockstep::topologies
