#include <algorithm>
#include <cmath>

#include "topologies/fabrics/fabric_row_private.hpp"
#include "topologies/fabrics/tree_private.hpp"

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

std::string switch_of(int ports) { return "a switch of " + std::to_string(ports) + " ports"; }

/// "three tiers of switches of 64 ports", "two tiers of switches of 32 and 220 ports"
std::string all_tiers(const FabricSpec& spec) {
  constexpr std::string_view words[] = {"one tier", "two tiers", "three tiers", "four tiers", "five tiers"};
  static_assert(std::size(words) == most_tiers);
  std::string text = std::string(words[spec.tiers - 1]) + " of switches of " + std::to_string(spec.radix);
  const std::size_t listed = std::min(spec.radix_above.size(), static_cast<std::size_t>(spec.tiers - 1));
  for (std::size_t i = 0; i < listed; ++i)
    text += (i + 1 < listed ? ", " : " and ") + std::to_string(spec.radix_above[i]);
  return text + " ports";
}

std::string_view word(UnitKind unit) {
  return unit == UnitKind::node ? "nodes" : unit == UnitKind::pod ? "pods" : "halls";
}

constexpr std::int64_t most_tops = 1 << 24;  // refused before memory is spent on them

struct TooManyEnds {};  ///< for the tiers that the tree may have

/// Grows a tree from its leaves upwards until one switch for each uplink of a group reaches all groups.
std::variant<TreeShape, ClusterProblem, TooManyEnds> grown(const FabricSpec& spec, const RailOptimised* rails,
                                                           const EndCount& ends) {
  const BytesPerSecond link = switch_link(spec, ends.rate);
  const auto share_of = [&](std::size_t tier, BytesPerSecond below) {
    return below / (oversubscription(spec, tier) * link);
  };
  BytesPerSecond below = spec.efficiency * ends.rate;  // of each port down
  int most = most_down(spec.radix, share_of(0, below));
  if (most < 1)
    return ClusterProblem{"radix", switch_of(spec.radix) + " has no port left besides the uplinks that a NIC needs",
                          "more ports"};

  TreeShape tree;
  tree.per_unit = ends.per_unit;
  TreeTier tier;
  if (rails != nullptr) {
    const int wanted = rails->nodes_per_scalable_unit > 0 ? rails->nodes_per_scalable_unit : most;
    if (wanted > most) {
      return ClusterProblem{"nodes_per_scalable_unit",
                            switch_of(spec.radix) + " joins NICs of " + std::to_string(most) +
                                " nodes besides its uplinks, not " + std::to_string(wanted),
                            "at most " + std::to_string(most)};
    }
    const Cut units = cut(ends.units(), wanted, 1);
    tree.rails = ends.per_unit;
    tier = {units.parts * ends.per_unit, units.size, ends.per_unit};
  } else {
    const Cut leaves = cut(ends.count, most, ends.per_unit);
    tier = {leaves.parts, leaves.size, leaves.parts_of_group};
  }
  if (tier.groups == 1) {
    tree.tiers = {tier};
    return tree;
  }

  std::int64_t tops = 1;
  for (std::size_t above = 1;; ++above) {
    if (std::cmp_greater_equal(above, spec.tiers)) return TooManyEnds{};
    const double r = oversubscription(spec, above - 1);
    tier.uplinks = uplinks(tier.size, share_of(above - 1, below));
    tier.uplink = below * (tier.size / (r * tier.uplinks));
    below = tier.uplink;
    tree.tiers.push_back(tier);
    tops *= tier.uplinks;
    if (tops > most_tops)
      return ClusterProblem{"tiers", "the top tier has " + std::to_string(tops) + " switches",
                            "at most " + std::to_string(most_tops)};
    const int radix = ports_of_switch(spec, above);
    if (tier.groups <= radix) {
      tree.tiers.push_back({1, tier.groups});
      return tree;
    }
    most = most_down(radix, share_of(above, below));
    if (most < 1)
      return ClusterProblem{"radix", switch_of(radix) + " has no port left besides a spine's uplinks", "more ports"};
    const Cut groups = cut(tier.groups, most, tier.groups_of_unit);
    tier = {groups.parts, groups.size, groups.parts_of_group};
  }
}

/// The largest number of units, fewer than there are, that a tree joins; 0: it joins no two.
int most_units(const FabricSpec& spec, const RailOptimised* rails, EndCount ends) {
  for (int units = ends.units() - 1; units > 1; --units) {
    ends.count = units * ends.per_unit;
    if (std::holds_alternative<TreeShape>(grown(spec, rails, ends))) return units;
  }
  return 0;
}

}  // namespace

int ports_of_switch(const FabricSpec& spec, std::size_t tier) {
  if (tier == 0 || spec.radix_above.empty()) return spec.radix;
  return spec.radix_above[std::min(tier, spec.radix_above.size()) - 1];
}

int TreeShape::leaf_of(int end) const {
  const TreeTier& leaves = tiers.front();
  if (rails > 0) return end / rails / leaves.size * rails + end % rails;
  if (leaves.groups_of_unit == 1) return end / leaves.size;
  return end / per_unit * leaves.groups_of_unit + end % per_unit / leaves.size;
}

int TreeShape::group_above(std::size_t tier, int below) const {
  const TreeTier& above = tiers[tier];
  if (above.groups_of_unit == 1) return below / above.size;
  const int of_unit = tiers[tier - 1].groups_of_unit;
  return below / of_unit * above.groups_of_unit + below % of_unit / above.size;
}

int TreeShape::tops() const {
  int switches = 1;
  for (const TreeTier& tier : tiers) switches *= std::max(1, tier.uplinks);
  return switches;
}

PossibleTree tree_shape(const FabricSpec& spec, const RailOptimised* rails, const EndCount& ends) {
  const auto tree = grown(spec, rails, ends);
  if (const auto* shape = std::get_if<TreeShape>(&tree)) return *shape;
  if (const auto* problem = std::get_if<ClusterProblem>(&tree)) return *problem;
  const std::string units(word(ends.unit));
  const std::string count = std::to_string(ends.units()) + ' ' + units;
  const int most = most_units(spec, rails, ends);
  const std::string other =
      std::string("a larger radix") +
      (spec.tiers < most_tiers ? ", more oversubscription or more `tiers`" : " or more oversubscription");
  if (most == 0) return ClusterProblem{"radix", all_tiers(spec) + " do not reach " + count, other};
  const std::string reached = std::to_string(most) + ' ' + units;
  return ClusterProblem{"radix", all_tiers(spec) + " reach at most " + reached + ", not " + count,
                        "at most " + reached + ", " + other};
}

std::vector<ClusterProblem> tree_limits(const FabricSpec& spec) {
  std::vector<ClusterProblem> problems;
  check_count("radix", spec.radix, "ports of a switch", most_ports, problems);
  for (const int ports : spec.radix_above) check_count("radix", ports, "ports of a switch", most_ports, problems);
  check_count("tiers", spec.tiers, "tiers", most_tiers, problems);
  return problems;
}

std::variant<int, ClusterProblem> tree_tops(const PossibleTree& possible) {
  if (const auto* problem = std::get_if<ClusterProblem>(&possible)) return *problem;
  return std::get<TreeShape>(possible).tops();
}

}  // namespace lockstep::topologies
