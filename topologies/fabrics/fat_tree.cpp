#include <algorithm>
#include <utility>

#include "sim/core/errors.hpp"
#include "topologies/fabrics/fabric_row_private.hpp"
#include "topologies/fabrics/tree_private.hpp"

namespace lockstep::topologies {
namespace {

/// A tree as modelled. Hashed it has all switches of its shape. Sprayed it has one plane, whose links have the
/// bandwidth of all; where an end takes several ports, the groups that its unit's ports lie in are one, too.
class ModelledTree {
 public:
  ModelledTree(TreeShape shape, FabricRouting routing, int ports) : shape_(std::move(shape)), ports_(ports) {
    const bool hashed = routing == FabricRouting::ecmp;
    if (shape_.per_unit % ports != 0) throw InternalError("the ports of an end lie in two units");
    int of_shape = 1;
    int width = 1;
    for (const TreeTier& tier : shape_.tiers) {
      const int in_one = !hashed && ports > 1 ? tier.groups_of_unit : 1;
      const int uplinks = hashed ? std::max(1, tier.uplinks) : 1;
      of_shape *= std::max(1, tier.uplinks);
      tiers_.push_back({width, uplinks, in_one, tier.uplink * (of_shape / (width * uplinks) * in_one)});
      width *= uplinks;
    }
  }

  [[nodiscard]] std::size_t tiers() const { return tiers_.size(); }
  [[nodiscard]] int groups(std::size_t tier) const { return shape_.tiers[tier].groups / tiers_[tier].in_one; }
  /// Switches of each group of a tier. A path has the number of a top switch; modulo this it is that of its switch.
  [[nodiscard]] int width(std::size_t tier) const { return tiers_[tier].width; }
  [[nodiscard]] int uplinks(std::size_t tier) const { return tiers_[tier].uplinks; }
  [[nodiscard]] BytesPerSecond uplink(std::size_t tier) const { return tiers_[tier].uplink; }
  [[nodiscard]] int leaf_of(int end) const { return shape_.leaf_of(end * ports_) / tiers_.front().in_one; }
  [[nodiscard]] int group_above(std::size_t tier, int below) const {
    return shape_.group_above(tier, below * tiers_[tier - 1].in_one) / tiers_[tier].in_one;
  }
  [[nodiscard]] int switches_of_a_top() const { return shape_.tops() / tiers_.back().width; }

 private:
  struct Tier {
    int width, uplinks;  ///< switches of a group, uplinks of a switch
    int in_one;          ///< groups of the shape that one stands for
    BytesPerSecond uplink;
  };
  TreeShape shape_;
  int ports_;  ///< of an end
  std::vector<Tier> tiers_;
};

/// Leaves, spines, cores and what is above them, in planes: spine s of every pod leads to the same cores.
class FatTreeNetwork : public SwitchNetwork {
 public:
  /// `first` link of the ends and of each tier's uplinks; up even, down odd from there.
  FatTreeNetwork(const FabricSpec& spec, const NetworkEnds& ends, ModelledTree tree, std::vector<LinkId> first,
                 std::vector<NodeId> tops)
      : SwitchNetwork(spec, ends), tree_(std::move(tree)), first_(std::move(first)), tops_(std::move(tops)) {}

  bool route(int from, int to, int flow, const MissingLinks& missing, std::vector<LinkId>& links) const override {
    const std::size_t tiers = tiers_between(tree_.leaf_of(from), tree_.leaf_of(to));
    return take_way(tops_.size(), choice_of_ends(from, to, flow), missing, links, [&](std::size_t path) {
      up(from, static_cast<int>(path), tiers, links);
      down(static_cast<int>(path), to, tiers, links);
      return true;
    });
  }
  [[nodiscard]] const std::vector<NodeId>& tops() const override { return tops_; }
  [[nodiscard]] int switches_of_a_top() const override { return tree_.switches_of_a_top(); }
  [[nodiscard]] int top_of(int, std::uint64_t choice) const override { return static_cast<int>(choice % tops_.size()); }
  void climb(int from, int top, std::vector<LinkId>& links) const override { up(from, top, tree_.tiers(), links); }
  void descend(int top, int to, std::vector<LinkId>& links) const override { down(top, to, tree_.tiers(), links); }

 private:
  /// Those up to the lowest group in which both leaves lie.
  [[nodiscard]] std::size_t tiers_between(int leaf, int other) const {
    std::size_t tiers = 1;
    while (leaf != other) {
      leaf = tree_.group_above(tiers, leaf);
      other = tree_.group_above(tiers, other);
      ++tiers;
    }
    return tiers;
  }
  /// The link up from the switch of a group by which a path leads.
  [[nodiscard]] LinkId uplink(std::size_t tier, int group, int path) const {
    const int width = tree_.width(tier);
    const int uplinks = tree_.uplinks(tier);
    return first_[tier + 1] + 2 * ((group * width + path % width) * uplinks + path / width % uplinks);
  }

