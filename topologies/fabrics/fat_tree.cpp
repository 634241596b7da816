#include <algorithm>
#include <utility>

#include "sim/core/errors.hpp"
#include "topologies/fabrics/fabric_row_private.hpp"

namespace lockstep::topologies {
namespace {

/// A tree as modelled. Hashed it has all switches of its shape. Sprayed it has one plane, whose links have the
/// bandwidth of all; where an end takes the ports of a whole unit, the leaves and pods that these lie on are one, too.
struct ModelledTree {
  TreeShape shape;
  int ports = 1;                           ///< of an end
  int leaves_in_one = 1, pods_in_one = 1;  ///< switches of the shape that one stands for
  int spines = 1, cores = 1;               ///< of a pod, and above each spine

  [[nodiscard]] int leaves() const { return shape.leaves / leaves_in_one; }
  [[nodiscard]] int pods() const { return shape.pods / pods_in_one; }
  [[nodiscard]] int leaf_of(int end) const { return shape.leaf_of(end * ports) / leaves_in_one; }
  [[nodiscard]] int pod_of(int leaf) const { return shape.pod_of(leaf * leaves_in_one) / pods_in_one; }
  [[nodiscard]] BytesPerSecond leaf_uplink() const {
    return shape.leaf_uplink * (std::max(1, shape.leaf_uplinks) / spines * leaves_in_one);
  }
  [[nodiscard]] BytesPerSecond spine_uplink() const {
    return shape.spine_uplink * (shape.tops() / (spines * cores) * pods_in_one);
  }
};

ModelledTree modelled(const TreeShape& shape, FabricRouting routing, int ports) {
  ModelledTree tree{shape, ports};
  if (routing == FabricRouting::ecmp) {
    tree.spines = std::max(1, shape.leaf_uplinks);
    tree.cores = std::max(1, shape.spine_uplinks);
  } else if (ports > 1) {
    if (ports != shape.per_unit) throw InternalError("an end takes the ports of a part of a unit");
    tree.leaves_in_one = shape.leaves_of_unit;
    tree.pods_in_one = shape.pods_of_unit;
  }
  return tree;
}

/// Leaves, spines and cores in planes: spine s of every pod leads to the same cores.
class FatTreeNetwork : public SwitchNetwork {
 public:
  struct Links {
    LinkId ends, leaves, spines;  ///< the first of each tier; up even, down odd from there
  };
  FatTreeNetwork(const FabricSpec& spec, const NetworkEnds& ends, const ModelledTree& tree, Links first,
                 std::vector<NodeId> tops)
      : SwitchNetwork(spec, ends), tree_(tree), first_(first), tops_(std::move(tops)) {}

  bool route(int from, int to, const MissingLinks& missing, std::vector<LinkId>& links) const override {
    const int tiers = tiers_between(tree_.leaf_of(from), tree_.leaf_of(to));
    return take_way(tops_.size(), choice_of_ends(from, to), missing, links, [&](std::size_t path) {
      up(from, static_cast<int>(path), tiers, links);
      down(static_cast<int>(path), to, tiers, links);
      return true;
    });
  }
  [[nodiscard]] const std::vector<NodeId>& tops() const override { return tops_; }
  [[nodiscard]] int switches_of_a_top() const override { return tree_.shape.tops() / static_cast<int>(tops_.size()); }
  [[nodiscard]] int top_of(int, std::uint64_t choice) const override { return static_cast<int>(choice % tops_.size()); }
  void climb(int from, int top, std::vector<LinkId>& links) const override { up(from, top, all_tiers(), links); }
  void descend(int top, int to, std::vector<LinkId>& links) const override { down(top, to, all_tiers(), links); }

 private:
  [[nodiscard]] int all_tiers() const {
    return tree_.shape.leaf_uplinks == 0 ? 1 : tree_.shape.spine_uplinks == 0 ? 2 : 3;
  }
  [[nodiscard]] int tiers_between(int leaf, int other) const {
    if (leaf == other) return 1;
    return tree_.pod_of(leaf) == tree_.pod_of(other) ? 2 : 3;
  }
  [[nodiscard]] LinkId leaf_link(int leaf, int path) const {
    return first_.leaves + 2 * (leaf * tree_.spines + path % tree_.spines);
  }
  [[nodiscard]] LinkId spine_link(int pod, int path) const {
    return first_.spines + 2 * ((pod * tree_.spines + path % tree_.spines) * tree_.cores + path / tree_.spines);
  }

