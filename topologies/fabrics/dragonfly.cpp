#include <algorithm>
#include <utility>

#include "sim/core/errors.hpp"
#include "topologies/fabrics/fabric_row_private.hpp"

namespace lockstep::topologies {
namespace {

/// The number of the pair a < b among all pairs of `count`.
int pair_number(int a, int b, int count) { return a * (2 * count - a - 1) / 2 + b - a - 1; }

/// A link id in an array of both-way pairs: forward from the lower number, then backward.
LinkId between(LinkId first, int a, int b, int count) {
  return a < b ? first + 2 * pair_number(a, b, count) : first + 2 * pair_number(b, a, count) + 1;
}

/// Groups over the ends, each joined to each other by `links_per_pair` global links.
struct DragonflyShape {
  int groups = 1;
  int links_per_pair = 0;
};

/// Whether several global links join two groups and packets go over all of them.
bool sprays(const FabricSpec& spec, const DragonflyShape& shape) {
  return spec.routing == FabricRouting::spray && shape.links_per_pair > 1;
}

/// Group by group, every router joined to all of its group; each pair of groups by the same number of global links.
/// Sprayed, these are one link of the bandwidth of all between hubs that stand for the groups. A router has two links
/// to its hub and two back, each with the bandwidth of all its ports but those of NICs: one without latency for packets
/// that leave the group from it, one with that of the local hop to the routers that hold the global links.
class DragonflyNetwork : public SwitchNetwork {
 public:
  struct Links {
    LinkId ends, local, hubs, global;  ///< the first of each sort
  };
  DragonflyNetwork(const FabricSpec& spec, const Dragonfly& keys, const NetworkEnds& ends, const DragonflyShape& shape,
                   Links first, std::vector<NodeId> routers)
      : SwitchNetwork(spec, ends),
        ends_per_router_(keys.nics_per_router),
        size_(keys.routers_per_group),
        sprays_(sprays(spec, shape)),
        shape_(shape),
        first_(first),
        routers_(std::move(routers)) {}

  bool route(int from, int to, int flow, const MissingLinks& missing, std::vector<LinkId>& links) const override {
    const std::size_t first = links.size();
    const int start = from / ends_per_router_;
    const int end = to / ends_per_router_;
    links.push_back(first_.ends + 2 * from);
    if (start / size_ == end / size_) {
      local(start, end, links);
    } else if (sprays_) {
      over_hubs(start, end, links);
    } else if (!across(start, end, choice_of_ends(from, to, flow), missing, links)) {
      return false;
    }
    links.push_back(first_.ends + 2 * to + 1);
    return all_there(links, first, missing);
  }
  /// Every router has a way out.
  [[nodiscard]] const std::vector<NodeId>& tops() const override { return routers_; }
  [[nodiscard]] int top_of(int end, std::uint64_t) const override { return end / ends_per_router_; }
  void climb(int from, int, std::vector<LinkId>& links) const override { links.push_back(first_.ends + 2 * from); }
  void descend(int, int to, std::vector<LinkId>& links) const override { links.push_back(first_.ends + 2 * to + 1); }

  /// The router of `group` that holds its global link number `link` to `other`: all links of a group in turn over its
  /// routers.
  [[nodiscard]] static int router_of(int group, int other, int link, int groups, int routers_per_group) {
    const int place = (other - group - 1 + groups) % groups + link * (groups - 1);
    return group * routers_per_group + place % routers_per_group;
  }

 private:
  void local(int from, int to, std::vector<LinkId>& links) const {
    if (from == to) return;
    const LinkId first = first_.local + from / size_ * (size_ * (size_ - 1));
    links.push_back(between(first, from % size_, to % size_, size_));
  }

  [[nodiscard]] int leaves_by(int from, int to, int link) const {
    return router_of(from / size_, to / size_, link, shape_.groups, size_);
  }
  /// Local hops before and behind a global link.
  [[nodiscard]] int hop_before(int from, int to, int link) const { return leaves_by(from, to, link) != from ? 1 : 0; }
  [[nodiscard]] int hop_behind(int from, int to, int link) const { return leaves_by(to, from, link) != to ? 1 : 0; }
  [[nodiscard]] int pair_of(int from, int to) const {
    const int here = from / size_;
    const int there = to / size_;
    return pair_number(std::min(here, there), std::max(here, there), shape_.groups);
  }

