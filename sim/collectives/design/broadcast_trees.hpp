#pragma once
/// Broadcast trees that use a network as well as any algorithm can: from every member of a group as many, each with an
/// equal part of that member's data.
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

/// A set of trees of which every member is the root of `trees_of_root`, copies counted.
struct BroadcastTrees {
  int members = 0;
  int trees_of_root = 0;
  /// Bytes per second that each root sends to all others at once: what no algorithm exceeds, by the bottleneck cut; and
  /// what these trees reach where links carry them as designed.
  double best_rate = 0, rate = 0;
  std::vector<BroadcastTree> trees;  ///< by root
  [[nodiscard]] int depth() const;
  /// The most trees that have an arc in common.
  [[nodiscard]] int most_on_an_arc() const;
  /// Every tree has a channel of a connection for itself where 32 suffice for the busiest one; otherwise as many trees
  /// as that takes share one. Channels work beside each other, so that each tree gets the rate that it was designed
  /// for.
  [[nodiscard]] int trees_of_channel() const;
  /// Arcs of all trees.
  [[nodiscard]] std::int64_t arcs() const { return std::int64_t{members} * trees_of_root * (members - 1); }
};

/// Spanning trees in a graph of members alone, whose capacities are numbers of trees; as many trees from each member.
/// The graph must carry them (TreeDemand). Rates are left 0.
[[nodiscard]] BroadcastTrees packed(const LinkGraph& graph, int trees_of_root);

/// The most members and arcs of a network for which trees are designed: some seconds.
inline constexpr int most_members = 256;
inline constexpr int most_arcs = 20'000;

struct Design {
  BroadcastTrees gather;  ///< from each member to all
  BroadcastTrees reduce;  ///< the same for data that go the other way: every arc is used from `to` to `from`
};

/// First the design at the best rate, or the nearest rate to it that 16 trees of a root reach; then those of fewer
/// trees that reach less, as small messages may want. The network must join all members, and not be larger than the
/// limits.
[[nodiscard]] std::vector<Design> designs_for(const GroupLinks& links);

/// Why nothing can be designed on such a network, as "what; expected" in two parts.
[[nodiscard]] std::optional<std::pair<std::string, std::string>> why_not_designed(std::int64_t members,
                                                                                  std::int64_t arcs);

}  // namespace lockstep::collectives::design
