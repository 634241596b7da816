#pragma once
/// A cluster is a directed graph of devices, hosts and switches joined by one-way links, with named physical axes along
/// which devices are numbered. Built from a ClusterSpec (topologies/torus, topologies/fabrics). Boost.Graph searches
/// it; nothing outside topologies/ sees that.
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/indexed.hpp"
#include "sim/core/units.hpp"
#include "topologies/chips/chip.hpp"
#include "topologies/cluster/ids.hpp"

namespace lockstep::topologies {

enum class NodeKind { device, host, network_switch, nic };
/// ici: between chips of a torus; scale_up: NVLink, xGMI; network: NICs and switches of a fabric; dcn: hosts of TPUs.
enum class LinkKind { ici, pcie, dcn, scale_up, network };

struct Node {
  NodeKind kind;
  std::string name;  ///< "chip(3,0,7)", "host(1,0,7)"
};

struct Link {
  NodeId from;
  NodeId to;
  LinkKind kind;
  BytesPerSecond bandwidth;  ///< one way
  Seconds latency;
  AxisId axis = -1;   ///< of an ici link, else -1
  int direction = 0;  ///< +1 or -1 along the axis
};

/// A direction along which devices are numbered.
struct PhysicalAxis {
  std::string name;  ///< x, y, z of a torus; gpu, node, pod, hall
  int size;
  bool wraps;  ///< the last device is linked to the first
  BytesPerSecond link;
  Seconds hop_latency;
  enum class Kind { torus, scale_up, scale_out };
  Kind kind = Kind::torus;  ///< neighbours linked; or all positions behind switches, inside a unit or between units
  /// Of a twisted torus: by how many positions of each axis of the unit the link from the last device back to the first
  /// leads on; empty: it leads to the first.
  std::vector<int> twist = {};
};

using PhysicalAxes = Indexed<AxisId, PhysicalAxis>;

/// Whether each link is missing; empty: no link is missing.
using MissingLinks = Indexed<LinkId, bool>;
/// The share of each link's rate that the traffic of others takes; empty: there is none.
using BackgroundShares = Indexed<LinkId, double>;

/// Thrown if missing links leave no route between two devices.
class NoRoute : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Routes between devices that are not neighbours on a torus; each builder of a network has its own.
class Routing {
 public:
  virtual ~Routing() = default;
  /// The links from one device to another, in order; none if every route has a missing link. Never called for devices
  /// of one torus. Of the flows that a connection is split into, `flow` is the number of one.
  [[nodiscard]] virtual std::vector<LinkId> route(DeviceId from, DeviceId to, int flow,
                                                  const MissingLinks& missing) const = 0;
  /// The NIC or host by which a device leaves its unit. Never called where there is a single unit.
  [[nodiscard]] virtual NodeId nic_of(DeviceId device) const = 0;
};

struct NodeSpec;
struct FabricSpec;

class Cluster {
 public:
  struct Graph;
  Cluster(std::string name, Chip chip, PhysicalAxes axes, std::unique_ptr<Graph> graph);
  /// With a network between units (fabric.hpp). `order`: device of each logical position; empty: as they are numbered.
  Cluster(std::string name, Chip chip, PhysicalAxes axes, std::unique_ptr<Graph> graph,
          std::unique_ptr<const Routing> routing, std::vector<DeviceId> order, std::unique_ptr<const NodeSpec> node,
          std::unique_ptr<const FabricSpec> fabric);
  Cluster(Cluster&&) noexcept;
  Cluster& operator=(Cluster&&) noexcept;
  ~Cluster();

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const Chip& chip() const { return chips_.front(); }  ///< of the first unit
  /// The kinds of chips, no two alike, in the order of units; several only where nodes are of several kinds.
  [[nodiscard]] const Indexed<ChipKindId, Chip>& chips() const { return chips_; }
  [[nodiscard]] ChipKindId chip_kind(DeviceId device) const {
    return kind_of_unit_.empty() ? 0 : kind_of_unit_[position_of(unit_of(device))];
  }
  [[nodiscard]] const PhysicalAxes& axes() const { return axes_; }
  [[nodiscard]] int devices() const;
  [[nodiscard]] int nodes() const;
  [[nodiscard]] int links() const;
  [[nodiscard]] const Node& node(NodeId id) const;
  [[nodiscard]] const Link& link(LinkId id) const;
  [[nodiscard]] std::string link_name(LinkId id) const;  ///< "chip(0,0,0)>chip(1,0,0)"