  /// With the local hops of the ways that have fewest; where some of these have it before, some behind, it is before.
  void over_hubs(int from, int to, std::vector<LinkId>& links) const {
    int fewest = 2;
    for (int link = 0; link < shape_.links_per_pair; ++link)
      fewest = std::min(fewest, hop_before(from, to, link) + hop_behind(from, to, link));
    int before = 0;
    for (int link = 0; link < shape_.links_per_pair; ++link) {
      if (hop_before(from, to, link) + hop_behind(from, to, link) == fewest)
        before = std::max(before, hop_before(from, to, link));
    }
    links.push_back(first_.hubs + 4 * from + 2 * before);
    links.push_back(first_.global + 2 * pair_of(from, to) + (from < to ? 0 : 1));
    links.push_back(first_.hubs + 4 * to + 2 * (fewest - before) + 1);
  }

  /// One local hop, one global, one local, by a global link that saves most local ones and misses no link on the way.
  bool across(int from, int to, std::uint64_t choice, const MissingLinks& missing, std::vector<LinkId>& links) const {
    const auto hops = [&](int link) { return hop_before(from, to, link) + hop_behind(from, to, link); };
    for (int fewest = 0; fewest <= 2; ++fewest) {
      std::vector<int> equals;
      for (int link = 0; link < shape_.links_per_pair; ++link) {
        if (hops(link) == fewest) equals.push_back(link);
      }
      const auto over = [&](std::size_t which) {
        const int taken = equals[which];
        local(from, leaves_by(from, to, taken), links);
        links.push_back(first_.global + 2 * (pair_of(from, to) * shape_.links_per_pair + taken) + (from < to ? 0 : 1));
        local(leaves_by(to, from, taken), to, links);
        return true;
      };
      if (!equals.empty() && take_way(equals.size(), choice, missing, links, over)) return true;
    }
    return false;
  }

