#pragma once
/// A cluster is a directed graph of devices, hosts and switches joined by one-way links, with named
/// physical axes along which devices are numbered. Built by one builder per fabric (torus.hpp).
/// Boost.Graph holds it inside; nothing outside topologies/ sees that.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/units.hpp"
#include "topologies/chip.hpp"

namespace lockstep {

using DeviceId = std::int32_t;  ///< 0 .. devices-1, row-major over the physical axes (last axis fastest)
using NodeId = std::int32_t;    ///< devices come first, then hosts, then switches
using LinkId = std::int32_t;

enum class NodeKind { device, host, network_switch };
enum class LinkKind { ici, pcie, dcn };

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
  int axis = -1;      ///< physical axis of an ici link, else -1
  int direction = 0;  ///< +1 or -1 along the axis
};

/// A direction along which devices are numbered.
struct PhysicalAxis {
  std::string name;  ///< x, y, z
  int size;
  bool wraps;  ///< the last device is linked to the first
  BytesPerSecond link;
  Seconds hop_latency;
};

class Cluster {
 public:
  struct Graph;  // Boost.Graph inside
  Cluster(std::string name, Chip chip, std::vector<PhysicalAxis> axes, std::unique_ptr<Graph> graph);
  Cluster(Cluster&&) noexcept;
  Cluster& operator=(Cluster&&) noexcept;
  ~Cluster();

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const Chip& chip() const { return chip_; }
  [[nodiscard]] const std::vector<PhysicalAxis>& axes() const { return axes_; }
  [[nodiscard]] int devices() const;
  [[nodiscard]] int nodes() const;
  [[nodiscard]] int links() const;
  [[nodiscard]] const Node& node(NodeId id) const;
  [[nodiscard]] const Link& link(LinkId id) const;
  [[nodiscard]] std::string link_name(LinkId id) const;  ///< "chip(0,0,0)>chip(1,0,0)"

  /// Coordinates of a device on the physical axes, and back.
  [[nodiscard]] std::vector<int> coordinates(DeviceId device) const;
  [[nodiscard]] DeviceId device_at(const std::vector<int>& coordinates) const;

  /// The link one hop from `device` along `axis` in `direction` (+1 or -1), or -1 at a line's end.
  [[nodiscard]] LinkId neighbour_link(DeviceId device, int axis, int direction) const;
  /// Shortest route between two devices, dimension by dimension, the shorter way round each ring;
  /// an exact half-way tie goes in the + direction.
  [[nodiscard]] std::vector<LinkId> route(DeviceId from, DeviceId to) const;
  /// Fewest-hops route between any two nodes of the graph (hosts and switches included).
  [[nodiscard]] std::vector<LinkId> route_nodes(NodeId from, NodeId to) const;

  [[nodiscard]] std::string to_string() const;  ///< for --dump=cluster

 private:
  std::string name_;
  Chip chip_;
  std::vector<PhysicalAxis> axes_;
  std::unique_ptr<Graph> graph_;
};

/// A slice of a pod. `pod` overrides the chip's largest shape for hypothetical machines.
struct TorusSpec {
  Chip chip;
  std::vector<int> shape;
  std::vector<int> pod;  ///< empty: the chip's
};

/// Why a slice is impossible: empty when it is fine. Checks axis count, sizes and fit into the pod
/// (axes may be taken in any order).
[[nodiscard]] std::string why_not_a_slice(const TorusSpec& spec);
/// Chips joined by ICI links along each axis; each host block of chips joined to its host by PCIe
/// (1 us); each host joined to one switch of the data-centre network (10 us a link). A block at the
/// edge of the slice is clipped. Chips without a PCIe or DCN rate have no such nodes and links.
[[nodiscard]] Cluster build_torus(const TorusSpec& spec);

}  // namespace lockstep
