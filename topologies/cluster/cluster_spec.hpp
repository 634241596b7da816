#pragma once
/// The description of a cluster, as values: pods of a torus, servers and racks, the networks that join them, and
/// clusters composed of such units (pods over a data-centre network, nodes of GPUs on a fat tree, halls of those).
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/core/units.hpp"
#include "topologies/chips/chip.hpp"
#include "topologies/cluster/cluster.hpp"
#include "topologies/graph/network_graph.hpp"

namespace lockstep::topologies {

/// A slice of a pod. `pod` overrides the chip's largest shape for hypothetical machines.
struct TorusSpec {
  Chip chip;
  std::vector<int> shape;
  std::vector<int> pod;  ///< empty: the chip's
  bool twisted = false;  ///< links that close short axes also lead on by half of each long axis
  friend bool operator==(const TorusSpec&, const TorusSpec&) = default;
};

/// How a communication library moves a message over a link: the time to start, the time per step, and the share of the
/// bandwidth. NCCL's LL, LL128 and Simple are three such protocols; the fastest for a size is taken.
struct Protocol {
  std::string name;
  double efficiency = 1;   ///< of the links' achievable bandwidth
  Seconds launch{0};       ///< once per collective
  Seconds local_step{0};   ///< per step of an algorithm inside a unit, on top of the links' latency
  Seconds remote_step{0};  ///< per step between units
  Seconds remote_launch{
      0};  ///< once per pass of the data between units, of which an all-reduce has two: proxies, filling of buffers
  friend bool operator==(const Protocol&, const Protocol&) = default;
};

/// A link that neighbouring chips of a node share on the way to its other chips: of a PCIe switch to its CPU, of a CPU
/// to the other.
struct SharedUplink {
  int chips = 0;           ///< that share it; those of a lower uplink divide those of a higher
  BytesPerSecond link{0};  ///< one way
  friend bool operator==(const SharedUplink&, const SharedUplink&) = default;
};

/// A server or rack: chips joined by a scale-up network or by PCIe alone, and their NICs.
struct NodeSpec {
  enum class ScaleUp { network_switch, full_mesh, pcie };
  std::string name;  ///< "dgx-h100"
  Chip chip;
  int chips = 8;
  ScaleUp scale_up = ScaleUp::network_switch;
  BytesPerSecond scale_up_link{0};      ///< one way: a chip's whole port into the switch, or one link of the mesh
  std::vector<SharedUplink> uplinks;    ///< pcie, from the lowest: above those ports; their efficiency is the same
  double scale_up_efficiency = 1;       ///< share of that which large messages reach
  Seconds scale_up_latency{0};          ///< from chip to chip
  bool in_network_reduction = false;    ///< the switch adds up (NVLink SHARP)
  double in_network_efficiency = 1;     ///< of the achievable bandwidth
  int nics = 8;                         ///< chips / nics chips share one
  BytesPerSecond nic{0};                ///< one way, each
  BytesPerSecond pcie{0};               ///< one way, a chip and its NIC
  std::vector<Protocol> protocols;      ///< of its communication library; empty: links as they are
  std::vector<std::string> algorithms;  ///< of this library, by name (collectives/algorithms.hpp); empty: all
  std::string fabric;                   ///< the usual network between such nodes, by its catalog name
  std::vector<std::string> sources;
  friend bool operator==(const NodeSpec&, const NodeSpec&) = default;
};

[[nodiscard]] std::string_view name(NodeSpec::ScaleUp kind);  ///< as files write it: switch, mesh, pcie
/// A part of the node with fewer chips: as many NICs for each of them, and of its uplinks those that join fewer.
[[nodiscard]] NodeSpec part_of(NodeSpec node, int chips);

enum class FabricRouting { spray, ecmp };

/// A kind's row in the table of kinds: its name, keys, limits and network (topologies/fabrics/fabric_row_private.hpp).
template <class Kind>
class FabricRow;

/// One switch without limits.
struct Crossbar {
  [[nodiscard]] static const FabricRow<Crossbar>& row();
  friend bool operator==(const Crossbar&, const Crossbar&) = default;
};

/// NICs in order on leaves, leaves on spines, cores above when the spines' ports do not reach all leaves, and so on.
struct FatTree {
  [[nodiscard]] static const FabricRow<FatTree>& row();
  friend bool operator==(const FatTree&, const FatTree&) = default;
};

/// A fat tree in which NIC i of every node of a scalable unit is on the same leaf.
struct RailOptimised {
  /// joined: the spines join all rails. separate: each rail has a tree of its own, and chips pass data to another rail
  /// through the chip of their node that is on it. as_needed: separate where no joined tree reaches all nodes.
  enum class Rails { as_needed, joined, separate };
  int nodes_per_scalable_unit = 0;  ///< 0: as many as a leaf has ports for
  Rails rails = Rails::as_needed;
  [[nodiscard]] static const FabricRow<RailOptimised>& row();
  friend bool operator==(const RailOptimised&, const RailOptimised&) = default;
};

/// Groups of routers, all routers of a group and all groups joined; minimal routing.
struct Dragonfly {
  int routers_per_group = 0, nics_per_router = 0, global_links_per_router = 0;
  [[nodiscard]] static const FabricRow<Dragonfly>& row();
  friend bool operator==(const Dragonfly&, const Dragonfly&) = default;
};

/// A network as its owner's file describes it. Unit i of the cluster is the graph's host hosts[i], and NIC k of that
/// node is the host's adapter k.
struct GivenNetwork {
  std::shared_ptr<const NetworkGraph> graph;
  std::vector<HostId> hosts;  ///< empty: the first ones of the graph, in its order
  std::string choice;         ///< how they were chosen, for people to read; empty: as listed
  [[nodiscard]] static const FabricRow<GivenNetwork>& row();
  /// Equal if they come from the same reading of a file.
  friend bool operator==(const GivenNetwork&, const GivenNetwork&) = default;
};

/// All kinds, in the order in which messages list them; last the one that a file describes and no keys.
using FabricKind = std::variant<Crossbar, FatTree, RailOptimised, Dragonfly, GivenNetwork>;

/// A network of switches between the NICs of units: the keys of its kind, and those that more than one kind has, which
/// stay as they are when another kind is chosen.
/// spray: packets use all equal paths, so parallel links count as one. ecmp: every flow between a pair of NICs keeps to
/// one path, chosen by a hash of the pair, the flow's number and the seed.
struct FabricSpec {
  std::string name;
  FabricKind kind;
  FabricRouting routing = FabricRouting::spray;
  std::uint64_t seed = 1;
  int channels = 1;           ///< connections that a library opens between two chips, each with its share of the bytes
  int queue_pairs = 1;        ///< flows that each of these is split into
  BytesPerSecond link{0};     ///< one way, between switches; 0: as a NIC
  double efficiency = 1;      ///< share of the rates of NICs and links that large messages reach
  Seconds nic_latency{0};     ///< chip to first switch, and last switch to chip
  Seconds switch_latency{0};  ///< each further switch
  int radix = 64;             ///< ports of a switch, or of a leaf
  std::vector<int> radix_above;  ///< of a spine, a core, ...; the last also of those above it; none: as a leaf
  int tiers = 3;                 ///< the most that a tree may have
  std::vector<double>
      oversubscription;               ///< leaf to spine, spine to core: bandwidth below over bandwidth above; none: 1
  bool in_network_reduction = false;  ///< switches add up (SHARP)
  double incast = 0;       ///< how much longer a NIC takes to receive for each doubling of the units that send to it
  double step_growth = 0;  ///< how much longer a step between units takes for each doubling of the units beyond two
  Seconds barrier{0};  ///< for each doubling of the tori that a collective joins: their hosts move its data, and the
                       ///< chips wait (kernels' time only)
  std::vector<std::string> sources;

