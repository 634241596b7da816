#include "sim/collectives/group_network.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <span>

#include "sim/collectives/algorithms.hpp"
#include "sim/core/errors.hpp"

namespace lockstep {
namespace {

/// By device, what units of a group follow one another by: the place that the order of ranks gives it, or its number.
std::vector<DeviceId> places_in_order(const Cluster& cluster, UnitOrder order) {
  std::vector<DeviceId> places(static_cast<std::size_t>(cluster.devices()));
  for (DeviceId position = 0; position < cluster.devices(); ++position) {
    const auto device = order == UnitOrder::ranks ? cluster.device_at_position(position) : position;
    places[static_cast<std::size_t>(device)] = position;
  }
  return places;
}

NetworkGroup on_devices(const Cluster& cluster, const Mesh& mesh, Group& group, const std::vector<DeviceId>& places) {
  NetworkGroup result;
  std::map<int, std::pair<DeviceId, std::vector<DeviceId>>> units;  // by number; with the place of the first
  for (const auto rank : group.members) {
    const auto device = mesh.device_of(rank);
    const auto place = places[static_cast<std::size_t>(device)];
    result.members.push_back(device);
    auto& [first, devices] = units.try_emplace(cluster.unit_of(device), place, std::vector<DeviceId>{}).first->second;
    first = std::min(first, place);
    devices.push_back(device);
  }
  std::vector<std::pair<DeviceId, std::vector<DeviceId>>> in_order;
  for (auto& [unit, devices] : units) in_order.push_back(std::move(devices));
  std::sort(in_order.begin(), in_order.end());
  for (auto& [first, devices] : in_order) {
    std::sort(devices.begin(), devices.end());
    result.units.push_back(std::move(devices));
  }
  result.lanes = std::move(group.lanes);
  return result;
}

Seconds latency(const Cluster& cluster, DeviceId from, DeviceId to) {
  Seconds total(0);
  for (const auto link : cluster.route(from, to)) total += cluster.link(link).latency;
  return total;
}

int rails_of(const Cluster& cluster, const NetworkGroup& group) {
  std::size_t least = group.units.front().size();
  for (std::size_t u = 0; u < group.units.size(); ++u) {
    const DeviceId elsewhere = group.units[u == 0 ? 1 : 0].front();
    std::set<NodeId> nics;
    for (const auto device : group.units[u]) nics.insert(network::nic_of(cluster, device, elsewhere));
    least = std::min(least, nics.size());
  }
  return static_cast<int>(least);
}

void add_hops(const Cluster& cluster, const NetworkGroup& group, GroupStructure& structure) {
  const auto& units = group.units;
  for (const auto& unit : units) {
    if (unit.size() > 1) structure.local_hop = std::max(structure.local_hop, latency(cluster, unit[0], unit[1]));
  }
  if (units.size() == 1) return;
  Seconds around(0);
  for (std::size_t u = 0; u < units.size(); ++u) {
    const Seconds to_next = latency(cluster, units[u].front(), units[(u + 1) % units.size()].front());
    around += to_next;
    structure.remote_hop = std::max(structure.remote_hop, to_next);
    if (u == 0) continue;
    structure.remote_hop = std::max(structure.remote_hop, latency(cluster, units.front().front(), units[u].front()));
    structure.cross_hop = std::max(structure.cross_hop, latency(cluster, units.front().front(), units[u].back()));
  }
  structure.around = std::max(structure.around, around);
}

GroupStructure structure_of(const Cluster& cluster, const std::vector<NetworkGroup>& groups, Dimensions torus) {
  GroupStructure structure;
  structure.torus = std::move(torus);
  const auto& first = groups.front();
  structure.members = static_cast<int>(first.members.size());
  structure.local = static_cast<int>(first.units.front().size());
  for (const auto& group : groups) {
    structure.units = std::max(structure.units, static_cast<int>(group.units.size()));
    for (const auto& unit : group.units) {
      structure.most_local = std::max(structure.most_local, static_cast<int>(unit.size()));
      if (unit.size() != first.units.front().size()) structure.local = 0;
    }
    add_hops(cluster, group, structure);
  }
  if (structure.local == 0 || structure.units == 1) return structure;
  structure.rails = structure.local;
  for (const auto& group : groups) structure.rails = std::min(structure.rails, rails_of(cluster, group));
  return structure;
}

/// What a link carries of each slot: how often it is crossed, by slot.
using Crossings = std::vector<std::pair<std::int32_t, std::int32_t>>;

/// `slots`: of all flows that cross a link, in any order.
void count(std::span<std::int32_t> slots, Crossings& crossings) {
  std::sort(slots.begin(), slots.end());
  crossings.clear();
  for (const auto slot : slots) {
    if (crossings.empty() || crossings.back().first != slot) crossings.emplace_back(slot, 0);
    ++crossings.back().second;
  }
}

}  // namespace

struct GroupNetwork::Connected {
  struct Load {
    Crossings crossings;
    BytesPerSecond bandwidth;
    LinkId link;  ///< the first with such a load
    [[nodiscard]] Seconds time(const Phase& phase) const {
      double bytes = 0;
      for (const auto& [slot, times] : crossings) bytes += times * phase.slot_bytes[static_cast<std::size_t>(slot)];
      return Seconds(bytes / bandwidth.value());
    }
  };
  Communicator communicator;
  std::vector<std::int32_t> crossings_listed_once;  ///< by slot
  std::vector<Load> loads;                          ///< different ones