  /// Coordinates of a device on the physical axes, and back.
  [[nodiscard]] std::vector<int> coordinates(DeviceId device) const;
  [[nodiscard]] DeviceId device_at(const std::vector<int>& coordinates) const;

  /// Devices of one unit (a pod's slice, a node); units follow one another in device order.
  [[nodiscard]] int unit_size() const;
  [[nodiscard]] int unit_of(DeviceId device) const { return device / unit_size(); }
  /// Whether devices of a unit are joined by a torus.
  [[nodiscard]] bool unit_is_torus() const;
  /// The device on which the mesh puts a logical position; RankOrder says which.
  [[nodiscard]] DeviceId device_at_position(DeviceId position) const;
  /// The specification of the nodes, if units are nodes; null for a torus.
  [[nodiscard]] const NodeSpec* node_spec() const { return node_.get(); }
  /// The network between units; null for a single unit.
  [[nodiscard]] const FabricSpec* fabric_spec() const { return fabric_.get(); }

  /// The link one hop from `device` along `axis` in `direction` (+1 or -1), or -1 at a line's end.
  [[nodiscard]] LinkId neighbour_link(DeviceId device, AxisId axis, int direction) const;
  /// Shortest route between two devices of a torus, dimension by dimension, the shorter way round each ring;
  /// an exact half-way tie goes in the + direction. Between other devices, the network's; throws NoRoute if it has
  /// none.
  [[nodiscard]] std::vector<LinkId> route(DeviceId from, DeviceId to) const;
  /// The flows, equal parts of its bytes, that a connection between devices of nodes is split into; each has a route of
  /// its own, of which `route` is the first.
  [[nodiscard]] int flows_of_connection() const;
  /// The links of all these routes, one route after the other.
  [[nodiscard]] std::vector<LinkId> routes(DeviceId from, DeviceId to) const;
  /// The NIC or host by which a device leaves its unit, of several units.
  [[nodiscard]] NodeId nic_of(DeviceId device) const { return routing_->nic_of(device); }
  /// Fewest-hops route between any two nodes of the graph (hosts and switches included).
  [[nodiscard]] std::vector<LinkId> route_nodes(NodeId from, NodeId to) const;

  /// Units have chips of several kinds from now on.
  void mix(Indexed<ChipKindId, Chip> chips, std::vector<ChipKindId> kind_of_unit) {
    chips_ = std::move(chips);
    kind_of_unit_ = std::move(kind_of_unit);
  }
  /// From now on routes through networks avoid these links where the network has another path for two devices.
  void avoid(MissingLinks missing) { missing_ = std::move(missing); }

  /// From now on others take these shares, each below 1, of the links' rates; `link` says what they leave.
  void share_with(BackgroundShares others);
  [[nodiscard]] bool is_shared() const { return !background_.empty(); }
  /// The share of a link's rate that others take.
  [[nodiscard]] double background(LinkId link) const { return background_.empty() ? 0 : background_[link]; }

  [[nodiscard]] std::string to_string() const;  ///< for --dump=cluster

 private:
  [[nodiscard]] std::vector<LinkId> route_of_flow(DeviceId from, DeviceId to, int flow) const;

  std::string name_;
  Indexed<ChipKindId, Chip> chips_;
  std::vector<ChipKindId> kind_of_unit_;  ///< empty: one kind
  PhysicalAxes axes_;
  std::unique_ptr<Graph> graph_;
  std::unique_ptr<const Routing> routing_;
  Indexed<DeviceId, DeviceId> order_;  ///< by logical position
  std::unique_ptr<const NodeSpec> node_;
  std::unique_ptr<const FabricSpec> fabric_;
  MissingLinks missing_;
  BackgroundShares background_;
};

}  // namespace lockstep::topologies