  void up(int from, int path, std::size_t tiers, std::vector<LinkId>& links) const {
    links.push_back(first_.front() + 2 * from);
    int group = tree_.leaf_of(from);
    for (std::size_t tier = 0; tier + 1 < tiers; ++tier) {
      links.push_back(uplink(tier, group, path));
      group = tree_.group_above(tier + 1, group);
    }
  }
  /// The way up, backwards.
  void down(int path, int to, std::size_t tiers, std::vector<LinkId>& links) const {
    const auto start = static_cast<std::ptrdiff_t>(links.size());
    up(to, path, tiers, links);
    std::reverse(links.begin() + start, links.end());
    std::for_each(links.begin() + start, links.end(), [](LinkId& link) { ++link; });
  }

  ModelledTree tree_;
  std::vector<LinkId> first_;
  std::vector<NodeId> tops_;  ///< by path
};

/// "leaf(3)", "spine(1,0)" of a pod, "core(2,5)" above spine 5. A tier of one plane has one number for each group.
std::string name_of(const ModelledTree& tree, std::size_t tier, int group, int path, const std::vector<int>& prefix) {
  constexpr std::string_view words[] = {"leaf", "spine", "core", "upper-core", "top"};
  static_assert(std::size(words) == most_tiers);
  std::vector<int> numbers;
  if (tier < 2 || tree.groups(tier) > 1) numbers.push_back(group);
  if (tier == 1 && tree.width(1) > 1) numbers.push_back(path);
  if (tier > 1) {
    const int below = tree.width(tier - 1);
    if (numbers.empty() || tree.uplinks(tier - 1) > 1) numbers.push_back(path / below);
    if (below > 1) numbers.push_back(path % below);
  }
  return switch_name(words[tier], prefix, numbers);
}

class FatTreeRow final : public FabricRow<FatTree> {
  [[nodiscard]] std::string_view name() const override { return "fat_tree"; }
  [[nodiscard]] std::string_view about() const override {
    return "NICs in order on leaves, whole nodes where a leaf has room for one; leaves on spines; cores above";
  }
  void read(const YamlView&, FatTree&) const override {}
  [[nodiscard]] std::vector<ClusterProblem> limits(const FabricSpec& spec, const FatTree&) const override {
    return tree_limits(spec);
  }
  [[nodiscard]] std::variant<int, ClusterProblem> tops(const FabricSpec& spec, const FatTree&,
                                                       const EndCount& ends) const override {
    return tree_tops(tree_shape(spec, nullptr, ends));
  }
  [[nodiscard]] std::unique_ptr<const SwitchNetwork> build(const FabricSpec& spec, const FatTree&,
                                                           const NetworkEnds& ends, const std::vector<int>& prefix,
                                                           Cluster::Graph& graph) const override {
    return build_tree(spec, tree_shape(spec, nullptr, ends.count()), ends, prefix, graph);
  }
};

}  // namespace

std::unique_ptr<const SwitchNetwork> build_tree(const FabricSpec& spec, const PossibleTree& possible,
                                                const NetworkEnds& ends, const std::vector<int>& prefix,
                                                Cluster::Graph& graph) {
  if (const auto* problem = std::get_if<ClusterProblem>(&possible)) throw InternalError("no tree: " + problem->what);
  ModelledTree tree(std::get<TreeShape>(possible), spec.routing, ends.ports);
  // The switches of each tier come by group, then by path.
  std::vector<NodeId> below;
  std::vector<LinkId> first;
  for (std::size_t tier = 0; tier < tree.tiers(); ++tier) {
    std::vector<NodeId> switches;
    for (int group = 0; group < tree.groups(tier); ++group) {
      for (int path = 0; path < tree.width(tier); ++path)
        switches.push_back(graph.add_node(NodeKind::network_switch, name_of(tree, tier, group, path, prefix)));
    }
    if (tier == 0) {
      std::vector<NodeId> leaf_of_end;
      for (int end = 0; std::cmp_less(end, ends.nodes.size()); ++end)
        leaf_of_end.push_back(switches[position_of(tree.leaf_of(end))]);
      first.push_back(add_end_links(spec, ends, leaf_of_end, graph));
    } else {
      first.push_back(static_cast<LinkId>(graph.links.size()));
      const int width = tree.width(tier - 1);
      for (int group = 0; group < tree.groups(tier - 1); ++group) {
        const int above = tree.group_above(tier, group) * tree.width(tier);
        for (int path = 0; path < width; ++path) {
          for (int uplink = 0; uplink < tree.uplinks(tier - 1); ++uplink) {
            add_both_ways(graph, below[position_of(group * width + path)],
                          switches[position_of(above + uplink * width + path)], LinkKind::network,
                          tree.uplink(tier - 1), spec.switch_latency);
          }
        }
      }
    }
    below = std::move(switches);
  }
  return std::make_unique<FatTreeNetwork>(spec, ends, std::move(tree), std::move(first), std::move(below));
}

const FabricRow<FatTree>& FatTree::row() {
  static const FatTreeRow row;
  return row;
}

}  // namespace lockstep::topologies
