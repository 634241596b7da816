// The demand of a set less its arcs, p(U) = demand - in(U), is supermodular on sets that meet. Numbers k with
// k(U) >= p(U) form a contra-polymatroid (Schrijver, Combinatorial Optimization, 48.1): lowered one after the other as
// far as one flow each allows, they reach the least sum, which is the largest sum of p over a partition. That partition
// is made of the sets that are met exactly, joined where they share a member. Newton's method on partitions
// (Dinkelbach) then finds the one with the least capacity / (parts - 1).
#include "sim/collectives/design/weakest_partition.hpp"

#include <algorithm>
#include <numeric>

#include "topologies/cluster/flow_network.hpp"

namespace lockstep::collectives::design {
namespace {

using topologies::FlowNetwork;

class Lowering {
 public:
  Lowering(const LinkGraph& graph, std::int64_t demand)
      : graph_(graph), demand_(demand), source_(graph.nodes), sink_(graph.nodes + 1), flows_(graph.nodes + 2) {
    std::vector<std::int64_t> into(position_of(graph.nodes), 0);
    for (const auto& [ends, capacity] : graph.arcs) {
      flows_.add_arc(ends.first, ends.second, capacity);
      into[position_of(ends.second)] += capacity;
    }
    for (int member = 0; member < graph.members; ++member) {
      supplies_.of.push_back(demand + into[position_of(member)] % 2);
      from_source_.push_back(flows_.add_arc(source_, member, supplies_.of.back()));
      to_sink_.push_back(flows_.add_arc(member, sink_, 0));
    }
    supplies_.met_exactly.resize(position_of(graph.members));
  }

  Supplies lower() {
    const auto equal = demand_ / graph_.members;
    for (int member = 0; member < graph_.members; ++member) lower(member, equal);
    for (int member = 0; member < graph_.members; ++member) lower(member, -FlowNetwork::unlimited);
    return std::move(supplies_);
  }

 private:
  /// By an even number, to no less than `least`.
  void lower(int member, std::int64_t least) {
    auto& own = supplies_.of[position_of(member)];
    flows_.set_capacity(to_sink_[position_of(member)], FlowNetwork::unlimited);
    const auto spare = flows_.max_flow(source_, sink_) + below_zero_ - demand_;
    const auto wanted = own <= least ? 0 : (own - least) / 2 * 2;
    if (spare <= wanted) {
      auto& met = supplies_.met_exactly[position_of(member)];
      met.resize(position_of(graph_.nodes));
      for (int node = 0; node < graph_.nodes; ++node) met[position_of(node)] = !flows_.on_source_side(node);
    }
    below_zero_ -= std::min<std::int64_t>(own, 0);
    own -= std::min(spare, wanted);
    below_zero_ += std::min<std::int64_t>(own, 0);
    flows_.set_capacity(from_source_[position_of(member)], std::max<std::int64_t>(own, 0));
    flows_.set_capacity(to_sink_[position_of(member)], std::max<std::int64_t>(-own, 0));
  }

  const LinkGraph& graph_;
  std::int64_t demand_;
  int source_, sink_;
  FlowNetwork flows_;
  std::vector<FlowNetwork::ArcId> from_source_, to_sink_;
  Supplies supplies_;
  std::int64_t below_zero_ = 0;  ///< sum of the numbers that are
};

Partition measured(const LinkGraph& graph, std::vector<int> part_of) {
  Partition partition{0, 0, std::move(part_of)};
  for (const auto& [ends, capacity] : graph.arcs) {
    const int part = partition.part_of[position_of(ends.second)];
    if (part >= 0 && partition.part_of[position_of(ends.first)] != part) partition.capacity += capacity;
  }
  partition.parts = 1 + *std::max_element(partition.part_of.begin(), partition.part_of.end());
  return partition;
}

/// Sets that share a member are one part. A switch in several parts is in none.
Partition joined(const LinkGraph& graph, const Supplies& supplies) {
  std::vector<int> first(position_of(graph.members));  // of the members joined to this one, the least
  std::iota(first.begin(), first.end(), 0);
  for (const auto& met : supplies.met_exactly) {
    int least = graph.members;
    for (int member = 0; member < graph.members; ++member) {
      if (met[position_of(member)]) least = std::min(least, first[position_of(member)]);
    }
    std::vector<bool> is_joined(position_of(graph.members), false);
    for (int member = 0; member < graph.members; ++member) {
      if (met[position_of(member)]) is_joined[position_of(first[position_of(member)])] = true;
    }
    for (auto& part : first) part = is_joined[position_of(part)] ? least : part;
  }
  std::vector<int> number(position_of(graph.members), -1);
  int parts = 0;
  for (int member = 0; member < graph.members; ++member) {
    if (first[position_of(member)] == member) number[position_of(member)] = parts++;
  }
  constexpr int several = -2;
  std::vector<int> part_of(position_of(graph.nodes), -1);
  for (int member = 0; member < graph.members; ++member) {
    const int part = number[position_of(first[position_of(member)])];
    const auto& met = supplies.met_exactly[position_of(member)];
    for (int node = 0; node < graph.nodes; ++node) {
      if (!met[position_of(node)]) continue;
      auto& known = part_of[position_of(node)];
      known = known == -1 || known == part ? part : several;
    }
  }
  std::replace(part_of.begin(), part_of.end(), several, -1);
  return measured(graph, std::move(part_of));
}

Partition members_alone(const LinkGraph& graph) {
  std::vector<int> part_of(position_of(graph.nodes), -1);
  std::iota(part_of.begin(), part_of.begin() + graph.members, 0);
  return measured(graph, std::move(part_of));
}

/// Whether the first has the lower capacity / (parts - 1).
bool is_lower(const Partition& left, const Partition& right) {
  return static_cast<Wide>(left.capacity) * (right.parts - 1) < static_cast<Wide>(right.capacity) * (left.parts - 1);
}

}  // namespace

std::int64_t Supplies::sum() const { return std::accumulate(of.begin(), of.end(), std::int64_t{0}); }

Supplies least_supplies(const LinkGraph& graph, std::int64_t demand) { return Lowering(graph, demand).lower(); }

Partition weakest_partition(const LinkGraph& graph) {
  auto weakest = members_alone(graph);
  while (weakest.capacity > 0) {
    LinkGraph scaled{graph.members, graph.nodes, {}};
    for (const auto& [ends, capacity] : graph.arcs) scaled.add(ends.first, ends.second, capacity * (weakest.parts - 1));
    auto next = joined(graph, least_supplies(scaled, weakest.capacity));
    if (next.parts < 2 || !is_lower(next, weakest)) break;
    weakest = std::move(next);
  }
  return weakest;
}

}  // namespace lockstep::collectives::design
