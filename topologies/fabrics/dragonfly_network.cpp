#include <algorithm>

#include "topologies/fabrics/dragonfly_layout_private.hpp"

namespace lockstep::topologies {
namespace {

/// Numbers the pairs of groups a < b one after the other.
class Pairs {
 public:
  explicit Pairs(int groups) : groups_(groups) {}
  [[nodiscard]] std::size_t count() const { return position_of(groups_) * position_of(groups_ - 1) / 2; }
  [[nodiscard]] std::size_t number(RouterGroupId one, RouterGroupId other) const {
    const auto a = position_of(std::min(one, other)), b = position_of(std::max(one, other));
    return a * (2 * position_of(groups_) - a - 1) / 2 + b - a - 1;
  }

 private:
  int groups_;
};

/// Sprayed over several global links, a router has two links to its group's hub and two back, each with the bandwidth
/// of all its cables: one without latency for packets that leave the group from it, one with that of the local hop to
/// the routers that hold the global links.
class DragonflyNetwork : public SwitchNetwork {
 public:
  struct Links {
    LinkId ends = 0, local = 0, hubs = -1, global = 0;  ///< the first of each sort; no hubs: -1
  };
  DragonflyNetwork(const FabricSpec& spec, const NetworkEnds& ends, const DragonflyLayout& layout, Links first,
                   std::vector<NodeId> routers)
      : SwitchNetwork(spec, ends), pairs_(layout.groups.count()), first_(first), routers_(std::move(routers)) {
    for (const auto& port : layout.ports) router_of_end_.push_back(port.router);
    Indexed<RouterGroupId, int> size(layout.groups.size(), 0);
    for (const auto& router : layout.routers) {
      group_.push_back(router.group);
      place_.push_back(size[router.group]++);
    }
    for (const RouterGroupId group : group_) local_.push_back(std::vector<LinkId>(position_of(size[group]), -1));
    LinkId link = first_.local;
    for (const RouterCable& cable : layout.local) {
      local_[cable.from][position_of(place_[cable.to])] = link++;
      local_[cable.to][position_of(place_[cable.from])] = link++;
    }
    global_.resize(pairs_.count());
    link = first_.global;
    for (const RouterCable& cable : layout.global) {
      global_[pairs_.number(group_[cable.from], group_[cable.to])].push_back({cable.from, cable.to, link});
      link += 2;
    }
  }

  bool route(int from, int to, int flow, const MissingLinks& missing, std::vector<LinkId>& links) const override {
    const std::size_t first = links.size();
    const RouterId start = router_of_end_[from], end = router_of_end_[to];
    links.push_back(first_.ends + 2 * from);
    if (group_[start] == group_[end]) {
      local(start, end, links);
    } else if (first_.hubs >= 0) {
      over_hubs(start, end, links);
    } else if (!across(start, end, choice_of_ends(from, to, flow), missing, links)) {
      links.resize(first);
      return false;
    }
    links.push_back(first_.ends + 2 * to + 1);
    return all_there(links, first, missing);
  }
  /// Every router has a way out.
  [[nodiscard]] const std::vector<NodeId>& tops() const override { return routers_; }
  [[nodiscard]] int top_of(int end, std::uint64_t) const override { return router_of_end_[end]; }
  void climb(int from, int, std::vector<LinkId>& links) const override { links.push_back(first_.ends + 2 * from); }
  void descend(int, int to, std::vector<LinkId>& links) const override { links.push_back(first_.ends + 2 * to + 1); }

 private:
  /// Between the groups of two routers, seen from one of them.
  struct GlobalLink {
    RouterId low, high;  ///< the routers that it joins; `low` in the group of the lower number
    LinkId up;           ///< from `low` to `high`; the way back has the next number
  };
  [[nodiscard]] bool upward(RouterId from, RouterId to) const { return group_[from] < group_[to]; }
  [[nodiscard]] const std::vector<GlobalLink>& between(RouterId from, RouterId to) const {
    return global_[pairs_.number(group_[from], group_[to])];
  }
  /// Local hops before and behind a global link.
  [[nodiscard]] int hop_before(RouterId from, RouterId to, const GlobalLink& link) const {
    return (upward(from, to) ? link.low : link.high) != from ? 1 : 0;
  }
  [[nodiscard]] int hop_behind(RouterId from, RouterId to, const GlobalLink& link) const {
    return hop_before(to, from, link);
  }

  void local(RouterId from, RouterId to, std::vector<LinkId>& links) const {
    if (from != to) links.push_back(local_[from][position_of(place_[to])]);
  }

  /// With the local hops of the ways that have fewest; where some of these have it before, some behind, it is before.
  void over_hubs(RouterId from, RouterId to, std::vector<LinkId>& links) const {
    int fewest = 2;
    for (const auto& link : between(from, to))
      fewest = std::min(fewest, hop_before(from, to, link) + hop_behind(from, to, link));
    int before = 0;
    for (const auto& link : between(from, to)) {
      if (hop_before(from, to, link) + hop_behind(from, to, link) == fewest)
        before = std::max(before, hop_before(from, to, link));
    }
    const auto pair = static_cast<LinkId>(pairs_.number(group_[from], group_[to]));
    links.push_back(first_.hubs + 4 * from + 2 * before);
    links.push_back(first_.global + 2 * pair + (upward(from, to) ? 0 : 1));
    links.push_back(first_.hubs + 4 * to + 2 * (fewest - before) + 1);
  }

