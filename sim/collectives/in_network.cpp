// Switches that add up and copy (NVLink SHARP in a node, SHARP in a fabric). The links of the routes from one member to
// all others are a tree, which carries V down once for a broadcast; the links of the ways back carry V up once for a
// reduction. Across units each local member has a tree for its 1/g of the data, and while that runs, the unit's switch
// adds up and copies, or members of the unit exchange their parts. All is pipelined: one phase.
#include <algorithm>
#include <cmath>

#include "sim/collectives/algorithms.hpp"

namespace lockstep::collectives::network {
namespace {

/// Trees between units (or, in a lone unit, over its members); ports of the members of each unit.
enum Slot : std::int32_t { from_root, to_root, out_of_members, into_members, slot_count };

/// The links of a number of routes, once each.
std::vector<topologies::LinkId> union_of(std::vector<topologies::LinkId> links) {
  std::sort(links.begin(), links.end());
  links.erase(std::unique(links.begin(), links.end()), links.end());
  return links;
}

/// Switches that add up have one way to each member, however many flows connections have.
void append_tree_route(const topologies::Cluster& cluster, topologies::DeviceId from, topologies::DeviceId to,
                       std::vector<topologies::LinkId>& links) {
  const auto route = cluster.route(from, to);
  links.insert(links.end(), route.begin(), route.end());
}

/// As often as a connection has flows, as routes are listed.
void list_for_all_flows(const topologies::Cluster& cluster, std::vector<Flow>& flows) {
  for (auto& flow : flows) {
    const auto once = flow.links;
    for (int more = 1; more < cluster.flows_of_connection(); ++more)
      flow.links.insert(flow.links.end(), once.begin(), once.end());
  }
}

void add_tree(const topologies::Cluster& cluster, const std::vector<topologies::DeviceId>& members,
              std::vector<Flow>& flows) {
  Flow down{from_root, {}}, up{to_root, {}};
  for (std::size_t i = 1; i < members.size(); ++i) {
    append_tree_route(cluster, members.front(), members[i], down.links);
    append_tree_route(cluster, members[i], members.front(), up.links);
  }
  for (auto* flow : {&down, &up}) flows.push_back({flow->slot, union_of(std::move(flow->links))});
}

void add_ports(const topologies::Cluster& cluster, const std::vector<topologies::DeviceId>& members,
               std::vector<Flow>& flows) {
  Flow out{out_of_members, {}}, in{into_members, {}};
  for (const auto from : members) {
    for (const auto to : members) {
      if (from == to) continue;
      const auto route = cluster.route(from, to);
      out.links.push_back(route.front());
      in.links.push_back(route.back());
    }
  }
  for (auto* flow : {&out, &in}) flows.push_back({flow->slot, union_of(std::move(flow->links))});
}

/// What a member's port carries each way, over V, while the fabric adds up: parts are scattered and gathered, or the
/// unit's switch adds up and copies too, whichever is less. Then a member sends V and its 1/g of the fabric's sums, and
/// receives as much.
double through_ports(const topologies::NodeSpec& node, const GroupStructure& groups, bool reduces_and_copies) {
  const double scattered = 2.0 * (groups.local - 1) / groups.local;
  if (!node.in_network_reduction || !reduces_and_copies) return scattered;
  return std::min(scattered, (1 + 1.0 / groups.local) / node.in_network_efficiency);
}

/// Doublings of the members beyond the eight GPUs of a board, for a library: every sum and copy of a switch waits for
/// all members, and in racks of 64 and 72 GPUs they start later and run more slowly than on 8 of the same rack, by
/// these for each doubling (tests/validation/data/collectives_multinode.csv).
double beyond_a_board(const GroupStructure& groups, const topologies::Protocol& protocol) {
  return protocol.name.empty() ? 0 : std::log2(std::max(1.0, groups.members / 8.0));
}
constexpr double steps_beyond_a_board = 8, bytes_beyond_a_board = 0.045;

class InNetwork final : public CollectiveAlgorithm {
 public:
  std::string_view name() const override { return "in-network"; }