  int ends_per_router_, size_;
  bool sprays_;
  DragonflyShape shape_;
  Links first_;
  std::vector<NodeId> routers_;
};

void add_hubs(const FabricSpec& spec, const Dragonfly& keys, const DragonflyShape& shape,
              const std::vector<int>& prefix, const std::vector<NodeId>& routers, BytesPerSecond rate,
              DragonflyNetwork::Links& first, Cluster::Graph& graph) {
  std::vector<NodeId> hubs;
  for (int group = 0; group < shape.groups; ++group)
    hubs.push_back(graph.add_node(NodeKind::network_switch, switch_name("group", prefix, {group})));
  const int ports = keys.routers_per_group - 1 + keys.global_links_per_router;
  first.hubs = static_cast<LinkId>(graph.links.size());
  for (std::size_t router = 0; router < routers.size(); ++router) {
    const NodeId hub = hubs[router / static_cast<std::size_t>(keys.routers_per_group)];
    for (const Seconds latency : {Seconds(0), spec.switch_latency})
      add_both_ways(graph, routers[router], hub, LinkKind::network, rate * ports, latency);
  }
  first.global = static_cast<LinkId>(graph.links.size());
  for (std::size_t a = 0; a < hubs.size(); ++a) {
    for (std::size_t b = a + 1; b < hubs.size(); ++b)
      add_both_ways(graph, hubs[a], hubs[b], LinkKind::network, rate * shape.links_per_pair, spec.switch_latency);
  }
}

std::variant<DragonflyShape, ClusterProblem> dragonfly_shape(const FabricSpec& spec, const Dragonfly& keys, int ends) {
  if (keys.routers_per_group < 1)
    return ClusterProblem{"routers_per_group", "a dragonfly without routers", "the routers of a group, such as 16"};
  if (keys.nics_per_router < 1)
    return ClusterProblem{"nics_per_router", "a dragonfly whose routers have no NICs",
                          "the NICs of a router, such as 16"};
  if (keys.global_links_per_router < 0)
    return ClusterProblem{"global_links_per_router", "a negative number of global links", "0 or more"};
  const std::int64_t ports =
      std::int64_t{keys.nics_per_router} + keys.routers_per_group - 1 + keys.global_links_per_router;
  if (ports > spec.radix) {
    return ClusterProblem{"radix",
                          "a router needs " + std::to_string(ports) + " ports and has " + std::to_string(spec.radix),
                          "at least " + std::to_string(ports)};
  }
  DragonflyShape shape;
  const int of_group = keys.routers_per_group * keys.nics_per_router;
  shape.groups = (ends - 1) / of_group + 1;
  if (shape.groups == 1) return shape;
  shape.links_per_pair = keys.routers_per_group * keys.global_links_per_router / (shape.groups - 1);
  if (shape.links_per_pair > 0) return shape;
  return ClusterProblem{
      "global_links_per_router",
      std::to_string(shape.groups) + " groups cannot all be joined: each has " +
          std::to_string(keys.routers_per_group * keys.global_links_per_router) + " global links",
      "at least " + std::to_string((shape.groups - 2) / keys.routers_per_group + 1) + ", or larger groups"};
}

std::unique_ptr<const SwitchNetwork> build_dragonfly(const FabricSpec& spec, const Dragonfly& keys,
                                                     const NetworkEnds& ends, const std::vector<int>& prefix,
                                                     Cluster::Graph& graph) {
  const auto possible = dragonfly_shape(spec, keys, ends.count().count);
  if (const auto* problem = std::get_if<ClusterProblem>(&possible))
    throw InternalError("no dragonfly: " + problem->what);
  const DragonflyShape& shape = std::get<DragonflyShape>(possible);
  const int size = keys.routers_per_group;
  const BytesPerSecond rate = switch_link(spec, ends.rate);

  std::vector<NodeId> routers;
  for (int router = 0; router < shape.groups * size; ++router) {
    routers.push_back(
        graph.add_node(NodeKind::network_switch, switch_name("router", prefix, {router / size, router % size})));
  }
  const auto join = [&](int a, int b) {
    add_both_ways(graph, routers[position_of(a)], routers[position_of(b)], LinkKind::network, rate,
                  spec.switch_latency);
  };

  DragonflyNetwork::Links first{};
  std::vector<NodeId> router_of_end;
  for (int end = 0; std::cmp_less(end, ends.nodes.size()); ++end)
    router_of_end.push_back(routers[position_of(end / keys.nics_per_router)]);
  first.ends = add_end_links(spec, ends, router_of_end, graph);
  first.local = static_cast<LinkId>(graph.links.size());
  for (int group = 0; group < shape.groups; ++group) {
    for (int a = 0; a < size; ++a) {
      for (int b = a + 1; b < size; ++b) join(group * size + a, group * size + b);
    }
  }
  if (sprays(spec, shape)) {
    add_hubs(spec, keys, shape, prefix, routers, rate, first, graph);
    return std::make_unique<DragonflyNetwork>(spec, keys, ends, shape, first, std::move(routers));
  }
  first.global = static_cast<LinkId>(graph.links.size());
  for (int a = 0; a < shape.groups; ++a) {
    for (int b = a + 1; b < shape.groups; ++b) {
      for (int link = 0; link < shape.links_per_pair; ++link) {
        join(DragonflyNetwork::router_of(a, b, link, shape.groups, size),
             DragonflyNetwork::router_of(b, a, link, shape.groups, size));
      }
    }
  }
  return std::make_unique<DragonflyNetwork>(spec, keys, ends, shape, first, std::move(routers));
}

class DragonflyRow final : public FabricRow<Dragonfly> {
  [[nodiscard]] std::string_view name() const override { return "dragonfly"; }
  [[nodiscard]] std::string_view about() const override {
    return "groups of routers, all routers of a group joined and all groups joined";
  }
  void read(const YamlView& view, Dragonfly& keys) const override {
    read_count(view["routers_per_group"], 1, keys.routers_per_group);
    read_count(view["nics_per_router"], 1, keys.nics_per_router);
    read_count(view["global_links_per_router"], 0, keys.global_links_per_router);
  }
  [[nodiscard]] std::vector<ClusterProblem> limits(const FabricSpec& spec, const Dragonfly& keys) const override {
    std::vector<ClusterProblem> problems = why_no_tiers(spec);
    check_count("radix", spec.radix, "ports of a switch", most_ports, problems);
    if (keys.global_links_per_router < 0)
      check_count("global_links_per_router", keys.global_links_per_router, "links", most_ports, problems);
    return problems;
  }
  [[nodiscard]] std::variant<int, ClusterProblem> tops(const FabricSpec& spec, const Dragonfly& keys,
                                                       const EndCount& ends) const override {
    const auto possible = dragonfly_shape(spec, keys, ends.count);
    if (const auto* problem = std::get_if<ClusterProblem>(&possible)) return *problem;
    return std::get<DragonflyShape>(possible).groups * keys.routers_per_group;
  }
  /// A router is the end of single ports, sprayed over or not.
  [[nodiscard]] std::unique_ptr<const SwitchNetwork> build(const FabricSpec& spec, const Dragonfly& keys,
                                                           const NetworkEnds& ends, const std::vector<int>& prefix,
                                                           Cluster::Graph& graph) const override {
    return build_dragonfly(spec, keys, port_by_port(ends), prefix, graph);
  }
};

}  // namespace

const FabricRow<Dragonfly>& Dragonfly::row() {
  static const DragonflyRow row;
  return row;
}

}  // namespace lockstep::topologies