  /// One local hop, one global, one local, by a global link that saves most local ones and misses no link on the way.
  bool across(RouterId from, RouterId to, std::uint64_t choice, const MissingLinks& missing,
              std::vector<LinkId>& links) const {
    for (int fewest = 0; fewest <= 2; ++fewest) {
      std::vector<const GlobalLink*> equals;
      for (const auto& link : between(from, to)) {
        if (hop_before(from, to, link) + hop_behind(from, to, link) == fewest) equals.push_back(&link);
      }
      const auto over = [&](std::size_t which) {
        const GlobalLink& taken = *equals[which];
        local(from, upward(from, to) ? taken.low : taken.high, links);
        links.push_back(taken.up + (upward(from, to) ? 0 : 1));
        local(upward(from, to) ? taken.high : taken.low, to, links);
        return true;
      };
      if (!equals.empty() && take_way(equals.size(), choice, missing, links, over)) return true;
    }
    return false;
  }

  Pairs pairs_;
  Links first_;
  std::vector<NodeId> routers_;
  Indexed<EndId, RouterId> router_of_end_;
  Indexed<RouterId, RouterGroupId> group_;
  Indexed<RouterId, int> place_;                  ///< among the routers of its group
  Indexed<RouterId, std::vector<LinkId>> local_;  ///< to each place of its group
  std::vector<std::vector<GlobalLink>> global_;   ///< by pair of groups
};

/// Whether several global links join two groups and packets go over all of them.
bool sprays(const FabricSpec& spec, const DragonflyLayout& layout) {
  const auto same_pair = [&](const RouterCable& one, const RouterCable& other) {
    return layout.routers[one.from].group == layout.routers[other.from].group &&
           layout.routers[one.to].group == layout.routers[other.to].group;
  };
  return spec.routing == FabricRouting::spray &&
         std::adjacent_find(layout.global.begin(), layout.global.end(), same_pair) != layout.global.end();
}

void add_hubs(const DragonflyLayout& layout, const std::vector<NodeId>& routers, DragonflyNetwork::Links& first,
              Cluster::Graph& graph) {
  std::vector<NodeId> hubs;
  for (const std::string& name : layout.groups) hubs.push_back(graph.add_node(NodeKind::network_switch, name));
  const Pairs pairs(layout.groups.count());
  Indexed<RouterId, SummedCables> all(layout.routers.size()), local(layout.routers.size());
  std::vector<SummedCables> between(pairs.count());
  for (const auto* cables : {&layout.local, &layout.global}) {
    for (const auto& [from, to, rate, latency] : *cables) {
      for (const RouterId router : {from, to}) {
        all[router].add(1, rate, latency);
        if (cables == &layout.local) local[router].add(1, rate, latency);
      }
      if (cables == &layout.global)
        between[pairs.number(layout.routers[from].group, layout.routers[to].group)].add(1, rate, latency);
    }
  }
  first.hubs = graph.links.next_id();
  for (const RouterId router : layout.routers.ids()) {
    const Seconds hop = local[router].rate().value() > 0 ? local[router].latency() : all[router].latency();
    for (const Seconds latency : {Seconds(0), hop}) {
      add_both_ways(graph, routers[position_of(router)], hubs[position_of(layout.routers[router].group)],
                    LinkKind::network, all[router].rate(), latency);
    }
  }
  first.global = graph.links.next_id();
  auto pair = between.begin();
  for (std::size_t a = 0; a < hubs.size(); ++a) {
    for (std::size_t b = a + 1; b < hubs.size(); ++b, ++pair)
      add_both_ways(graph, hubs[a], hubs[b], LinkKind::network, pair->rate(), pair->latency());
  }
}

}  // namespace

std::unique_ptr<const SwitchNetwork> build_dragonfly(const FabricSpec& spec, const NetworkEnds& ends,
                                                     const DragonflyLayout& layout, Cluster::Graph& graph) {
  std::vector<NodeId> routers;
  for (const auto& router : layout.routers) routers.push_back(graph.add_node(NodeKind::network_switch, router.name));
  const auto add = [&](const std::vector<RouterCable>& cables) {
    const LinkId first = graph.links.next_id();
    for (const auto& [from, to, rate, latency] : cables) {
      add_both_ways(graph, routers[position_of(from)], routers[position_of(to)], LinkKind::network, rate, latency);
    }
    return first;
  };
  DragonflyNetwork::Links first;
  first.ends = graph.links.next_id();
  for (const EndId end : layout.ports.ids()) {
    const auto& [router, rate, latency] = layout.ports[end];
    add_both_ways(graph, ends.nodes[position_of(end)], routers[position_of(router)], ends.kind, rate, latency);
  }
  first.local = add(layout.local);
  if (sprays(spec, layout)) {
    add_hubs(layout, routers, first, graph);
  } else {
    first.global = add(layout.global);
  }
  return std::make_unique<DragonflyNetwork>(spec, ends, layout, first, std::move(routers));
}

}  // namespace lockstep::topologies
