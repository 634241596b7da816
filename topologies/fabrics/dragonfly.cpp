#include <utility>

#include "sim/core/errors.hpp"
#include "topologies/fabrics/dragonfly_layout_private.hpp"
#include "topologies/fabrics/fabric_row_private.hpp"

namespace lockstep::topologies {
namespace {

/// Groups over the ends, each joined to each other by `links_per_pair` global links.
struct DragonflyShape {
  int groups = 1;
  int links_per_pair = 0;
};

/// The router of `group` that holds its global link number `link` to `other`: all links of a group in turn over its
/// routers.
RouterId router_of(RouterGroupId group, RouterGroupId other, int link, int groups, int routers_per_group) {
  const int place = (other - group - 1 + groups) % groups + link * (groups - 1);
  return group * routers_per_group + place % routers_per_group;
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

DragonflyLayout layout_of(const FabricSpec& spec, const Dragonfly& keys, const NetworkEnds& ends,
                          const std::vector<int>& prefix) {
  const auto possible = dragonfly_shape(spec, keys, ends.count().count);
  if (const auto* problem = std::get_if<ClusterProblem>(&possible))
    throw InternalError("no dragonfly: " + problem->what);
  const auto& [groups, links_per_pair] = std::get<DragonflyShape>(possible);
  const int size = keys.routers_per_group;
  const BytesPerSecond rate = switch_link(spec, ends.rate);
  const auto cable = [&](RouterId from, RouterId to) { return RouterCable{from, to, rate, spec.switch_latency}; };

  DragonflyLayout layout;
  for (EndId end = 0; std::cmp_less(end, ends.nodes.size()); ++end)
    layout.ports.push_back({end / keys.nics_per_router, spec.efficiency * ends.rate, spec.nic_latency});
  for (RouterGroupId group = 0; group < groups; ++group) {
    layout.groups.push_back(switch_name("group", prefix, {group}));
    for (int a = 0; a < size; ++a) {
      layout.routers.push_back({switch_name("router", prefix, {group, a}), group});
      for (int b = a + 1; b < size; ++b) layout.local.push_back(cable(group * size + a, group * size + b));
    }
  }
  for (RouterGroupId a = 0; a < groups; ++a) {
    for (RouterGroupId b = a + 1; b < groups; ++b) {
      for (int link = 0; link < links_per_pair; ++link)
        layout.global.push_back(cable(router_of(a, b, link, groups, size), router_of(b, a, link, groups, size)));
    }
  }
  return layout;
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
    const NetworkEnds ports = port_by_port(ends);
    return build_dragonfly(spec, ports, layout_of(spec, keys, ports, prefix), graph);
  }
};

}  // namespace

const FabricRow<Dragonfly>& Dragonfly::row() {
  static const DragonflyRow row;
  return row;
}

}  // namespace lockstep::topologies
