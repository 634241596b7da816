#include "topologies/fabrics/dragonfly_layout_private.hpp"
#include "topologies/fabrics/fabric_row_private.hpp"
#include "topologies/fabrics/given_problems_private.hpp"
#include "topologies/fabrics/graph_routes_private.hpp"

namespace lockstep::topologies {
namespace {

/// A network as a file describes it; nothing leads on to other halls.
class NetworkOfGraph : public SwitchNetwork {
 public:
  NetworkOfGraph(const FabricSpec& spec, const NetworkEnds& ends, const UsedNetwork& network, LinkId first_port,
                 LinkId first_link, NodeId first_switch)
      : SwitchNetwork(spec, ends),
        routes_(network, first_port, first_link),
        networks_(separate_networks(network)),
        tops_{first_switch} {}

  bool route(int from, int to, int flow, const MissingLinks& missing, std::vector<LinkId>& links) const override {
    return routes_.find(from, to, choice_of_ends(from, to, flow), missing, links);
  }
  [[nodiscard]] int rail_of(int end) const override { return networks_[end]; }
  [[nodiscard]] const std::vector<NodeId>& tops() const override { return tops_; }
  [[nodiscard]] int top_of(int, std::uint64_t) const override { return 0; }
  void climb(int, int, std::vector<LinkId>&) const override {}
  void descend(int, int, std::vector<LinkId>&) const override {}

 private:
  GraphRoutes routes_;
  Indexed<EndId, int> networks_;
  std::vector<NodeId> tops_;
};

/// A dragonfly as a file describes it. Its minimal routes where they miss no link, else the shortest ones that are
/// left, unless packets are sprayed over hubs that stand for groups.
class GivenDragonfly : public SwitchNetwork {
 public:
  GivenDragonfly(const FabricSpec& spec, const NetworkEnds& ends, std::unique_ptr<const SwitchNetwork> dragonfly,
                 std::unique_ptr<const GraphRoutes> detours)
      : SwitchNetwork(spec, ends), dragonfly_(std::move(dragonfly)), detours_(std::move(detours)) {}

  bool route(int from, int to, int flow, const MissingLinks& missing, std::vector<LinkId>& links) const override {
    const std::size_t first = links.size();
    if (dragonfly_->route(from, to, flow, missing, links)) return true;
    links.resize(first);
    return detours_ != nullptr && detours_->find(from, to, choice_of_ends(from, to, flow), missing, links);
  }
  [[nodiscard]] const std::vector<NodeId>& tops() const override { return dragonfly_->tops(); }
  [[nodiscard]] int top_of(int, std::uint64_t) const override { return 0; }
  void climb(int, int, std::vector<LinkId>&) const override {}
  void descend(int, int, std::vector<LinkId>&) const override {}

 private:
  std::unique_ptr<const SwitchNetwork> dragonfly_;
  std::unique_ptr<const GraphRoutes> detours_;  ///< over the same links; none where hubs stand for groups
};

std::unique_ptr<const SwitchNetwork> build_given_dragonfly(const FabricSpec& spec, const NetworkEnds& ends,
                                                           UsedNetwork cables, const DragonflyLayout& layout,
                                                           Cluster::Graph& graph) {
  const LinkId first = graph.links.next_id();
  auto network = build_dragonfly(spec, ends, layout, graph);
  cables.links.clear();
  for (const auto* sort : {&layout.local, &layout.global}) {
    for (const auto& [from, to, rate, latency] : *sort) cables.links.push_back({from, to, rate, latency});
  }
  const auto links_of_cables = 2 * (cables.ports.size() + cables.links.size());
  const bool has_hubs = position_of(graph.links.next_id() - first) != links_of_cables;
  auto detours = has_hubs ? nullptr
                          : std::make_unique<const GraphRoutes>(cables, first,
                                                                first + 2 * static_cast<LinkId>(cables.ports.size()));
  return std::make_unique<GivenDragonfly>(spec, ends, std::move(network), std::move(detours));
}

class GivenNetworkRow final : public FabricRow<GivenNetwork> {
  [[nodiscard]] std::string_view name() const override { return "graph"; }
  [[nodiscard]] std::string_view about() const override { return "as the file of `cluster.graph` lists them"; }
  void read(const YamlView&, GivenNetwork&) const override {}
  [[nodiscard]] std::vector<ClusterProblem> limits(const FabricSpec& spec, const GivenNetwork&) const override {
    return why_no_tiers(spec);
  }
  [[nodiscard]] std::variant<int, ClusterProblem> tops(const FabricSpec& spec, const GivenNetwork& keys,
                                                       const EndCount& ends) const override {
    if (auto problem = why_not_on_graph(spec, keys, ends)) return *problem;
    return 1;
  }
  [[nodiscard]] std::unique_ptr<const SwitchNetwork> build(const FabricSpec& spec, const GivenNetwork& keys,
                                                           const NetworkEnds& ends, const std::vector<int>&,
                                                           Cluster::Graph& graph) const override {
    const UsedNetwork network = used_network(spec, keys, ends.count());
    for (const EndId end : network.names.ids()) graph.nodes[ends.nodes[position_of(end)]].name = network.names[end];
    if (!network.in_tiers) {
      FabricSpec single = spec;
      single.routing = FabricRouting::ecmp;
      auto cables = used_network(single, keys, ends.count());
      if (const auto layout = as_dragonfly(cables)) {
        return build_given_dragonfly(spec, ends, std::move(cables), *layout, graph);
      }
    }
    std::vector<NodeId> nodes;
    for (const ModelledGroup& group : network.groups)
      nodes.push_back(graph.add_node(NodeKind::network_switch, group.name));
    const LinkId first_port = graph.links.next_id();
    for (const PortOfEnd& port : network.ports) {
      add_both_ways(graph, ends.nodes[position_of(port.end)], nodes[position_of(port.group)], ends.kind, port.rate,
                    port.latency);
    }
    const LinkId first_link = graph.links.next_id();
    for (const GroupLink& link : network.links) {
      add_both_ways(graph, nodes[position_of(link.lower)], nodes[position_of(link.upper)], LinkKind::network, link.rate,
                    link.latency);
    }
    return std::make_unique<NetworkOfGraph>(spec, ends, network, first_port, first_link, nodes.front());
  }
};

}  // namespace

const FabricRow<GivenNetwork>& GivenNetwork::row() {
  static const GivenNetworkRow row;
  return row;
}

}  // namespace lockstep::topologies
