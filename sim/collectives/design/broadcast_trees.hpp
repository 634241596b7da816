#pragma once
/// Spanning trees that use a network as well as any algorithm can, each with an equal part of a group's data.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/collectives/design/link_graph.hpp"

namespace lockstep::collectives::design {

struct TreeArc {
  int from, to;
  int depth;   ///< of `to`; 1 below the root
  int height;  ///< of `to`; 0 for one without an arc
};

struct BroadcastTree {
  int root;
  int copies;                 ///< equal trees that this one stands for
  std::vector<TreeArc> arcs;  ///< one to each member but the root; those nearer to the root first
};

/// Puts the arcs of a tree into their order, by their depths, and finds their heights.
void sort(BroadcastTree& tree, int members);

/// What a pass over trees asks of a program.
struct TreeUse {
  int depth = 0;           ///< arcs that a piece of data passes one after the other
  int most_on_an_arc = 0;  ///< the most trees that have an arc in common
  std::int64_t arcs = 0;   ///< of all trees
  /// Every tree has a channel of a connection for itself where 32 suffice for the busiest one; otherwise as many trees
  /// as that takes share one. Channels work beside each other, so that each tree gets the rate that it was designed
  /// for.
  [[nodiscard]] int trees_of_channel() const;
};

struct BroadcastTrees {
  int members = 0;
  std::vector<int> trees_of;  ///< by root, copies counted
  /// Bytes per second of each member's share of the data, all shares at once: what no algorithm exceeds, and what these
  /// trees reach where links carry them as designed.
  double best_rate = 0, rate = 0;
  std::vector<BroadcastTree> trees;  ///< by root
  /// Of all roots.
  [[nodiscard]] int count() const;
  /// From the roots to all members.
  [[nodiscard]] TreeUse use() const;
};

/// Spanning trees in a graph of members alone, whose capacities are numbers of trees; of each root so many. The graph
/// must carry them: into every set of members as many as there are trees whose roots are outside. Rates are left 0.
[[nodiscard]] BroadcastTrees packed(const LinkGraph& graph, std::vector<int> trees_of);

/// The most members and arcs of a network for which trees are designed: some seconds.
inline constexpr int most_members = 256;
inline constexpr int most_arcs = 20'000;

struct Design {
  BroadcastTrees gather;  ///< from the roots to all
  BroadcastTrees reduce;  ///< the same for data that go the other way: every arc is used from `to` to `from`
  /// Of data that go up the trees of `reduce` and then down those of `gather`, pieces of both passes at once.
  [[nodiscard]] TreeUse use_both_ways() const;
};

/// Designs for an all-gather and a reduce-scatter: as many trees from each member. First the design at the best rate,
/// or the nearest rate to it that 16 trees of a root reach; then those of fewer trees that reach less, as small
/// messages may want. The network must join all members, and not be larger than the limits.
[[nodiscard]] std::vector<Design> designs_for(const GroupLinks& links);

/// Designs for an all-reduce, in which both passes have as many trees from each root. Where links are as fast both ways
/// they use the same trees, from whatever roots serve best (two_way_trees.hpp).
[[nodiscard]] std::vector<Design> all_reduce_designs_for(const GroupLinks& links);

/// Why nothing can be designed on such a network, as "what; expected" in two parts.
[[nodiscard]] std::optional<std::pair<std::string, std::string>> why_not_designed(std::int64_t members,
                                                                                  std::int64_t arcs);

}  // namespace lockstep::collectives::design
