#pragma once
/// The groups along some mesh axes on the links between them, inside a torus or over a network: which algorithms can
/// serve them, what each costs, and the flows each needs.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/collectives/collective.hpp"
#include "sim/collectives/phases.hpp"
#include "topologies/cluster/cluster.hpp"
#include "topologies/fabrics/fabric.hpp"
#include "topologies/placement/group_orbits.hpp"
#include "topologies/placement/mesh.hpp"

namespace lockstep::collectives {

/// The order in which rings and trees pass the units (nodes, pods) of a group.
/// ranks: by the first rank of each unit in the cluster's order (RankOrder), as libraries number the nodes of a
/// communicator.
/// topology_aware: as the cluster numbers them, so that neighbours in the network follow one another wherever ranks
/// lie.
enum class UnitOrder { ranks, topology_aware };

/// One group as the network sees it. A group inside one torus has lanes alone, no members and no units: the algorithm
/// of tori reads nothing else, and `structure()` knows how many members it has.
struct NetworkGroup {
  std::vector<topologies::DeviceId> members;  ///< in mesh order
  std::vector<std::vector<topologies::DeviceId>>
      units;                            ///< the same by unit (node, pod), in its UnitOrder; devices ascending
  std::vector<topologies::Lane> lanes;  ///< rings and lines of the tori inside its units
  std::vector<topologies::Lane> lanes_by_axis = {};  ///< those of GroupStructure::torus_by_axis
};

/// Properties that all groups of a communicator share.
struct GroupStructure {
  int groups = 1;        ///< of the communicator, at once
  int members = 1;       ///< N
  int units = 1;         ///< n, units that a group spans
  int local = 1;         ///< g, members in each unit; 0 if they are not the same in all
  int most_local = 1;    ///< members in the fullest unit
  int rails = 1;         ///< NICs that the members of every unit have; 1 for irregular groups and for single units
  Seconds local_hop{0};  ///< links from one member to another of its unit
  Seconds remote_hop{
      0};                ///< links between the two units that are farthest apart, members with the same place in theirs
  Seconds cross_hop{0};  ///< the same for members with different places, which rails may not join directly
  Seconds around{0};     ///< links from each unit to the next, once around all of them
  Dimensions torus;      ///< inside a unit, if units are tori
  Dimensions torus_by_axis;  ///< the same where `torus` joins two axes to one ring, with two lines; else empty
  /// Members leave and reach their unit by the same way whatever the other end; looked up where pairs are many.
  bool own_ways = true;
  bool parts_of_one_axis = false;  ///< two dimensions of the torus lie on one axis and share its links
  double incast_slowdown = 1;      ///< of NICs to which all other units send at once (FabricSpec::incast)
  double step_slowdown = 1;        ///< of steps between units, by their number (FabricSpec::step_growth)
  Seconds barrier{0};              ///< of hosts that move data between tori (FabricSpec::barrier)
};

/// A way to run collectives. One file each: the torus' own, ring, tree, recursive halving and doubling, direct,
/// in-network, hierarchical, hierarchical all-to-all.
class CollectiveAlgorithm {
 public:
  virtual ~CollectiveAlgorithm() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// For tables and traces, of groups that it serves: "ring"; inside a torus "ring of 16 on x".
  [[nodiscard]] virtual std::string label(workloads::CollectiveKind kind, const GroupStructure& groups) const;
  [[nodiscard]] virtual bool serves(workloads::CollectiveKind kind, const topologies::Cluster& cluster,
                                    const GroupStructure& groups) const = 0;
  /// Flow slots of a group; the same for every kind that it serves. Flows of a slot are macro flows: each lists all
  /// links that one ring or tree crosses, as often as it crosses them, and moves in lock step at the rate of the
  /// slowest.
  [[nodiscard]] virtual std::int32_t slots(const topologies::Cluster& cluster, const GroupStructure& groups) const = 0;
  [[nodiscard]] virtual std::vector<Flow> flows(const topologies::Cluster& cluster, const NetworkGroup& group,
                                                const GroupStructure& groups) const = 0;
  /// Serial phases, with a slot's bytes as they cross each link of its flows (divided by the protocol's efficiency).
  [[nodiscard]] virtual std::vector<Phase> plan(workloads::CollectiveKind kind, Bytes full_size,
                                                const topologies::Cluster& cluster, const GroupStructure& groups,
                                                const topologies::Protocol& protocol) const = 0;
  /// An all-to-all of tokens to experts: the same, unless the algorithm lets copies of a token for one unit cross as
  /// one.
  [[nodiscard]] virtual std::vector<Phase> plan_tokens(Bytes full_size, workloads::TokenCopies copies,
                                                       const topologies::Cluster& cluster, const GroupStructure& groups,
                                                       const topologies::Protocol& protocol) const;
  /// The time of all phases, if the algorithm has an equation of its own, needs no protocol and crosses no link twice;
  /// otherwise the time is computed from the flows.
  [[nodiscard]] virtual std::optional<Seconds> closed_form(workloads::CollectiveKind kind, Bytes full_size,
                                                           const GroupStructure& groups) const;
};

/// All algorithms; of two with equal costs the earlier one is taken.
[[nodiscard]] const std::vector<const CollectiveAlgorithm*>& collective_algorithms();

/// One way to run a collective of a given kind and size.
struct CollectiveChoice {
  const CollectiveAlgorithm* algorithm = nullptr;
  std::string protocol;        ///< "" on networks without protocols
  std::vector<Phase> phases;   ///< for the flows of GroupNetwork::communicator
  Seconds cost{0};             ///< all groups of the communicator at once, nothing else on the network
  std::string label = "none";  ///< with the protocol: "ring (LL128)"
};

class GroupNetwork {
 public:
  /// Cluster and mesh must outlive it.
  GroupNetwork(const topologies::Cluster& cluster, const topologies::Mesh& mesh, std::vector<std::string> axes,
               UnitOrder order = UnitOrder::ranks);
  /// Groups of any ranks, behind switches; ranks are numbered as the cluster's positions are. They are disjoint.
  GroupNetwork(const topologies::Cluster& cluster, std::vector<std::vector<topologies::RankId>> groups,
               UnitOrder order = UnitOrder::ranks);
  /// One group of each orbit, which costs what all cost. Ranks are numbered as devices are.
  GroupNetwork(const topologies::Cluster& cluster, topologies::GroupOrbits orbits);

