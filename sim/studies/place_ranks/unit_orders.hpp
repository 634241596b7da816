#pragma once
/// Orders of a cluster's units (nodes, pods): which unit the first unit of the mesh is, the second, and so on.
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "topologies/cluster/cluster_spec.hpp"
#include "topologies/placement/mesh.hpp"

namespace lockstep::place_ranks {

using UnitOrder = std::vector<int>;

/// The order that a specification has; none if it puts neighbouring chips of a unit apart.
[[nodiscard]] std::optional<UnitOrder> order_of(const topologies::ClusterSpec& spec);
/// The order that a cluster has, however it was said; none likewise.
[[nodiscard]] std::optional<UnitOrder> order_of(const topologies::Cluster& cluster);
/// The specification with this order.
[[nodiscard]] topologies::ClusterSpec with_order(topologies::ClusterSpec spec, const UnitOrder& order);

/// For how many units the groups of each mesh axis, with those inside it, reach: 2, 8, 32.
[[nodiscard]] std::vector<int> spans_of(const topologies::Cluster& cluster, const topologies::Mesh& mesh);

/// Units by the part of the network that they lie in, tier by tier from the leaves up; of a tier that all lie in alike
/// nothing.
using Blocks = std::vector<std::vector<int>>;  ///< by tier: the block of each unit
[[nodiscard]] Blocks blocks_of(const topologies::Cluster& cluster);

struct NamedOrder {
  std::string name;
  UnitOrder order;
};
/// What a search begins with: units as the network numbers them, where neighbours follow one another; the blocks that
/// hold whole groups first; the nearest unit next.
[[nodiscard]] std::vector<NamedOrder> first_orders(const topologies::Cluster& cluster, const std::vector<int>& spans);

/// Another order one move away: two units, two runs of units that lie in one block each, or the units of two groups
/// (`spans`) change places.
[[nodiscard]] UnitOrder moved(UnitOrder order, const Blocks& blocks, const std::vector<int>& spans,
                              std::mt19937_64& random);

}  // namespace lockstep::place_ranks
