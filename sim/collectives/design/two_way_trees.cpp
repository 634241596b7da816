// A graph without directions has as many spanning trees as its weakest partition allows (Nash-Williams 1961, Tutte
// 1961). They are found as trees with directions: every link is divided between its two arcs so that trees from roots
// fit into them (Frank 1978). The least supplies (weakest_partition.hpp) say how: with k of a member and c the capacity
// of its links, (k + c) / 2 units are its arcs inwards and the trees that start at it.
#include "sim/collectives/design/two_way_trees.hpp"

#include <algorithm>

#include "sim/collectives/design/weakest_partition.hpp"
#include "sim/core/errors.hpp"
#include "topologies/cluster/flow_network.hpp"

namespace lockstep::collectives::design {
namespace {

struct Divided {
  LinkGraph arcs;
  std::vector<int> trees_of;
};

/// Each link with at most so many of 8 parts one way; nothing if that is too little for some members.
std::optional<Divided> divided(const LinkGraph& graph, const std::vector<std::int64_t>& inwards, int most_of_8) {
  struct Link {
    int one, other;
    topologies::FlowNetwork::ArcId into_one, into_other;
  };
  const int source = graph.members, sink = source + 1;
  topologies::FlowNetwork flows(sink + 1 + static_cast<int>(graph.arcs.size() / 2));
  std::vector<Link> links;
  std::int64_t all = 0;
  int node = sink;
  for (const auto& [ends, capacity] : graph.arcs) {
    if (ends.first > ends.second) continue;
    const auto most = (capacity * most_of_8 + 7) / 8;
    flows.add_arc(source, ++node, capacity);
    const auto into_one = flows.add_arc(node, ends.first, most);
    links.push_back({ends.first, ends.second, into_one, flows.add_arc(node, ends.second, most)});
    all += capacity;
  }
  std::vector<topologies::FlowNetwork::ArcId> to_sink;
  for (int member = 0; member < graph.members; ++member)
    to_sink.push_back(flows.add_arc(member, sink, inwards[position_of(member)]));
  if (flows.max_flow(source, sink) < all) return std::nullopt;
  Divided made{{graph.members, graph.members, {}}, {}};
  for (const auto& link : links) {
    made.arcs.add(link.other, link.one, flows.flow(link.into_one));
    made.arcs.add(link.one, link.other, flows.flow(link.into_other));
  }
  for (int member = 0; member < graph.members; ++member)
    made.trees_of.push_back(static_cast<int>(inwards[position_of(member)] - flows.flow(to_sink[position_of(member)])));
  return made;
}

Divided divided(const LinkGraph& graph, int trees) {
  const auto supplies = least_supplies(graph, 2 * std::int64_t{trees});
  if (supplies.sum() != 2 * std::int64_t{trees}) throw InternalError("more trees are packed than a network carries");
  auto inwards = supplies.of;
  for (const auto& [ends, capacity] : graph.arcs) inwards[position_of(ends.second)] += capacity;
  for (auto& units : inwards) units /= 2;
  for (const int most_of_8 : {4, 5, 6, 7}) {
    if (auto made = divided(graph, inwards, most_of_8)) return *std::move(made);
  }
  return divided(graph, inwards, 8).value();
}

using Neighbours = std::vector<std::vector<int>>;

/// Of each member, the one before it on the way from a root, in the order in which they are reached.
struct Ways {
  std::vector<int> order, before, depth;
};
Ways ways_from(int root, const Neighbours& next) {
  Ways ways{{root}, std::vector<int>(next.size(), -1), std::vector<int>(next.size(), 0)};
  for (std::size_t i = 0; i < ways.order.size(); ++i) {
    const int member = ways.order[i];
    for (const int other : next[position_of(member)]) {
      if (other == ways.before[position_of(member)]) continue;
      ways.before[position_of(other)] = member;
      ways.depth[position_of(other)] = ways.depth[position_of(member)] + 1;
      ways.order.push_back(other);
    }
  }
  return ways;
}

/// The same tree from the middle of its longest way.
BroadcastTree from_its_middle(const BroadcastTree& tree, int members) {
  Neighbours next(position_of(members));
  for (const auto& arc : tree.arcs) {
    next[position_of(arc.from)].push_back(arc.to);
    next[position_of(arc.to)].push_back(arc.from);
  }
  const int end = ways_from(tree.root, next).order.back();
  const auto longest = ways_from(end, next);
  int middle = longest.order.back();
  for (int up = longest.depth[position_of(middle)] / 2; up > 0; --up) middle = longest.before[position_of(middle)];
  const auto ways = ways_from(middle, next);
  BroadcastTree made{middle, tree.copies, {}};
  for (std::size_t i = 1; i < ways.order.size(); ++i) {
    const int member = ways.order[i];
    made.arcs.push_back({ways.before[position_of(member)], member, ways.depth[position_of(member)], 0});
  }
  sort(made, members);
  return made;
}

}  // namespace

bool carries_two_way(const LinkGraph& graph, int trees) {
  return least_supplies(graph, 2 * std::int64_t{trees}).sum() == 2 * std::int64_t{trees};
}

BroadcastTrees packed_two_way(const LinkGraph& graph, int trees) {
  auto parts = divided(graph, trees);
  auto made = packed(parts.arcs, std::move(parts.trees_of));
  made.trees_of.assign(position_of(made.members), 0);
  for (auto& tree : made.trees) {
    tree = from_its_middle(tree, made.members);
    made.trees_of[position_of(tree.root)] += tree.copies;
  }
  std::stable_sort(made.trees.begin(), made.trees.end(),
                   [](const BroadcastTree& a, const BroadcastTree& b) { return a.root < b.root; });
  return made;
}

}  // namespace lockstep::collectives::design