  [[nodiscard]] const GroupStructure& structure() const { return structure_; }
  /// The cheapest algorithm that the node's library has (of all algorithms, if none of the library's serves); the first
  /// among equals. `forced`: an algorithm's name, or empty; throws InternalError if it cannot serve. A group of one
  /// needs no algorithm: no phases.
  [[nodiscard]] CollectiveChoice choose(workloads::CollectiveKind kind, Bytes full_size, std::string_view forced = "",
                                        workloads::TokenCopies copies = {}) const;
  /// The cost of that choice.
  [[nodiscard]] Seconds cost(workloads::CollectiveKind kind, Bytes full_size, std::string_view forced = "",
                             workloads::TokenCopies copies = {}) const;
  /// Every algorithm that serves, cheapest protocol each, in the order of collective_algorithms().
  [[nodiscard]] std::vector<CollectiveChoice> choices(workloads::CollectiveKind kind, Bytes full_size,
                                                      workloads::TokenCopies copies = {}) const;
  /// All groups with the flows of an algorithm, made at first use. If all flows of a slot cross all their links a
  /// multiple of k times, each link is listed a k-th as often and the flows carry k times the bytes.
  [[nodiscard]] const Communicator& communicator(const CollectiveAlgorithm& algorithm) const;

 private:
  struct Connected;  // communicator, and the loads of links by slot
  const Connected& connected(const CollectiveAlgorithm& algorithm) const;
  [[nodiscard]] bool offered(const CollectiveAlgorithm& algorithm) const;
  /// The algorithms among which `choose` takes the cheapest.
  [[nodiscard]] std::vector<const CollectiveAlgorithm*> candidates(workloads::CollectiveKind kind,
                                                                   std::string_view forced,
                                                                   workloads::TokenCopies copies) const;
  void make_groups() const;
  void add_lanes_by_axis() const;
  [[nodiscard]] CollectiveChoice cheapest_protocol(const CollectiveAlgorithm& algorithm, workloads::CollectiveKind kind,
                                                   Bytes full_size, workloads::TokenCopies copies) const;

  const topologies::Cluster* cluster_;
  const topologies::Mesh* mesh_ = nullptr;
  std::vector<std::string> axes_;
  UnitOrder order_ = UnitOrder::ranks;
  std::optional<topologies::GroupOrbits> orbits_;  ///< of which the groups are one each
  GroupStructure structure_;
  mutable std::vector<std::vector<topologies::RankId>> ranks_;  ///< of each group, made when first needed
  mutable std::vector<NetworkGroup> groups_;
  mutable std::vector<std::pair<const CollectiveAlgorithm*, std::shared_ptr<const Connected>>> connected_;
};

}  // namespace lockstep::collectives
