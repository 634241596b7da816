#include "topologies/fabrics/fabric_row_private.hpp"

namespace lockstep::topologies {
namespace {

/// One switch without limits of its own.
class CrossbarNetwork : public SwitchNetwork {
 public:
  CrossbarNetwork(const FabricSpec& spec, const NetworkEnds& ends, NodeId node, LinkId end_links)
      : SwitchNetwork(spec, ends), tops_{node}, end_links_(end_links) {}

  bool route(int from, int to, int /*flow*/, const MissingLinks& missing, std::vector<LinkId>& links) const override {
    const std::size_t first = links.size();
    climb(from, 0, links);
    descend(0, to, links);
    return all_there(links, first, missing);
  }
  [[nodiscard]] const std::vector<NodeId>& tops() const override { return tops_; }
  [[nodiscard]] int top_of(int, std::uint64_t) const override { return 0; }
  void climb(int from, int, std::vector<LinkId>& links) const override { links.push_back(end_links_ + 2 * from); }
  void descend(int, int to, std::vector<LinkId>& links) const override { links.push_back(end_links_ + 2 * to + 1); }

 private:
  std::vector<NodeId> tops_;
  LinkId end_links_;
};

class CrossbarRow final : public FabricRow<Crossbar> {
  [[nodiscard]] std::string_view name() const override { return "crossbar"; }
  [[nodiscard]] std::string_view about() const override {
    return "one, without limits of its own: only the NICs count";
  }
  void read(const YamlView&, Crossbar&) const override {}
  [[nodiscard]] std::vector<ClusterProblem> limits(const FabricSpec& spec, const Crossbar&) const override {
    return why_no_tiers(spec);
  }
  [[nodiscard]] std::variant<int, ClusterProblem> tops(const FabricSpec&, const Crossbar&,
                                                       const EndCount&) const override {
    return 1;
  }
  [[nodiscard]] std::unique_ptr<const SwitchNetwork> build(const FabricSpec& spec, const Crossbar&,
                                                           const NetworkEnds& ends, const std::vector<int>& prefix,
                                                           Cluster::Graph& graph) const override {
    const NodeId node = graph.add_node(NodeKind::network_switch, switch_name("crossbar", prefix, {}));
    const LinkId end_links = add_end_links(spec, ends, std::vector<NodeId>(ends.nodes.size(), node), graph);
    return std::make_unique<CrossbarNetwork>(spec, ends, node, end_links);
  }
};

}  // namespace

const FabricRow<Crossbar>& Crossbar::row() {
  static const CrossbarRow row;
  return row;
}

}  // namespace lockstep::topologies
