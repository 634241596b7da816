#include <utility>

#include "sim/core/errors.hpp"
#include "topologies/switch_network_private.hpp"

namespace lockstep {
namespace {

/// Leaves, spines and cores in planes: spine s of every pod leads to the same cores. Spraying is the tree with one
/// plane, whose links have the bandwidth of all.
class FatTree : public SwitchNetwork {
 public:
  struct Links {
    LinkId ends, leaves, spines;  ///< the first of each tier; up even, down odd from there
  };
  FatTree(const FabricSpec& spec, const NetworkEnds& ends, const TreeShape& shape, int spines, int cores, Links first,
          std::vector<NodeId> tops)
      : SwitchNetwork(spec, ends),
        shape_(shape),
        spines_(spines),
        cores_(cores),
        first_(first),
        tops_(std::move(tops)) {}

  bool route(int from, int to, const MissingLinks& missing, std::vector<LinkId>& links) const override {
    const int tiers = tiers_between(shape_.leaf_of(from), shape_.leaf_of(to));
    return take_way(tops_.size(), choice_of_ends(from, to), missing, links, [&](std::size_t path) {
      up(from, static_cast<int>(path), tiers, links);
      down(static_cast<int>(path), to, tiers, links);
      return true;
    });
  }
  [[nodiscard]] const std::vector<NodeId>& tops() const override { return tops_; }
  [[nodiscard]] int top_of(int, std::uint64_t choice) const override { return static_cast<int>(choice % tops_.size()); }
  void climb(int from, int top, std::vector<LinkId>& links) const override { up(from, top, all_tiers(), links); }
  void descend(int top, int to, std::vector<LinkId>& links) const override { down(top, to, all_tiers(), links); }

 private:
  [[nodiscard]] int all_tiers() const { return shape_.leaf_uplinks == 0 ? 1 : shape_.spine_uplinks == 0 ? 2 : 3; }
  [[nodiscard]] int tiers_between(int leaf, int other) const {
    if (leaf == other) return 1;
    return shape_.pod_of(leaf) == shape_.pod_of(other) ? 2 : 3;
  }
  [[nodiscard]] LinkId leaf_link(int leaf, int path) const {
    return first_.leaves + 2 * (leaf * spines_ + path % spines_);
  }
  [[nodiscard]] LinkId spine_link(int pod, int path) const {
    return first_.spines + 2 * ((pod * spines_ + path % spines_) * cores_ + path / spines_);
  }

  void up(int from, int path, int tiers, std::vector<LinkId>& links) const {
    const int leaf = shape_.leaf_of(from);
    links.push_back(first_.ends + 2 * from);
    if (tiers > 1) links.push_back(leaf_link(leaf, path));
    if (tiers > 2) links.push_back(spine_link(shape_.pod_of(leaf), path));
  }
  void down(int path, int to, int tiers, std::vector<LinkId>& links) const {
    const int leaf = shape_.leaf_of(to);
    if (tiers > 2) links.push_back(spine_link(shape_.pod_of(leaf), path) + 1);
    if (tiers > 1) links.push_back(leaf_link(leaf, path) + 1);
    links.push_back(first_.ends + 2 * to + 1);
  }

  TreeShape shape_;
  int spines_, cores_;  ///< of a pod, and above each spine, as modelled
  Links first_;
  std::vector<NodeId> tops_;  ///< by path: spine + spines x core
};

}  // namespace

std::unique_ptr<const SwitchNetwork> build_fat_tree(const FabricSpec& spec, const NetworkEnds& ends,
                                                    const std::vector<int>& prefix, Cluster::Graph& graph) {
  const auto possible = tree_shape(spec, ends.count(), ends.per_unit, ends.rate);
  if (const auto* problem = std::get_if<ClusterProblem>(&possible)) throw InternalError("no tree: " + problem->what);
  const TreeShape& tree = std::get<TreeShape>(possible);
  const bool spray = spec.routing == FabricRouting::spray;
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
  FatTree::Links first{};

  const std::vector<NodeId> leaves = add_switches("leaf", tree.leaves, 1);
  std::vector<NodeId> leaf_of_end;
  for (int end = 0; end < ends.count(); ++end)
    leaf_of_end.push_back(leaves[static_cast<std::size_t>(tree.leaf_of(end))]);
  first.ends = add_end_links(spec, ends, leaf_of_end, graph);
  if (tree.leaf_uplinks == 0) return std::make_unique<FatTree>(spec, ends, tree, 1, 1, first, leaves);

  const int spines = spray ? 1 : tree.leaf_uplinks;
  const std::vector<NodeId> spine_switches = add_switches("spine", tree.pods, spines);
  first.leaves = static_cast<LinkId>(graph.links.size());
  for (int leaf = 0; leaf < tree.leaves; ++leaf) {
    for (int spine = 0; spine < spines; ++spine) {
      add_both_ways(graph, leaves[static_cast<std::size_t>(leaf)],
                    spine_switches[static_cast<std::size_t>(tree.pod_of(leaf) * spines + spine)], LinkKind::network,
                    tree.leaf_uplink * (spray ? tree.leaf_uplinks : 1), spec.switch_latency);
    }
  }
  if (tree.spine_uplinks == 0) return std::make_unique<FatTree>(spec, ends, tree, spines, 1, first, spine_switches);

  const int cores = spray ? 1 : tree.spine_uplinks;
  const std::vector<NodeId> core_switches = add_switches("core", cores, spines);  // by path
  first.spines = static_cast<LinkId>(graph.links.size());
  for (int pod = 0; pod < tree.pods; ++pod) {
    for (int spine = 0; spine < spines; ++spine) {
      for (int core = 0; core < cores; ++core) {
        add_both_ways(graph, spine_switches[static_cast<std::size_t>(pod * spines + spine)],
                      core_switches[static_cast<std::size_t>(core * spines + spine)], LinkKind::network,
                      tree.spine_uplink * (spray ? tree.leaf_uplinks * tree.spine_uplinks : 1), spec.switch_latency);
      }
    }
  }
  return std::make_unique<FatTree>(spec, ends, tree, spines, cores, first, core_switches);
}

}  // namespace lockstep
