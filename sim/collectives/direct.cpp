// Direct: every member sends to every other at once, V/N each where all get a shard, V/N^2 in an all-to-all. One flow
// for all pairs of a unit and one for all pairs between units: with routes fixed, no order of the transfers beats the
// most loaded link. Where all units send to a NIC at once, it receives more slowly (FabricSpec::incast). Shift: every
// member sends V to the next one.
#include <cmath>

#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/exchange_by_switch.hpp"

namespace lockstep::collectives::network {
namespace {

enum Slot : std::int32_t { inside_units, between_units, slot_count };

std::int64_t pairs_of_group(const GroupStructure& groups) {
  return std::int64_t{groups.members} * (groups.members - 1);
}

/// Few enough to list. Of members that share units, pairs beyond that are counted, or left to the hierarchical
/// all-to-all.
bool few_pairs(const GroupStructure& groups) {
  const bool in_units = groups.units > 1 && groups.local > 1;
  return pairs_of_group(groups) <= most_listed_pairs &&
         (!in_units || groups.groups * pairs_of_group(groups) <= most_pairs_in_all);
}

/// Where chips reach their NIC and each other over the same ports, transfers of a unit and those between units move in
/// step, so that neither takes from a full link what the other needs on it. A NIC's incast slows only the latter.
bool in_step(const topologies::Cluster& cluster, const GroupStructure& groups) {
  const auto* node = cluster.node_spec();
  return node != nullptr && node->scale_up == topologies::NodeSpec::ScaleUp::pcie && groups.incast_slowdown == 1;
}

/// Slots of an exchange whose pairs are counted: one for links that all of a member's transfers to other units cross,
/// then one for each power of two, of which other numbers of transfers are the sums, or, where counts are no sums of a
/// few, one for parts of a member's transfers: links are listed once for each part, so that counts are rounded by at
/// most 1 / (2 * parts_of_member) of a member's.
constexpr SlotId own_ways = slot_count, parts = own_ways + 1, first_power = parts + 1, power_slots = 40;
constexpr int parts_of_member = 256;

/// Transfers of a member to other units.
int to_other_units(const GroupStructure& groups) { return groups.members - groups.local; }

/// Too many pairs between units to list, all of one network: exchange_by_switch counts them, by switch on sprayed
/// networks, otherwise one by one.
bool counted(const topologies::Cluster& cluster, const GroupStructure& groups) {
  const auto* fabric = cluster.fabric_spec();
  if (fabric == nullptr || cluster.axes().front().name == "hall" || groups.units == 1 || groups.local == 0)
    return false;
  const std::int64_t pairs = groups.groups * pairs_of_group(groups);
  const bool sprayed =
      fabric->routing == topologies::FabricRouting::spray || std::holds_alternative<topologies::Crossbar>(fabric->kind);
  if (groups.local == 1 && sprayed) return pairs > most_listed_pairs;
  return !few_pairs(groups) && !in_step(cluster, groups) &&
         (pairs <= most_counted_pairs || (sprayed && groups.own_ways));
}

/// Members with a way of their own to and from one switch, and nothing else between them: N - 1 transfers cross either
/// way, whoever they come from. Where pairs are too many, each member's transfer to the next one stands for all of its
/// own.
bool next_stands_for_all(const topologies::Cluster& cluster, const GroupStructure& groups) {
  const auto* node = cluster.node_spec();
  return !few_pairs(groups) && groups.units == 1 && node != nullptr &&
         node->scale_up == topologies::NodeSpec::ScaleUp::network_switch;
}

Seconds one_step(const GroupStructure& groups, const topologies::Protocol& protocol) {
  return groups.units == 1 ? local_step(groups, protocol)
                           : groups.step_slowdown * (groups.cross_hop + protocol.remote_step);
}

/// NCCL's all-to-all is a send and a receive for each other member, which its kernel takes one after the other: short
/// ones take 14 us among 4 of a rack's GPUs, 15 among 8 and 31 among 64
/// (tests/validation/data/collectives_multinode.csv).
constexpr Seconds per_peer(0.3e-6);

/// Libraries that exchange directly in an all-to-all may have no other kind that does: NCCL gathers and scatters in
/// rings.
class Direct final : public CollectiveAlgorithm {
 public:
  explicit Direct(bool only_all_to_all) : only_all_to_all_(only_all_to_all) {}

  std::string_view name() const override { return only_all_to_all_ ? "direct all-to-all" : "direct"; }

  bool serves(workloads::CollectiveKind kind, const topologies::Cluster& cluster,
              const GroupStructure& groups) const override {
    if (!without_torus(cluster, groups)) return false;
    switch (kind) {
      case workloads::CollectiveKind::all_to_all:
        return few_pairs(groups) || groups.local == 0 ||  // nothing else serves irregular groups
               next_stands_for_all(cluster, groups) || counted(cluster, groups);
      case workloads::CollectiveKind::all_gather:
      case workloads::CollectiveKind::reduce_scatter:
      case workloads::CollectiveKind::all_reduce: return few_pairs(groups) && !only_all_to_all_;
      case workloads::CollectiveKind::broadcast:
      case workloads::CollectiveKind::reduce:
      case workloads::CollectiveKind::point_to_point: return false;
    }
    return false;
  }

  std::int32_t slots(const topologies::Cluster& cluster, const GroupStructure& groups) const override {
    return slot_count + (counted(cluster, groups) ? 2 + power_slots : 0);
  }

