// Double binary tree (Sanders, Speck, Traff 2009): two trees over the units carry half of the data each, and inner
// units of one are leaves of the other, so no unit sends or receives more than V a direction. Inside a unit a chain
// leads to the member that stands in the trees; each NIC has trees and a chain of its own for its share of V.
#include <bit>

#include "sim/collectives/algorithms.hpp"

namespace lockstep::collectives::network {
namespace {

enum Slot : std::int32_t { up, down, to_root, from_root, slot_count };

/// Odd positions are leaves, 0 is the root; a position's lowest set bit is its height.
std::size_t parent(std::size_t position, std::size_t units) {
  const std::size_t height = position & (~position + 1);
  const std::size_t above = position ^ height;
  return (above | (height << 1U)) < units ? above | (height << 1U) : above;
}

/// The second tree mirrors an even number of units and turns an odd one by one place: odd and even change roles.
std::size_t unit_at(int tree, std::size_t position, std::size_t units) {
  if (tree == 0) return position;
  return units % 2 == 0 ? units - 1 - position : (position + 1) % units;
}

/// The two trees and chains of one NIC's share.
class Rail {
 public:
  Rail(const topologies::Cluster& cluster, const NetworkGroup& group, std::size_t start)
      : cluster_(cluster), units_(group.units), start_(start), first_(group.members.front()) {}

  void add_flows(std::vector<Flow>& flows) const {
    for (const int tree : {0, 1}) {
      Flow upward{up, {}}, downward{down, {}}, feed{from_root, {}}, result{to_root, {}};
      for (const auto& unit : units_) add_chain(unit, upward.links, downward.links);
      for (std::size_t position = 1; position < units_.size(); ++position) {
        join(head(tree, position), head(tree, parent(position, units_.size())), upward.links, downward.links);
      }
      // Broadcast starts and reduce ends at the group's first member, wherever the trees' roots are.
      join(head(0, 0), first_, result.links, feed.links);
      join(head(tree, 0), head(0, 0), result.links, feed.links);
      for (auto* flow : {&upward, &downward, &feed, &result}) {
        if (!flow->links.empty()) flows.push_back(std::move(*flow));
      }
    }
  }

 private:
  [[nodiscard]] topologies::DeviceId head(int tree, std::size_t position) const {
    return units_[unit_at(tree, position, units_.size())][start_];
  }

  void add_chain(const std::vector<topologies::DeviceId>& unit, std::vector<topologies::LinkId>& upward,
                 std::vector<topologies::LinkId>& downward) const {
    for (std::size_t i = 1; i < unit.size(); ++i) {
      join(unit[(start_ + i) % unit.size()], unit[(start_ + i - 1) % unit.size()], upward, downward);
    }
  }

  void join(topologies::DeviceId lower, topologies::DeviceId upper, std::vector<topologies::LinkId>& there,
            std::vector<topologies::LinkId>& back) const {
    if (lower == upper) return;
    append_route(cluster_, lower, upper, there);
    append_route(cluster_, upper, lower, back);
  }

  const topologies::Cluster& cluster_;
  const std::vector<std::vector<topologies::DeviceId>>& units_;
  std::size_t start_;
  topologies::DeviceId first_;
};

class Tree final : public CollectiveAlgorithm {
 public:
  std::string_view name() const override { return "tree"; }

  bool serves(workloads::CollectiveKind kind, const topologies::Cluster& cluster,
              const GroupStructure& groups) const override {
    return without_torus(cluster, groups) && groups.units > 1 &&
           (kind == workloads::CollectiveKind::all_reduce || kind == workloads::CollectiveKind::broadcast ||
            kind == workloads::CollectiveKind::reduce);
  }

  std::int32_t slots(const topologies::Cluster& /*cluster*/, const GroupStructure& /*groups*/) const override {
    return slot_count;
  }

  std::vector<Flow> flows(const topologies::Cluster& cluster, const NetworkGroup& group,
                          const GroupStructure& groups) const override {
    std::vector<Flow> flows;
    for (const auto start : rail_starts(cluster, group, groups)) Rail(cluster, group, start).add_flows(flows);
    return flows;
  }

  std::vector<Phase> plan(workloads::CollectiveKind kind, Bytes full_size, const topologies::Cluster& /*cluster*/,
                          const GroupStructure& groups, const topologies::Protocol& protocol) const override {
    const auto depth = std::bit_width(static_cast<unsigned>(groups.units - 1));  // log2 n, rounded up
    const auto one_way = static_cast<double>(depth) * remote_step(groups, protocol) +
                         static_cast<double>(groups.most_local - 1) * local_step(groups, protocol);
    Phase phase{protocol.launch + one_way, Indexed<SlotId, double>(slot_count, 0.0)};
    const auto carry = [&](Slot slot) { phase.slot_bytes[slot] = carried(full_size, protocol) / groups.rails / 2; };
    if (kind == workloads::CollectiveKind::all_reduce) {
      phase.latency += one_way;
      carry(up);
      carry(down);
    } else {
      phase.latency += remote_step(groups, protocol);  // between the first member and the other tree's root
      carry(kind == workloads::CollectiveKind::broadcast ? down : up);
      carry(kind == workloads::CollectiveKind::broadcast ? from_root : to_root);
    }
    return {phase};
  }
};

}  // namespace

const CollectiveAlgorithm& tree() {
  static const Tree algorithm;
  return algorithm;
}

}  // namespace lockstep::collectives::network