  bool serves(workloads::CollectiveKind kind, const topologies::Cluster& cluster,
              const GroupStructure& groups) const override {
    if (cluster.node_spec() == nullptr || kind == workloads::CollectiveKind::all_to_all ||
        kind == workloads::CollectiveKind::point_to_point)
      return false;
    if (cluster.node_spec()->scale_up != topologies::NodeSpec::ScaleUp::network_switch) return false;
    if (groups.units == 1) return cluster.node_spec()->in_network_reduction;
    const bool reduces_across =
        cluster.fabric_spec() != nullptr && cluster.fabric_spec()->in_network_reduction && groups.local > 0;
    return reduces_across && kind != workloads::CollectiveKind::all_gather &&
           kind != workloads::CollectiveKind::reduce_scatter;
  }

  std::int32_t slots(const topologies::Cluster& /*cluster*/, const GroupStructure& /*groups*/) const override {
    return slot_count;
  }

  std::vector<Flow> flows(const topologies::Cluster& cluster, const NetworkGroup& group,
                          const GroupStructure& groups) const override {
    std::vector<Flow> flows;
    if (groups.units == 1) {
      add_tree(cluster, group.members, flows);
    } else {
      for (std::size_t local = 0; local < group.units.front().size(); ++local) {
        std::vector<topologies::DeviceId> members;
        for (const auto& unit : group.units) members.push_back(unit[local]);
        add_tree(cluster, members, flows);
      }
    }
    for (const auto& unit : group.units) {
      if (unit.size() > 1) add_ports(cluster, unit, flows);
    }
    list_for_all_flows(cluster, flows);
    return flows;
  }

  std::vector<Phase> plan(workloads::CollectiveKind kind, Bytes full_size, const topologies::Cluster& cluster,
                          const GroupStructure& groups, const topologies::Protocol& protocol) const override {
    Phase phase{protocol.launch, Indexed<SlotId, double>(slot_count, 0.0)};
    auto& bytes = phase.slot_bytes;
    const double v = carried(full_size, protocol);
    const bool reduces = kind == workloads::CollectiveKind::all_reduce || kind == workloads::CollectiveKind::reduce;
    const bool copies = kind == workloads::CollectiveKind::all_reduce || kind == workloads::CollectiveKind::broadcast;
    if (groups.units == 1) {
      phase.latency += local_step(groups, protocol) *
                       ((reduces && copies ? 2.0 : 1.0) + steps_beyond_a_board * beyond_a_board(groups, protocol));
      const double counted = v * (1 + bytes_beyond_a_board * beyond_a_board(groups, protocol)) /
                             cluster.node_spec()->in_network_efficiency;
      const double shard = counted / groups.members;
      // Each member takes the sums of its own 1/N out of the switch and puts them back for all: V in of results, V/N of
      // sums.
      const double with_sums = reduces && copies ? counted + shard : counted;
      if (copies) bytes[from_root] = with_sums;
      if (reduces) bytes[to_root] = with_sums;
      if (kind == workloads::CollectiveKind::all_gather) {
        bytes[out_of_members] = shard;
        bytes[into_members] = counted - shard;
      } else if (kind == workloads::CollectiveKind::reduce_scatter) {
        bytes[out_of_members] = counted - shard;
        bytes[into_members] = shard;
      }
      return {phase};
    }
    const double ways = reduces && copies ? 2 : 1;
    phase.latency += ways * remote_step(groups, protocol);
    if (copies) bytes[from_root] = v / groups.local;
    if (reduces) bytes[to_root] = v / groups.local;
    if (groups.local > 1) {
      phase.latency += 2.0 * local_step(groups, protocol);
      bytes[out_of_members] = bytes[into_members] = v * through_ports(*cluster.node_spec(), groups, reduces && copies);
    }
    return {phase};
  }
};

}  // namespace

const CollectiveAlgorithm& in_network() {
  static const InNetwork algorithm;
  return algorithm;
}

}  // namespace lockstep::collectives::network