  std::vector<Flow> flows(const topologies::Cluster& cluster, const NetworkGroup& group,
                          const GroupStructure& groups) const override {
    if (counted(cluster, groups)) return counted_flows(cluster, group, to_other_units(groups));
    Flow inside{inside_units, {}}, between{between_units, {}};
    const bool one_flow = groups.units > 1 && in_step(cluster, groups);
    const auto add = [&](topologies::DeviceId from, topologies::DeviceId to) {
      const bool of_unit = !one_flow && cluster.unit_of(from) == cluster.unit_of(to);
      append_route(cluster, from, to, of_unit ? inside.links : between.links);
    };
    if (next_stands_for_all(cluster, groups)) {
      for (std::size_t i = 0; i < group.members.size(); ++i)
        add(group.members[i], group.members[(i + 1) % group.members.size()]);
    } else {
      for (const auto from : group.members) {
        for (const auto to : group.members) add(from, to);
      }
    }
    std::vector<Flow> flows;
    if (!inside.links.empty()) flows.push_back(std::move(inside));
    if (!between.links.empty()) flows.push_back(std::move(between));
    return flows;
  }

  std::vector<Phase> plan(workloads::CollectiveKind kind, Bytes full_size, const topologies::Cluster& cluster,
                          const GroupStructure& groups, const topologies::Protocol& protocol) const override {
    double to_each = carried(full_size, protocol) / groups.members;
    if (kind == workloads::CollectiveKind::all_to_all) to_each /= groups.members;
    if (next_stands_for_all(cluster, groups)) to_each *= groups.members - 1;
    const auto step = one_step(groups, protocol);
    Phase exchange{step, Indexed<SlotId, double>(slots(cluster, groups), to_each)};
    for (SlotId slot = between_units; slot < exchange.slot_bytes.count(); ++slot)
      exchange.slot_bytes[slot] *= groups.incast_slowdown;
    if (counted(cluster, groups)) {
      exchange.slot_bytes[own_ways] *= to_other_units(groups);
      exchange.slot_bytes[parts] *= static_cast<double>(to_other_units(groups)) / parts_of_member;
      for (SlotId slot = first_power; slot < exchange.slot_bytes.count(); ++slot)
        exchange.slot_bytes[slot] = std::ldexp(exchange.slot_bytes[slot], slot - first_power);
    }
    std::vector<Phase> phases(kind == workloads::CollectiveKind::all_reduce ? 2 : 1, exchange);
    phases.front().latency += protocol.launch;
    if (only_all_to_all_ && !protocol.name.empty()) phases.front().latency += (groups.members - 1.0) * per_peer;
    return phases;
  }

 private:
  static std::vector<Flow> counted_flows(const topologies::Cluster& cluster, const NetworkGroup& group, int of_member) {
    Flow inside{inside_units, {}};
    for (const auto& unit : group.units) {
      for (const auto from : unit) {
        for (const auto to : unit) append_route(cluster, from, to, inside.links);
      }
    }
    auto crossings = exchange_by_switch(cluster, group.units);
    std::vector<Flow> flows{std::move(inside), {own_ways, std::move(crossings.own)}};
    if (flows.back().links.empty()) {
      Flow& rounded = flows.emplace_back(Flow{parts, {}});
      for (const auto& [link, times] : crossings.shared) {
        const auto listed = (times * parts_of_member + of_member / 2) / of_member;
        rounded.links.insert(rounded.links.end(), position_of(listed), link);
      }
      crossings.shared.clear();
    }
    for (SlotId power = 0; power < power_slots; ++power) {
      auto& flow = flows.emplace_back(Flow{first_power + power, {}});
      for (const auto& [link, times] : crossings.shared) {
        if ((times >> power & 1) != 0) flow.links.push_back(link);
      }
    }
    std::erase_if(flows, [](const Flow& flow) { return flow.links.empty(); });
    return flows;
  }

  bool only_all_to_all_;
};

class Shift final : public CollectiveAlgorithm {
 public:
  std::string_view name() const override { return "shift"; }

  bool serves(workloads::CollectiveKind kind, const topologies::Cluster& cluster,
              const GroupStructure& groups) const override {
    return kind == workloads::CollectiveKind::point_to_point && (!cluster.unit_is_torus() || groups.units > 1);
  }

  std::int32_t slots(const topologies::Cluster& /*cluster*/, const GroupStructure& /*groups*/) const override {
    return 1;
  }

  std::vector<Flow> flows(const topologies::Cluster& cluster, const NetworkGroup& group,
                          const GroupStructure& /*groups*/) const override {
    Flow flow{0, {}};
    const auto& members = group.members;
    for (std::size_t i = 0; i < members.size(); ++i)
      append_route(cluster, members[i], members[(i + 1) % members.size()], flow.links);
    return {flow};
  }

  std::vector<Phase> plan(workloads::CollectiveKind /*kind*/, Bytes full_size, const topologies::Cluster& /*cluster*/,
                          const GroupStructure& groups, const topologies::Protocol& protocol) const override {
    const auto step = one_step(groups, protocol);
    return {{protocol.launch + step, {carried(full_size, protocol)}}};
  }
};

}  // namespace

const CollectiveAlgorithm& direct() {
  static const Direct algorithm(false);
  return algorithm;
}

const CollectiveAlgorithm& direct_all_to_all() {
  static const Direct algorithm(true);
  return algorithm;
}

const CollectiveAlgorithm& shift() {
  static const Shift algorithm;
  return algorithm;
}

}  // namespace lockstep::collectives::network
