// Rings through all members: a shard goes round in N - 1 steps, and every hop carries V (N-1)/N of its ring's share.
// Between units every NIC has a ring of its own. Ring r enters a unit at rail r, passes all its members and leaves by
// the rail before; the next unit is passed the other way, so that each crossing between units stays on one rail.
#include <algorithm>

#include "sim/collectives/algorithms.hpp"

namespace lockstep::collectives::network {
namespace {

using Order = std::vector<topologies::DeviceId>;

bool full_mesh(const topologies::Cluster& cluster) {
  return cluster.node_spec() != nullptr && cluster.node_spec()->scale_up == topologies::NodeSpec::ScaleUp::full_mesh;
}

/// Pairs of opposite rings on a full mesh that share no link (Walecki): one member stays, the others zigzag round a
/// circle.
int ring_pairs(int members) { return (members - 1) / 2; }

Order zigzag(const Order& members, int pair) {
  const int circle = static_cast<int>(members.size()) - 1;
  Order order{members.back()};
  for (int k = 0; k < circle; ++k) {
    const int at = (pair + (k % 2 == 1 ? (k + 1) / 2 : circle - k / 2)) % circle;
    order.push_back(members[position_of(at)]);
  }
  return order;
}

std::vector<Order> rings_of_a_unit(const topologies::Cluster& cluster, const Order& members) {
  if (!full_mesh(cluster) || members.size() < 3) return {members};
  std::vector<Order> rings;
  for (int pair = 0; pair < ring_pairs(static_cast<int>(members.size())); ++pair) {
    rings.push_back(zigzag(members, pair));
    rings.emplace_back(rings.back().rbegin(), rings.back().rend());
  }
  return rings;
}

/// Positions of a unit's members on the way of the ring that starts at `start`. On a full mesh of an even number the
/// ways of all starts have no link in common: steps of 1, -2, 3, -4 ... are all different (Williams 1949).
std::vector<std::size_t> way_through(std::size_t start, std::size_t members, bool zigzag) {
  std::vector<std::size_t> way;
  for (std::size_t i = 0; i < members; ++i) {
    const std::size_t ahead = !zigzag ? i : i % 2 == 1 ? (i + 1) / 2 : members - i / 2;
    way.push_back((start + ahead) % members);
  }
  return way;
}

Order through_units(const std::vector<Order>& units, std::size_t start, bool mesh) {
  Order order;
  bool forward = true;
  for (const auto& unit : units) {
    const auto way = way_through(start, unit.size(), mesh && unit.size() % 2 == 0);
    for (std::size_t i = 0; i < way.size(); ++i) order.push_back(unit[way[forward ? i : way.size() - 1 - i]]);
    forward = !forward;
  }
  return order;
}

std::vector<topologies::LinkId> around(const topologies::Cluster& cluster, const Order& order) {
  std::vector<topologies::LinkId> links;
  for (std::size_t i = 0; i < order.size(); ++i) append_route(cluster, order[i], order[(i + 1) % order.size()], links);
  return links;
}

/// A broadcast or a reduction reaches this share of the bandwidth between units that other collectives reach, since
/// NCCL sends it in slices of one step of its buffers and others in slices of two (src/include/collectives.h). Four
/// nodes of H100 reach 286 of 324 to 331 GB/s (tests/validation/data/collectives_multinode.csv).
constexpr double piecemeal = 0.87;

class Ring final : public CollectiveAlgorithm {
 public:
  std::string_view name() const override { return "ring"; }

  bool serves(workloads::CollectiveKind kind, const topologies::Cluster& cluster,
              const GroupStructure& groups) const override {
    return without_torus(cluster, groups) && kind != workloads::CollectiveKind::all_to_all &&
           kind != workloads::CollectiveKind::point_to_point;
  }

  std::int32_t slots(const topologies::Cluster& /*cluster*/, const GroupStructure& /*groups*/) const override {
    return 1;
  }

  std::vector<Flow> flows(const topologies::Cluster& cluster, const NetworkGroup& group,
                          const GroupStructure& groups) const override {
    std::vector<Order> rings;
    if (groups.units == 1) {
      rings = rings_of_a_unit(cluster, group.units.front());
    } else {
      for (const auto start : rail_starts(cluster, group, groups))
        rings.push_back(through_units(group.units, start, full_mesh(cluster)));
    }
    std::vector<Flow> flows;
    for (const auto& order : rings) flows.push_back({0, around(cluster, order)});
    return flows;
  }

  std::vector<Phase> plan(workloads::CollectiveKind kind, Bytes full_size, const topologies::Cluster& cluster,
                          const GroupStructure& groups, const topologies::Protocol& protocol) const override {
    const double n = groups.members;
    const double share = carried(full_size, protocol) / rings(cluster, groups);
    const bool whole = kind == workloads::CollectiveKind::broadcast || kind == workloads::CollectiveKind::reduce;
    const double pieces = groups.units > 1 && !protocol.name.empty() ? piecemeal : 1;
    Phase pass{latency(groups, protocol), {whole ? share / pieces : share * (n - 1) / n}};
    std::vector<Phase> phases(kind == workloads::CollectiveKind::all_reduce ? 2 : 1, pass);
    phases.front().latency += protocol.launch;
    return phases;
  }

 private:
  static int rings(const topologies::Cluster& cluster, const GroupStructure& groups) {
    if (groups.units > 1) return groups.rails;
    return full_mesh(cluster) ? std::max(1, 2 * ring_pairs(groups.members)) : 1;
  }

  /// N - 1 steps, of which as many as possible lead from unit to unit.
  static Seconds latency(const GroupStructure& groups, const topologies::Protocol& protocol) {
    const int steps = groups.members - 1;
    const int remote = groups.units == 1 ? 0 : std::min(groups.units, steps);
    return static_cast<double>(steps - remote) * local_step(groups, protocol) +
           groups.step_slowdown * (static_cast<double>(remote) * protocol.remote_step +
                                   groups.around * (static_cast<double>(remote) / groups.units));
  }
};

}  // namespace

const CollectiveAlgorithm& ring() {
  static const Ring algorithm;
  return algorithm;
}

}  // namespace lockstep::collectives::network
