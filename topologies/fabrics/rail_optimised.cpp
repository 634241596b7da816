#include "topologies/fabrics/fabric_row_private.hpp"

namespace lockstep::topologies {
namespace {

class RailOptimisedRow final : public FabricRow<RailOptimised> {
  [[nodiscard]] std::string_view name() const override { return "rail_optimised"; }
  [[nodiscard]] std::string_view about() const override {
    return "as `fat_tree`, but a leaf holds NIC i of the nodes of one scalable unit";
  }
  void read(const YamlView& view, RailOptimised& keys) const override {
    read_count(view["nodes_per_scalable_unit"], 1, keys.nodes_per_scalable_unit);
  }
  [[nodiscard]] std::vector<ClusterProblem> limits(const FabricSpec& spec, const RailOptimised& keys) const override {
    std::vector<ClusterProblem> problems = tree_limits(spec);
    if (keys.nodes_per_scalable_unit < 0)
      check_count("nodes_per_scalable_unit", keys.nodes_per_scalable_unit, "nodes", most_ports, problems);
    return problems;
  }
  [[nodiscard]] std::variant<int, ClusterProblem> tops(const FabricSpec& spec, const RailOptimised& keys, int ends,
                                                       int per_unit, BytesPerSecond end_rate) const override {
    return tree_tops(tree_shape(spec, &keys, ends, per_unit, end_rate));
  }
  [[nodiscard]] std::unique_ptr<const SwitchNetwork> build(const FabricSpec& spec, const RailOptimised& keys,
                                                           const NetworkEnds& ends, const std::vector<int>& prefix,
                                                           Cluster::Graph& graph) const override {
    return build_tree(spec, tree_shape(spec, &keys, ends.count(), ends.per_unit, ends.rate), ends, prefix, graph);
  }
};

}  // namespace

const FabricRow<RailOptimised>& RailOptimised::row() {
  static const RailOptimisedRow row;
  return row;
}

}  // namespace lockstep::topologies
