#pragma once
/// Trees of switches of any number of tiers: their shape, as arithmetic on counts, and their switches and links.
#include "topologies/fabrics/switch_network_private.hpp"

namespace lockstep::topologies {

/// A tier of switches: what its groups hold, and how each switch leads up. The groups of the lowest tier are single
/// leaves, those of the next are pods of leaves, then groups of pods; the top tier is one group. Numbers of links are
/// those of the cables; rates are as achieved.
struct TreeTier {
  int groups = 1;
  int size = 1;            ///< of each group: ends of a leaf, leaves of a pod, pods of a group of pods
  int groups_of_unit = 1;  ///< in which the ends of a unit lie, and which lead to the same places: rails, or the groups
                           ///< of a unit that is larger than one
  int uplinks = 0;         ///< of each switch, one to each switch of the group above; 0: the top tier
  BytesPerSecond uplink{0};
};

struct TreeShape {
  int rails = 0;     ///< 0: ends in order over the leaves
  int per_unit = 1;  ///< ends of a unit
  std::vector<TreeTier> tiers;

  [[nodiscard]] int leaf_of(int end) const;
  /// The group of a tier in which a group of the tier below lies.
  [[nodiscard]] int group_above(std::size_t tier, int below) const;
  /// Switches by which the network is left: those of the top tier.
  [[nodiscard]] int tops() const;
};
using PossibleTree = std::variant<TreeShape, ClusterProblem>;

/// The tree over the ends, or the reason why its switches do not reach them. Without `rails` ends lie in order over the
/// leaves.
[[nodiscard]] PossibleTree tree_shape(const FabricSpec& spec, const RailOptimised* rails, const EndCount& ends);

/// Adds the switches and links of a tree; `prefix` leads the names of its switches.
[[nodiscard]] std::unique_ptr<const SwitchNetwork> build_tree(const FabricSpec& spec, const PossibleTree& possible,
                                                              const NetworkEnds& ends, const std::vector<int>& prefix,
                                                              Cluster::Graph& graph);
/// Values that no tree can have.
[[nodiscard]] std::vector<ClusterProblem> tree_limits(const FabricSpec& spec);
[[nodiscard]] std::variant<int, ClusterProblem> tree_tops(const PossibleTree& possible);

}  // namespace lockstep::topologies
