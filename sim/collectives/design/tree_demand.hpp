#pragma once
/// Whether a network carries a number of broadcast trees from every member, and what it can spare.
#include "sim/collectives/design/link_graph.hpp"
#include "topologies/cluster/flow_network.hpp"

namespace lockstep::collectives::design {

/// `trees` broadcast trees from each member, each of which crosses an arc of capacity 1.
class TreeDemand {
 public:
  TreeDemand(const LinkGraph& graph, int trees);
  /// Whether all fit: by Edmonds' theorem, and Bang-Jensen, Frank and Jackson's where switches only pass on, they do if
  /// every member can receive as many units as there are trees in all.
  [[nodiscard]] bool is_met();
  /// How many units of the path from `from` over `by` to `to` may become units of an arc between the two. At most
  /// `most`.
  [[nodiscard]] std::int64_t spare(int from, int by, int to, std::int64_t most);
  /// Changes the capacity of an arc, which may be new.
  void set(int from, int to, std::int64_t capacity);

 private:
  [[nodiscard]] std::int64_t least_with(int source_side_a, int source_side_b, int sink_side_a, int sink_side_b,
                                        int member);

  const int members_;
  const std::int64_t all_;
  int source_;
  topologies::FlowNetwork flows_;
  std::map<std::pair<int, int>, topologies::FlowNetwork::ArcId> arcs_;
  std::vector<topologies::FlowNetwork::ArcId> from_source_;  ///< to each node; trees of members besides
  int last_refused_ = 0;  ///< the member that could not receive, looked at first the next time
};

}  // namespace lockstep::collectives::design