  /// The load that takes a phase's bytes longest; null without bytes.
  [[nodiscard]] const Load* heaviest(const Phase& phase) const {
    const Load* heaviest = nullptr;
    for (const auto& load : loads) {
      if (load.time(phase) > (heaviest == nullptr ? Seconds(0) : heaviest->time(phase))) heaviest = &load;
    }
    return heaviest;
  }

  /// Divides what flows of a slot list by what all of them have in common, so that routes stay short.
  void shorten_routes(std::size_t links) {
    crossings_listed_once.assign(static_cast<std::size_t>(communicator.slots), 0);
    std::vector<std::int32_t> count(links, 0);
    for (const auto& group : communicator.groups) {
      for (const auto& flow : group.flows) {
        auto& common = crossings_listed_once[static_cast<std::size_t>(flow.slot)];
        if (common == 1) continue;
        for (const auto link : flow.links) ++count[static_cast<std::size_t>(link)];
        for (const auto link : flow.links) common = std::gcd(common, std::exchange(count[static_cast<std::size_t>(link)], 0));
      }
    }
    for (auto& group : communicator.groups) {
      for (auto& flow : group.flows) {
        const auto common = crossings_listed_once[static_cast<std::size_t>(flow.slot)];
        if (common == 1) continue;
        std::vector<LinkId> kept;
        for (const auto link : flow.links) {
          if (count[static_cast<std::size_t>(link)]++ % common == 0) kept.push_back(link);
        }
        for (const auto link : flow.links) count[static_cast<std::size_t>(link)] = 0;
        flow.links = std::move(kept);
      }
    }
  }

  void add_up_loads(const Cluster& cluster) {
    // The slots that cross each link, one link after the other in a single array.
    std::vector<std::size_t> end(static_cast<std::size_t>(cluster.links()) + 1, 0);
    const auto each_crossing = [&](const auto& visit) {
      for (const auto& group : communicator.groups) {
        for (const auto& flow : group.flows) {
          for (const auto link : flow.links) visit(static_cast<std::size_t>(link), flow.slot);
        }
      }
    };
    each_crossing([&](std::size_t link, std::int32_t) { ++end[link + 1]; });
    std::partial_sum(end.begin(), end.end(), end.begin());
    std::vector<std::int32_t> slots(end.back());
    each_crossing([&](std::size_t link, std::int32_t slot) { slots[end[link]++] = slot; });

    std::set<std::pair<Crossings, BytesPerSecond>> known;
    std::pair<Crossings, BytesPerSecond> load;
    std::size_t first = 0;
    for (LinkId link = 0; link < cluster.links(); ++link) {
      const std::span crossing(slots.begin() + static_cast<std::ptrdiff_t>(first), end[static_cast<std::size_t>(link)] - first);
      first = end[static_cast<std::size_t>(link)];
      if (crossing.empty()) continue;
      count(crossing, load.first);
      load.second = cluster.link(link).bandwidth;
      if (!known.contains(load)) {
        known.insert(load);
        loads.push_back({load.first, load.second, link});
      }
    }
  }
};

std::string CollectiveChoice::name() const {
  if (algorithm == nullptr) return "none";
  return std::string(algorithm->name()) + (protocol.empty() ? "" : " (" + protocol + ")");
}

GroupNetwork::GroupNetwork(const Cluster& cluster, const Mesh& mesh, std::vector<std::string> axes, UnitOrder order)
    : cluster_(&cluster), axes_(std::move(axes)) {
  const auto places = places_in_order(cluster, order);
  for (auto& group : mesh.groups(axes_)) {
    ranks_.push_back(group.members);
    groups_.push_back(on_devices(cluster, mesh, group, places));
  }
  structure_ = structure_of(cluster, groups_, mesh.dimensions(axes_));
}

const GroupNetwork::Connected& GroupNetwork::connected(const CollectiveAlgorithm& algorithm) const {
  for (const auto& [known, network] : connected_) {
    if (known == &algorithm) return *network;
  }
  auto made = std::make_shared<Connected>();
  for (const auto& axis : axes_) made->communicator.name += (made->communicator.name.empty() ? "" : "+") + axis;
  made->communicator.slots = algorithm.slots(*cluster_, structure_);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    made->communicator.groups.push_back({ranks_[g], algorithm.flows(*cluster_, groups_[g], structure_)});
  }
  made->shorten_routes(static_cast<std::size_t>(cluster_->links()));
  made->add_up_loads(*cluster_);
  connected_.emplace_back(&algorithm, std::move(made));
  return *connected_.back().second;
}

