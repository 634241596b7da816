#include <algorithm>
#include <cmath>

#include "topologies/fabrics/fabric_row_private.hpp"

namespace lockstep::topologies {
namespace {

/// Uplinks that carry what `down` ports bring, each of which fills `share` of an uplink.
int uplinks(int down, double share) {
  return std::max(1, static_cast<int>(std::ceil(down * share - 1e-9)));  // 48 x 1/3 is 16, not 17
}

/// The most ports down that leave room for their uplinks.
int most_down(int radix, double share) {
  int down = static_cast<int>(radix / (1 + share)) + 1;
  while (down > 0 && down + uplinks(down, share) > radix) --down;
  return down;
}

/// Equal parts of at most `most` things: of whole groups where one fits, else each group in parts of its own.
struct Cut {
  int parts, size;
  int parts_of_group = 1;
};
Cut cut(int count, int most, int group) {
  if (most < group) {
    const int parts = (group - 1) / most + 1;
    return {count / group * parts, (group - 1) / parts + 1, parts};
  }
  most -= most % group;
  const int parts = (count - 1) / most + 1;
  const int groups = (count - 1) / (parts * group) + 1;
  const int size = groups * group;
  return {(count - 1) / size + 1, size};
}

double oversubscription(const FabricSpec& spec, std::size_t tier) {
  return tier < spec.oversubscription.size() ? spec.oversubscription[tier] : 1;
}

}  // namespace

PossibleTree tree_shape(const FabricSpec& spec, const RailOptimised* rails, int ends, int per_unit,
                        BytesPerSecond end_rate) {
  const BytesPerSecond port = spec.efficiency * end_rate;
  const BytesPerSecond link = switch_link(spec, end_rate);
  const double leaf_share = port / (oversubscription(spec, 0) * link);
  const int leaf_ports = most_down(spec.radix, leaf_share);
  const std::string radix = "a switch of " + std::to_string(spec.radix) + " ports";
  if (leaf_ports < 1)
    return ClusterProblem{"radix", radix + " has no port left besides the uplinks that a NIC needs", "more ports"};

  TreeShape tree;
  tree.per_unit = per_unit;
  if (rails != nullptr) {
    const int most = rails->nodes_per_scalable_unit > 0 ? rails->nodes_per_scalable_unit : leaf_ports;
    if (most > leaf_ports) {
      return ClusterProblem{"nodes_per_scalable_unit",
                            radix + " joins NICs of " + std::to_string(leaf_ports) +
                                " nodes besides its uplinks, not " + std::to_string(most),
                            "at most " + std::to_string(leaf_ports)};
    }
    const Cut units = cut(ends / per_unit, most, 1);
    tree.rails = per_unit;
    tree.ends_per_leaf = units.size;
    tree.leaves = units.parts * per_unit;
    tree.leaves_of_unit = per_unit;
  } else {
    const Cut leaves = cut(ends, leaf_ports, per_unit);
    tree.ends_per_leaf = leaves.size;
    tree.leaves = leaves.parts;
    tree.leaves_of_unit = leaves.parts_of_group;
  }
  tree.leaves_per_pod = tree.leaves;
  if (tree.leaves == 1) return tree;

  tree.leaf_uplinks = uplinks(tree.ends_per_leaf, leaf_share);
  tree.leaf_uplink = port * (tree.ends_per_leaf / (oversubscription(spec, 0) * tree.leaf_uplinks));
  if (tree.leaves <= spec.radix) return tree;

  const double spine_share = tree.leaf_uplink / (oversubscription(spec, 1) * link);
  const int spine_ports = most_down(spec.radix, spine_share);
  if (spine_ports < 1)
    return ClusterProblem{"radix", radix + " has no port left besides a spine's uplinks", "more ports"};
  const Cut pods = cut(tree.leaves, spine_ports, tree.leaves_of_unit);
  tree.pods = pods.parts;
  tree.pods_of_unit = pods.parts_of_group;
  tree.leaves_per_pod = pods.size;
  tree.spine_uplinks = uplinks(pods.size, spine_share);
  tree.spine_uplink = tree.leaf_uplink * (pods.size / (oversubscription(spec, 1) * tree.spine_uplinks));
  if (tree.pods <= spec.radix) return tree;
  return ClusterProblem{"radix",
                        "three tiers of switches of " + std::to_string(spec.radix) + " ports reach " +
                            std::to_string(spec.radix) + " pods of " + std::to_string(pods.size) + " leaves; " +
                            std::to_string(ends) + " NICs need " + std::to_string(pods.parts) + " pods",
                        "a larger radix, more oversubscription or fewer units"};
}

std::vector<ClusterProblem> tree_limits(const FabricSpec& spec) {
  std::vector<ClusterProblem> problems;
  check_count("radix", spec.radix, "ports of a switch", most_ports, problems);
  return problems;
}

std::variant<int, ClusterProblem> tree_tops(const PossibleTree& possible) {
  if (const auto* problem = std::get_if<ClusterProblem>(&possible)) return *problem;
  return std::get<TreeShape>(possible).tops();
}

}  // namespace lockstep::topologies