  /// How much longer a NIC takes for what so many other units send to it at once.
  [[nodiscard]] double incast_slowdown(int senders) const;
  /// How much longer a step between units takes in a group of so many.
  [[nodiscard]] double step_slowdown(int units) const;
  /// What hosts add to a collective that joins so many tori.
  [[nodiscard]] Seconds barrier_of(int tori) const;
  /// Flows between two chips, each hashed by itself.
  [[nodiscard]] int flows_of_connection() const { return routing == FabricRouting::ecmp ? channels * queue_pairs : 1; }
  friend bool operator==(const FabricSpec&, const FabricSpec&) = default;
};

/// The order in which ranks are assigned to devices.
struct RankOrder {
  enum class Kind { packed, round_robin, scattered, listed };
  Kind kind = Kind::packed;
  std::uint64_t seed = 1;         ///< scattered: units in random order
  std::vector<DeviceId> devices;  ///< listed: device of every position
  friend bool operator==(const RankOrder&, const RankOrder&) = default;
};

/// Nodes of one kind in a cluster of several.
struct NodeGroup {
  NodeSpec node;
  int units = 1;
  friend bool operator==(const NodeGroup&, const NodeGroup&) = default;
};

/// What nodes of several kinds have in common, for a library that runs on all of them: the slowest of their protocols
/// by the same name, the algorithms that all have, the reduction in the network if all have it. Its NIC is the fastest,
/// for which the network between them is built; so is its usual one. They must not be empty.
[[nodiscard]] NodeSpec common_node(const std::vector<NodeGroup>& groups);

/// Traffic of others on links of a cluster.
struct BackgroundLoad {
  std::string links;  ///< names as "leaf(0)>spine(1)", or of nodes, whose links are all meant; * stands for any text
  double load = 0;    ///< share of the links' rate that it takes, below 1
  friend bool operator==(const BackgroundLoad&, const BackgroundLoad&) = default;
};

struct ClusterSpec {
  std::variant<TorusSpec, NodeSpec> unit;
  int units = 1;  ///< pods or nodes of one hall
  /// Nodes of several kinds, in the order of units, each with as many chips and NICs; `unit` is what they have in
  /// common (common_node). Empty: all units are alike.
  std::vector<NodeGroup> groups;
  FabricSpec fabric;  ///< between the units of a hall
  int halls = 1;
  FabricSpec between_halls;
  RankOrder order;
  std::vector<BackgroundLoad> background;

  [[nodiscard]] const Chip& chip() const;
  [[nodiscard]] Chip& chip();
  [[nodiscard]] std::int64_t devices() const;
  [[nodiscard]] const TorusSpec* torus() const { return std::get_if<TorusSpec>(&unit); }  ///< null: nodes
  [[nodiscard]] const NodeSpec* node() const { return std::get_if<NodeSpec>(&unit); }
  /// The node that a unit is; units must be nodes.
  [[nodiscard]] const NodeSpec& node_of(int of_unit) const;
  /// The kinds of chips, no two alike, in the order of units.
  [[nodiscard]] Indexed<ChipKindId, Chip> chips() const;
  friend bool operator==(const ClusterSpec&, const ClusterSpec&) = default;
};

}  // namespace lockstep::topologies