  void up(int from, int path, int tiers, std::vector<LinkId>& links) const {
    const int leaf = tree_.leaf_of(from);
    links.push_back(first_.ends + 2 * from);
    if (tiers > 1) links.push_back(leaf_link(leaf, path));
    if (tiers > 2) links.push_back(spine_link(tree_.pod_of(leaf), path));
  }
  void down(int path, int to, int tiers, std::vector<LinkId>& links) const {
    const int leaf = tree_.leaf_of(to);
    if (tiers > 2) links.push_back(spine_link(tree_.pod_of(leaf), path) + 1);
    if (tiers > 1) links.push_back(leaf_link(leaf, path) + 1);
    links.push_back(first_.ends + 2 * to + 1);
  }

  ModelledTree tree_;
  Links first_;
  std::vector<NodeId> tops_;  ///< by path: spine + spines x core
};

class FatTreeRow final : public FabricRow<FatTree> {
  [[nodiscard]] std::string_view name() const override { return "fat_tree"; }
  [[nodiscard]] std::string_view about() const override {
    return "NICs in order on leaves, whole nodes where a leaf has room for one; leaves on spines; cores above";
  }
  void read(const YamlView&, FatTree&) const override {}
  [[nodiscard]] std::vector<ClusterProblem> limits(const FabricSpec& spec, const FatTree&) const override {
    return tree_limits(spec);
  }
  [[nodiscard]] std::variant<int, ClusterProblem> tops(const FabricSpec& spec, const FatTree&, int ends, int per_unit,
                                                       BytesPerSecond end_rate) const override {
    return tree_tops(tree_shape(spec, nullptr, ends, per_unit, end_rate));
  }
  [[nodiscard]] std::unique_ptr<const SwitchNetwork> build(const FabricSpec& spec, const FatTree&,
                                                           const NetworkEnds& ends, const std::vector<int>& prefix,
                                                           Cluster::Graph& graph) const override {
    return build_tree(spec, tree_shape(spec, nullptr, ends.count(), ends.per_unit, ends.rate), ends, prefix, graph);
  }
};

}  // namespace

std::unique_ptr<const SwitchNetwork> build_tree(const FabricSpec& spec, const PossibleTree& possible,
                                                const NetworkEnds& ends, const std::vector<int>& prefix,
                                                Cluster::Graph& graph) {
  if (const auto* problem = std::get_if<ClusterProblem>(&possible)) throw InternalError("no tree: " + problem->what);
  const ModelledTree tree = modelled(std::get<TreeShape>(possible), spec.routing, ends.ports);
  const auto add_switches = [&](std::string_view what, int count, int of_each) {
    std::vector<NodeId> switches;
    for (int i = 0; i < count; ++i) {
      for (int j = 0; j < of_each; ++j) {
        switches.push_back(graph.add_node(
            NodeKind::network_switch, switch_name(what, prefix, of_each == 1 ? std::vector{i} : std::vector{i, j})));
      }
    }
    return switches;
  };
  FatTreeNetwork::Links first{};

  const std::vector<NodeId> leaves = add_switches("leaf", tree.leaves(), 1);
  std::vector<NodeId> leaf_of_end;
  for (int end = 0; std::cmp_less(end, ends.nodes.size()); ++end)
    leaf_of_end.push_back(leaves[static_cast<std::size_t>(tree.leaf_of(end))]);
  first.ends = add_end_links(spec, ends, leaf_of_end, graph);
  if (tree.shape.leaf_uplinks == 0) return std::make_unique<FatTreeNetwork>(spec, ends, tree, first, leaves);

  const int spines = tree.spines;
  const std::vector<NodeId> spine_switches = add_switches("spine", tree.pods(), spines);
  first.leaves = static_cast<LinkId>(graph.links.size());
  for (int leaf = 0; leaf < tree.leaves(); ++leaf) {
    for (int spine = 0; spine < spines; ++spine) {
      add_both_ways(graph, leaves[static_cast<std::size_t>(leaf)],
                    spine_switches[static_cast<std::size_t>(tree.pod_of(leaf) * spines + spine)], LinkKind::network,
                    tree.leaf_uplink(), spec.switch_latency);
    }
  }
  if (tree.shape.spine_uplinks == 0) return std::make_unique<FatTreeNetwork>(spec, ends, tree, first, spine_switches);

  const int cores = tree.cores;
  const std::vector<NodeId> core_switches = add_switches("core", cores, spines);  // by path
  first.spines = static_cast<LinkId>(graph.links.size());
  for (int pod = 0; pod < tree.pods(); ++pod) {
    for (int spine = 0; spine < spines; ++spine) {
      for (int core = 0; core < cores; ++core) {
        add_both_ways(graph, spine_switches[static_cast<std::size_t>(pod * spines + spine)],
                      core_switches[static_cast<std::size_t>(core * spines + spine)], LinkKind::network,
                      tree.spine_uplink(), spec.switch_latency);
      }
    }
  }
  return std::make_unique<FatTreeNetwork>(spec, ends, tree, first, core_switches);
}

const FabricRow<FatTree>& FatTree::row() {
  static const FatTreeRow row;
  return row;
}

}  // namespace lockstep::topologies
