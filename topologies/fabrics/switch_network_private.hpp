#pragma once
/// Switches between ends: NICs of nodes, hosts of pods, or the top switches of halls. A network computes its routes by
/// arithmetic on the numbers of ends and links, without a search.
#include <algorithm>
#include <memory>
#include <variant>
#include <vector>

#include "topologies/fabrics/fabric.hpp"
#include "topologies/torus/torus_private.hpp"

namespace lockstep::topologies {

/// The ends of a network, unit by unit: NICs, hosts, or the top switches of halls.
struct NetworkEnds {
  std::vector<NodeId> nodes;
  int per_unit;         ///< ports of the network that a unit takes
  BytesPerSecond rate;  ///< one way, of each port, before the network's efficiency
  LinkKind kind;        ///< of the links to the first switches
  int ports = 1;        ///< of each node, side by side: one for each switch that a sprayed hall's top stands for

  /// Ports of the network, by which it is dimensioned.
  [[nodiscard]] int count() const { return static_cast<int>(nodes.size()) * ports; }
};

class SwitchNetwork {
 public:
  SwitchNetwork(const FabricSpec& spec, const NetworkEnds& ends);
  virtual ~SwitchNetwork() = default;

  /// Appends the links from one end to another; false if every way that the network has for them misses a link.
  virtual bool route(int from, int to, const MissingLinks& missing, std::vector<LinkId>& links) const = 0;

  /// The top switches, which have a link to the network above.
  [[nodiscard]] virtual const std::vector<NodeId>& tops() const = 0;
  /// The number of switches that each top switch stands for, if packets are sprayed over them.
  [[nodiscard]] virtual int switches_of_a_top() const { return 1; }
  /// The number of ends between which routes lead: nodes, or their ports one by one.
  [[nodiscard]] int ends() const { return static_cast<int>(number_of_end_.size()); }
  /// The number of the top switch by which an end leaves or is reached, `choice` deciding between equals.
  [[nodiscard]] virtual int top_of(int end, std::uint64_t choice) const = 0;
  virtual void climb(int from, int top, std::vector<LinkId>& links) const = 0;
  virtual void descend(int top, int to, std::vector<LinkId>& links) const = 0;

  /// The number by which two nodes choose among equal paths: the sum of their numbers, or (ecmp) a hash of them and the
  /// seed.
  [[nodiscard]] std::uint64_t choice(NodeId from, NodeId to) const;

 protected:
  [[nodiscard]] std::uint64_t choice_of_ends(int from, int to) const {
    return choice(number_of_end_[static_cast<std::size_t>(from)], number_of_end_[static_cast<std::size_t>(to)]);
  }

 private:
  FabricRouting routing_;
  std::uint64_t seed_;
  std::vector<NodeId> number_of_end_;  ///< of its node; of several ends on one node, consecutive ones
};

/// Every port an end of its own.
[[nodiscard]] NetworkEnds port_by_port(NetworkEnds ends);

/// Whether the links from position `first` on are all there.
[[nodiscard]] bool all_there(const std::vector<LinkId>& links, std::size_t first, const MissingLinks& missing);

/// Appends the one of `ways` equal paths that `choice` picks; if a link of it is missing, the one that `choice` picks
/// among the paths without missing links. So flows whose path is intact keep it, as with resilient hashing.
/// `append(way)` adds the links of a path and may refuse. Returns false if no path is left.
template <class Append>
bool take_way(std::size_t ways, std::uint64_t choice, const MissingLinks& missing, std::vector<LinkId>& links,
              Append append) {
  const std::size_t first = links.size();
  const auto whole = [&](std::size_t way) {
    links.resize(first);
    return append(way) && all_there(links, first, missing);
  };
  if (whole(choice % ways)) return true;
  std::vector<std::size_t> left;
  for (std::size_t way = 0; way < ways; ++way) {
    if (whole(way)) left.push_back(way);
  }
  if (!left.empty()) return whole(left[choice % left.size()]);
  links.resize(first);
  return false;
}

/// The achieved one-way rate of a link between two switches.
[[nodiscard]] BytesPerSecond switch_link(const FabricSpec& spec, BytesPerSecond end_rate);
/// Joins every end to its first switch, by number. Returns the first link's id; end e has the links first + 2e (up) and
/// first + 2e + 1 (down).
LinkId add_end_links(const FabricSpec& spec, const NetworkEnds& ends, const std::vector<NodeId>& first_switch,
                     Cluster::Graph& graph);

/// The switches of a tree, tier by tier. Numbers of links are those of the cables; rates are as achieved.
struct TreeShape {
  int rails = 0;  ///< 0: ends in order over the leaves
  int ends_per_leaf = 0;
  int leaves = 0;
  int per_unit = 1;  ///< ends of a unit
  int leaves_of_unit =
      1;  ///< on which these lie, and which lead to the same places: rails, or what one leaf has no room for
  int pods_of_unit = 1;  ///< in which those leaves lie
  int leaf_uplinks = 0;  ///< spines of a pod; 0: a single leaf
  BytesPerSecond leaf_uplink{0};
  int leaves_per_pod = 0;
  int pods = 1;
  int spine_uplinks = 0;  ///< cores above each spine; 0: two tiers
  BytesPerSecond spine_uplink{0};

  [[nodiscard]] int leaf_of(int end) const {
    if (rails > 0) return end / rails / ends_per_leaf * rails + end % rails;
    if (leaves_of_unit == 1) return end / ends_per_leaf;
    return end / per_unit * leaves_of_unit + end % per_unit / ends_per_leaf;
  }
  [[nodiscard]] int pod_of(int leaf) const {
    if (pods_of_unit == 1) return leaf / leaves_per_pod;
    return leaf / leaves_of_unit * pods_of_unit + leaf % leaves_of_unit / leaves_per_pod;
  }
  /// Switches by which the network is left: the single leaf, the spines or the cores.
  [[nodiscard]] int tops() const { return std::max(1, leaf_uplinks) * std::max(1, spine_uplinks); }
};
using PossibleTree = std::variant<TreeShape, ClusterProblem>;
/// The tree over `ends` ends, or the reason why its radix does not reach them. Without `rails` NICs lie in order over
/// the leaves.
[[nodiscard]] PossibleTree tree_shape(const FabricSpec& spec, const RailOptimised* rails, int ends, int per_unit,
                                      BytesPerSecond end_rate);

/// Adds the switches and links of a tree; `prefix` leads the names of its switches.
[[nodiscard]] std::unique_ptr<const SwitchNetwork> build_tree(const FabricSpec& spec, const PossibleTree& possible,
                                                              const NetworkEnds& ends, const std::vector<int>& prefix,
                                                              Cluster::Graph& graph);
/// Values that no tree can have.
[[nodiscard]] std::vector<ClusterProblem> tree_limits(const FabricSpec& spec);
[[nodiscard]] std::variant<int, ClusterProblem> tree_tops(const PossibleTree& possible);

/// Adds the switches and links of a network of any kind.
[[nodiscard]] std::unique_ptr<const SwitchNetwork> build_network(const FabricSpec& spec, const NetworkEnds& ends,
                                                                 const std::vector<int>& prefix, Cluster::Graph& graph);

/// "leaf(2,5)": a switch of this network.
[[nodiscard]] std::string switch_name(std::string_view what, std::vector<int> prefix, const std::vector<int>& numbers);

}  // namespace lockstep::topologies
