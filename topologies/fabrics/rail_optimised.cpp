#include <utility>

#include "topologies/fabrics/fabric_row_private.hpp"
#include "topologies/fabrics/tree_private.hpp"

namespace lockstep::topologies {
namespace {

using Rails = RailOptimised::Rails;

/// One tree over all rails, or as many equal ones as there are rails.
struct RailTrees {
  PossibleTree each;
  int count = 1;
};

RailTrees rail_trees(const FabricSpec& spec, const RailOptimised& keys, EndCount ends) {
  RailTrees joined{tree_shape(spec, &keys, ends)};
  if (keys.rails == Rails::joined || ends.per_unit == 1) return joined;
  const bool enough = std::holds_alternative<TreeShape>(joined.each);
  if (keys.rails == Rails::as_needed && (enough || ends.unit != UnitKind::node)) return joined;
  if (ends.unit != UnitKind::node) {
    return {
        ClusterProblem{"rails", "only chips of a node pass data on to other rails", "joined, or a cluster of nodes"}};
  }
  const int rails = ends.per_unit;
  ends.count = ends.units();
  ends.per_unit = 1;
  RailTrees separate{tree_shape(spec, &keys, ends), rails};
  if (auto* problem = std::get_if<ClusterProblem>(&separate.each); problem != nullptr && problem->key == "radix")
    problem->what += ", even with trees of their own for the rails";
  return separate;
}

/// A tree for each rail. End e is NIC e / rails of the tree of rail e % rails, and the top switches are numbered tree
/// by tree.
class RailTreesNetwork : public SwitchNetwork {
 public:
  RailTreesNetwork(const FabricSpec& spec, const NetworkEnds& ends,
                   std::vector<std::unique_ptr<const SwitchNetwork>> trees)
      : SwitchNetwork(spec, ends), trees_(std::move(trees)) {
    for (const auto& tree : trees_) tops_.insert(tops_.end(), tree->tops().begin(), tree->tops().end());
  }

  bool route(int from, int to, int flow, const MissingLinks& missing, std::vector<LinkId>& links) const override {
    return rail_of(from) == rail_of(to) && tree_of(from).route(from / rails(), to / rails(), flow, missing, links);
  }
  [[nodiscard]] int rail_of(int end) const override { return end % rails(); }
  [[nodiscard]] const std::vector<NodeId>& tops() const override { return tops_; }
  [[nodiscard]] int switches_of_a_top() const override { return trees_.front()->switches_of_a_top(); }
  [[nodiscard]] int top_of(int end, std::uint64_t choice) const override {
    return rail_of(end) * tops_of_a_tree() + tree_of(end).top_of(end / rails(), choice);
  }
  void climb(int from, int top, std::vector<LinkId>& links) const override {
    tree_of(from).climb(from / rails(), top % tops_of_a_tree(), links);
  }
  void descend(int top, int to, std::vector<LinkId>& links) const override {
    tree_of(to).descend(top % tops_of_a_tree(), to / rails(), links);
  }

 private:
  [[nodiscard]] int rails() const { return static_cast<int>(trees_.size()); }
  [[nodiscard]] int tops_of_a_tree() const { return static_cast<int>(tops_.size() / trees_.size()); }
  [[nodiscard]] const SwitchNetwork& tree_of(int end) const { return *trees_[position_of(rail_of(end))]; }

  std::vector<std::unique_ptr<const SwitchNetwork>> trees_;
  std::vector<NodeId> tops_;
};

/// The NICs of one rail, which are ends of a tree of their own.
NetworkEnds ends_of_rail(const NetworkEnds& ends, int rail) {
  NetworkEnds of_rail = ends;
  of_rail.nodes.clear();
  of_rail.per_unit = 1;
  for (auto end = static_cast<std::size_t>(rail); end < ends.nodes.size();
       end += static_cast<std::size_t>(ends.per_unit))
    of_rail.nodes.push_back(ends.nodes[end]);
  return of_rail;
}

class RailOptimisedRow final : public FabricRow<RailOptimised> {
  [[nodiscard]] std::string_view name() const override { return "rail_optimised"; }
  [[nodiscard]] std::string_view about() const override {
    return "as `fat_tree`, but a leaf holds NIC i of the nodes of one scalable unit";
  }
  void read(const YamlView& view, RailOptimised& keys) const override {
    read_count(view["nodes_per_scalable_unit"], 1, keys.nodes_per_scalable_unit);
    if (const YamlView rails = view["rails"]; rails.exists())
      keys.rails = std::vector{Rails::as_needed, Rails::joined,
                               Rails::separate}[rails.choice({"as-needed", "joined", "separate"})];
  }
  [[nodiscard]] std::vector<ClusterProblem> limits(const FabricSpec& spec, const RailOptimised& keys) const override {
    std::vector<ClusterProblem> problems = tree_limits(spec);
    if (keys.nodes_per_scalable_unit < 0)
      check_count("nodes_per_scalable_unit", keys.nodes_per_scalable_unit, "nodes", most_ports, problems);
    return problems;
  }
  [[nodiscard]] std::variant<int, ClusterProblem> tops(const FabricSpec& spec, const RailOptimised& keys,
                                                       const EndCount& ends) const override {
    const RailTrees trees = rail_trees(spec, keys, ends);
    if (const auto* shape = std::get_if<TreeShape>(&trees.each)) return trees.count * shape->tops();
    return std::get<ClusterProblem>(trees.each);
  }
  [[nodiscard]] std::unique_ptr<const SwitchNetwork> build(const FabricSpec& spec, const RailOptimised& keys,
                                                           const NetworkEnds& ends, const std::vector<int>& prefix,
                                                           Cluster::Graph& graph) const override {
    const RailTrees trees = rail_trees(spec, keys, ends.count());
    if (trees.count == 1) return build_tree(spec, trees.each, ends, prefix, graph);
    std::vector<std::unique_ptr<const SwitchNetwork>> of_rails;
    for (int rail = 0; rail < trees.count; ++rail) {
      std::vector<int> place = prefix;
      place.push_back(rail);
      of_rails.push_back(build_tree(spec, trees.each, ends_of_rail(ends, rail), place, graph));
    }
    return std::make_unique<RailTreesNetwork>(spec, ends, std::move(of_rails));
  }
};

}  // namespace

const FabricRow<RailOptimised>& RailOptimised::row() {
  static const RailOptimisedRow row;
  return row;
}

}  // namespace lockstep::topologies