const Communicator& GroupNetwork::communicator(const CollectiveAlgorithm& algorithm) const { return connected(algorithm).communicator; }

std::vector<Phase> CollectiveAlgorithm::plan_tokens(Bytes full_size, TokenCopies /*copies*/, const Cluster& cluster, const GroupStructure& groups,
                                                   const Protocol& protocol) const {
  return plan(CollectiveKind::all_to_all, full_size, cluster, groups, protocol);
}

CollectiveChoice GroupNetwork::cheapest_protocol(const CollectiveAlgorithm& algorithm, CollectiveKind kind, Bytes full_size, TokenCopies copies) const {
  const auto planned = [&](const Protocol& protocol) {
    return kind == CollectiveKind::all_to_all && copies.each > 1 ? algorithm.plan_tokens(full_size, copies, *cluster_, structure_, protocol)
                                                                 : algorithm.plan(kind, full_size, *cluster_, structure_, protocol);
  };
  if (const auto known = algorithm.closed_form(kind, full_size, structure_)) {
    return {&algorithm, "", algorithm.plan(kind, full_size, *cluster_, structure_, Protocol{}), *known};
  }
  const auto& network = connected(algorithm);
  const auto price = [&](Protocol protocol) {
    const double passes = structure_.units == 1 ? 0 : kind == CollectiveKind::all_reduce ? 2 : 1;
    protocol.launch += passes * protocol.remote_launch;
    CollectiveChoice choice{&algorithm, protocol.name, planned(protocol), Seconds(0)};
    for (auto& phase : choice.phases) {
      for (std::size_t slot = 0; slot < phase.slot_bytes.size(); ++slot) phase.slot_bytes[slot] *= network.crossings_listed_once[slot];
      const auto* heaviest = network.heaviest(phase);
      choice.cost += phase.latency + (heaviest == nullptr ? Seconds(0) : heaviest->time(phase));
    }
    return choice;
  };
  const auto* node = cluster_->node_spec();
  if (node == nullptr || node->protocols.empty()) return price(Protocol{});
  auto best = price(node->protocols.front());
  for (std::size_t i = 1; i < node->protocols.size(); ++i) {
    auto other = price(node->protocols[i]);
    if (other.cost < best.cost) best = std::move(other);
  }
  return best;
}

std::vector<CollectiveChoice> GroupNetwork::choices(CollectiveKind kind, Bytes full_size, TokenCopies copies) const {
  std::vector<CollectiveChoice> choices;
  if (structure_.members == 1) return choices;
  for (const auto* algorithm : collective_algorithms()) {
    if (algorithm->serves(kind, *cluster_, structure_)) choices.push_back(cheapest_protocol(*algorithm, kind, full_size, copies));
  }
  return choices;
}

CollectiveChoice GroupNetwork::choose(CollectiveKind kind, Bytes full_size, std::string_view forced, TokenCopies copies) const {
  if (structure_.members == 1) return {};
  for (const auto* algorithm : collective_algorithms()) {
    if (algorithm->name() != forced) continue;
    if (!algorithm->serves(kind, *cluster_, structure_)) break;
    return cheapest_protocol(*algorithm, kind, full_size, copies);
  }
  std::vector<const CollectiveAlgorithm*> able, of_the_library;
  for (const auto* algorithm : collective_algorithms()) {
    if (!algorithm->serves(kind, *cluster_, structure_)) continue;
    able.push_back(algorithm);
    if (offered(*algorithm)) of_the_library.push_back(algorithm);
  }
  if (!forced.empty() || able.empty()) {
    throw InternalError("no algorithm " + std::string(forced) + " for " + std::string(lockstep::name(kind)) + " along these axes");
  }
  CollectiveChoice best;
  for (const auto* algorithm : of_the_library.empty() ? able : of_the_library) {
    auto choice = cheapest_protocol(*algorithm, kind, full_size, copies);
    if (best.algorithm == nullptr || choice.cost < best.cost) best = std::move(choice);
  }
  return best;
}

bool GroupNetwork::offered(const CollectiveAlgorithm& algorithm) const {
  const auto* node = cluster_->node_spec();
  if (node == nullptr || node->algorithms.empty()) return true;
  return std::find(node->algorithms.begin(), node->algorithms.end(), algorithm.name()) != node->algorithms.end();
}

LinkId GroupNetwork::bottleneck(const CollectiveChoice& choice) const {
  if (choice.algorithm == nullptr) return -1;
  const auto& network = connected(*choice.algorithm);
  LinkId limiting = -1;
  Seconds longest(0), bytes(0), latency(0);
  for (const auto& phase : choice.phases) {
    latency += phase.latency;
    const auto* heaviest = network.heaviest(phase);
    if (heaviest == nullptr) continue;
    const auto time = heaviest->time(phase);
    bytes += time;
    if (time > longest) {
      longest = time;
      limiting = heaviest->link;
    }
  }
  return latency > bytes ? -1 : limiting;
}

}  // namespace lockstep
