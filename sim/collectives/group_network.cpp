#include "sim/collectives/group_network.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/group_structure_private.hpp"
#include "sim/collectives/slot_loads.hpp"
#include "sim/core/cheaper.hpp"
#include "sim/core/errors.hpp"

namespace lockstep::collectives {
namespace {

NetworkGroup on_devices(const topologies::Cluster& cluster, std::vector<topologies::DeviceId> members,
                        const PlaceOfDevice& places) {
  NetworkGroup result{std::move(members), {}, {}};
  std::map<int, std::pair<topologies::DeviceId, std::vector<topologies::DeviceId>>>
      units;  // by number; with the place of the first
  for (const auto device : result.members) {
    const auto place = places.empty() ? device : places[device];
    auto& [first, devices] =
        units.try_emplace(cluster.unit_of(device), place, std::vector<topologies::DeviceId>{}).first->second;
    first = std::min(first, place);
    devices.push_back(device);
  }
  std::vector<std::pair<topologies::DeviceId, std::vector<topologies::DeviceId>>> in_order;
  for (auto& [unit, devices] : units) in_order.push_back(std::move(devices));
  std::sort(in_order.begin(), in_order.end());
  for (auto& [first, devices] : in_order) {
    std::sort(devices.begin(), devices.end());
    result.units.push_back(std::move(devices));
  }
  return result;
}

/// Axes of the torus along which groups extend.
std::set<topologies::AxisId> torus_axes(const topologies::Cluster& cluster, const topologies::Mesh& mesh,
                                        const std::vector<std::string>& axes) {
  std::set<topologies::AxisId> of_torus;
  for (const std::string& axis : axes) {
    for (const topologies::Factor& factor : mesh.factors(axis)) {
      if (factor.size > 1 && cluster.axes()[factor.axis].kind == topologies::PhysicalAxis::Kind::torus)
        of_torus.insert(factor.axis);
    }
  }
  return of_torus;
}

bool inside_a_torus(const topologies::Cluster& cluster, const topologies::Mesh& mesh,
                    const std::vector<std::string>& axes) {
  return std::all_of(axes.begin(), axes.end(), [&](const std::string& axis) {
    const auto factors = mesh.factors(axis);
    return std::all_of(factors.begin(), factors.end(), [&](const topologies::Factor& factor) {
      return factor.size == 1 || cluster.axes()[factor.axis].kind == topologies::PhysicalAxis::Kind::torus;
    });
  });
}

/// The structure of groups that lie inside one torus each. It has everything that the torus' algorithm needs, without
/// making the groups.
GroupStructure structure_in_a_torus(const Dimensions& torus) {
  GroupStructure structure;
  structure.members = structure.local = structure.most_local = members(torus);
  return structure;
}

}  // namespace

struct GroupNetwork::Connected {
  std::shared_ptr<const CollectiveAlgorithm> own;  ///< made for these groups; null: the algorithm is the same for all
  Communicator communicator;
  Indexed<SlotId, std::int32_t> crossings_listed_once;
  mutable std::optional<SlotLoads> loads;  ///< made when first needed

  [[nodiscard]] const SlotLoad* heaviest(const Phase& phase, const topologies::Cluster& cluster,
                                         const topologies::GroupOrbits* orbits) const {
    if (!loads) {
      loads = slot_loads(
          communicator, [&](topologies::LinkId link) { return cluster.link(link).bandwidth; }, {}, orbits);
    }
    return loads->heaviest(phase);
  }

  /// Divides what flows of a slot list by what all of them have in common, so that routes stay short.
  void shorten_routes(int links) {
    crossings_listed_once.assign(communicator.slots, 0);
    Indexed<topologies::LinkId, std::int32_t> count(links, 0);
    for (const auto& group : communicator.groups) {
      for (const auto& flow : group.flows) {
        auto& common = crossings_listed_once[flow.slot];
        if (common == 1) continue;
        for (const auto link : flow.links) ++count[link];
        for (const auto link : flow.links) common = std::gcd(common, std::exchange(count[link], 0));
      }
    }
    for (auto& group : communicator.groups) {
      for (auto& flow : group.flows) {
        const auto common = crossings_listed_once[flow.slot];
        if (common == 1) continue;
        std::vector<topologies::LinkId> kept;
        for (const auto link : flow.links) {
          if (count[link]++ % common == 0) kept.push_back(link);
        }
        for (const auto link : flow.links) count[link] = 0;
        flow.links = std::move(kept);
      }
    }
  }
};

std::string CollectiveAlgorithm::label(workloads::CollectiveKind /*kind*/, const GroupStructure& /*groups*/) const {
  return std::string(name());
}

GroupNetwork::GroupNetwork(const topologies::Cluster& cluster, const topologies::Mesh& mesh,
                           std::vector<std::string> axes, UnitOrder order)
    : cluster_(&cluster), mesh_(&mesh), axes_(std::move(axes)), order_(order) {
  auto torus = mesh.dimensions(axes_);
  auto by_axis = mesh.dimensions(axes_, topologies::BlockShape::lines);
  const bool joins_axes = by_axis.size() != torus.size();
  if (inside_a_torus(cluster, mesh, axes_)) {
    structure_ = structure_in_a_torus(torus);
  } else {
    make_groups();
    structure_ = structure_of(cluster, groups_);
  }
  structure_.torus = std::move(torus);
  structure_.parts_of_one_axis = by_axis.size() > torus_axes(cluster, mesh, axes_).size();
  if (joins_axes) structure_.torus_by_axis = std::move(by_axis);
}

GroupNetwork::GroupNetwork(const topologies::Cluster& cluster, std::vector<std::vector<topologies::RankId>> groups,
                           UnitOrder order)
    : cluster_(&cluster), order_(order), ranks_(std::move(groups)) {
  const auto places = places_in_order(cluster, order);
  for (auto members : ranks_) {
    for (auto& member : members) member = cluster.device_at_position(member);
    groups_.push_back(on_devices(cluster, std::move(members), places));
  }
  structure_ = structure_of(cluster, groups_);
}

GroupNetwork::GroupNetwork(const topologies::Cluster& cluster, topologies::GroupOrbits orbits)
    : cluster_(&cluster), orbits_(std::move(orbits)), ranks_(orbits_->groups()) {
  for (const auto& members : ranks_) groups_.push_back(on_devices(cluster, members, {}));
  structure_ = structure_of(cluster, groups_);
  structure_.groups = cluster.devices() / structure_.members;
}

void GroupNetwork::make_groups() const {
  if (!groups_.empty()) return;
  const bool in_a_torus = inside_a_torus(*cluster_, *mesh_, axes_);  // its algorithm looks at lanes only
  const auto places = in_a_torus ? PlaceOfDevice{} : places_in_order(*cluster_, order_);
  for (auto& group : mesh_->groups(axes_)) {
    ranks_.push_back(group.members);
    if (in_a_torus) {
      groups_.emplace_back();
    } else {
      for (auto& member : group.members) member = mesh_->device_of(member);
      groups_.push_back(on_devices(*cluster_, std::move(group.members), places));
    }
    groups_.back().lanes = std::move(group.lanes);
  }
}

void GroupNetwork::add_lanes_by_axis() const {
  if (structure_.torus_by_axis.empty() || !groups_.front().lanes_by_axis.empty()) return;
  auto group = groups_.begin();
  for (auto& by_axis : mesh_->groups(axes_, topologies::BlockShape::lines))
    (group++)->lanes_by_axis = std::move(by_axis.lanes);
}

const GroupNetwork::Connected& GroupNetwork::connected(const CollectiveAlgorithm& algorithm) const {
  for (const auto& [known, network] : connected_) {
    if (known == &algorithm) return *network;
  }
  make_groups();
  add_lanes_by_axis();
  auto made = std::make_shared<Connected>();
  for (const auto& axis : axes_) made->communicator.name += (made->communicator.name.empty() ? "" : "+") + axis;
  if (const auto* general = made_for_groups(algorithm)) {
    std::vector<std::vector<topologies::DeviceId>> devices;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      auto& members = groups_[g].members;
      if (members.empty()) {  // inside a torus
        for (const auto rank : ranks_[g]) members.push_back(mesh_->device_of(rank));
      }
      devices.push_back(members);
    }
    made->own = general->made_for(*cluster_, devices);
  }
  const auto& own = made->own == nullptr ? algorithm : *made->own;
  made->communicator.slots = own.slots(*cluster_, structure_);
  made->communicator.groups.reserve(groups_.size());
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    made->communicator.groups.push_back({ranks_[g], own.flows(*cluster_, groups_[g], structure_)});
  }
  made->shorten_routes(cluster_->links());
  connected_.emplace_back(&algorithm, std::move(made));
  return *connected_.back().second;
}

const Communicator& GroupNetwork::communicator(const CollectiveAlgorithm& algorithm) const {
  return connected(algorithm).communicator;
}

namespace {

bool is_of_tokens(workloads::CollectiveKind kind, workloads::TokenCopies copies) {
  return kind == workloads::CollectiveKind::all_to_all &&
         (copies.each > 1 || copies.path != workloads::TokenPath::cheapest);
}

}  // namespace

std::vector<Phase> CollectiveAlgorithm::plan_tokens(Bytes full_size, workloads::TokenCopies /*copies*/,
                                                    const topologies::Cluster& cluster, const GroupStructure& groups,
                                                    const topologies::Protocol& protocol) const {
  return plan(workloads::CollectiveKind::all_to_all, full_size, cluster, groups, protocol);
}

CollectiveChoice GroupNetwork::cheapest_protocol(const CollectiveAlgorithm& algorithm, workloads::CollectiveKind kind,
                                                 Bytes full_size, workloads::TokenCopies copies) const {
  const auto& own = made_for_groups(algorithm) == nullptr ? algorithm : *connected(algorithm).own;
  const auto planned = [&](const topologies::Protocol& protocol) {
    return is_of_tokens(kind, copies) && copies.path != workloads::TokenPath::each_expert
               ? own.plan_tokens(full_size, copies, *cluster_, structure_, protocol)
               : own.plan(kind, full_size, *cluster_, structure_, protocol);
  };
  if (const auto known = algorithm.closed_form(kind, full_size, structure_)) {
    return {&algorithm, "", algorithm.plan(kind, full_size, *cluster_, structure_, topologies::Protocol{}), *known,
            algorithm.label(kind, structure_)};
  }
  const auto& network = connected(algorithm);
  const double flows = cluster_->flows_of_connection();
  const auto timed = [&](topologies::Protocol protocol) {
    const double passes = structure_.units == 1 ? 0 : kind == workloads::CollectiveKind::all_reduce ? 2 : 1;
    protocol.launch += passes * protocol.remote_launch;
    CollectiveChoice choice{&algorithm, protocol.name, planned(protocol), Seconds(0),
                            algorithm.label(kind, structure_)};
    if (!protocol.name.empty()) choice.label += " (" + protocol.name + ")";
    for (auto& phase : choice.phases) {
      for (std::size_t slot = 0; slot < phase.slot_bytes.size(); ++slot)
        phase.slot_bytes[slot] *= network.crossings_listed_once[slot] / flows;
      const auto* heaviest = network.heaviest(phase, *cluster_, orbits_ ? &*orbits_ : nullptr);
      choice.cost += phase.latency + (heaviest == nullptr ? Seconds(0) : Seconds(heaviest->seconds(phase)));
    }
    return choice;
  };
  const auto* node = cluster_->node_spec();
  if (node == nullptr || node->protocols.empty()) return timed(topologies::Protocol{});
  const auto protocols = network::protocols_of(*node, algorithm.name());
  if (protocols.empty()) return timed(topologies::Protocol{});
  auto best = timed(protocols.front());
  for (std::size_t i = 1; i < protocols.size(); ++i) {
    auto other = timed(protocols[i]);
    if (is_cheaper(other.cost, best.cost)) best = std::move(other);
  }
  return best;
}

std::vector<CollectiveChoice> GroupNetwork::choices(workloads::CollectiveKind kind, Bytes full_size,
                                                    workloads::TokenCopies copies) const {
  std::vector<CollectiveChoice> choices;
  if (structure_.members == 1) return choices;
  for (const auto* algorithm : collective_algorithms()) {
    if (made_for_groups(*algorithm) == nullptr && algorithm->serves(kind, *cluster_, structure_))
      choices.push_back(cheapest_protocol(*algorithm, kind, full_size, copies));
  }
  return choices;
}

std::vector<const CollectiveAlgorithm*> GroupNetwork::candidates(workloads::CollectiveKind kind,
                                                                 std::string_view forced,
                                                                 workloads::TokenCopies copies) const {
  using workloads::TokenPath;
  const bool of_tokens = is_of_tokens(kind, copies);
  if (of_tokens && copies.path == TokenPath::forwarded) {
    const auto& forwarded = network::forwarded_all_to_all();
    if (forwarded.serves(kind, *cluster_, structure_)) return {&forwarded};
  }
  std::vector<const CollectiveAlgorithm*> able, of_the_library;
  for (const auto* algorithm : collective_algorithms()) {
    if (!algorithm->serves(kind, *cluster_, structure_)) continue;
    if (algorithm->name() == forced) return {algorithm};
    if (of_tokens && copies.path == TokenPath::each_expert && algorithm == &network::direct()) return {algorithm};
    if (made_for_groups(*algorithm) != nullptr) continue;
    able.push_back(algorithm);
    if (offered(*algorithm)) of_the_library.push_back(algorithm);
  }
  if (!forced.empty() || able.empty()) {
    throw InternalError("no algorithm " + std::string(forced) + " for " + std::string(lockstep::workloads::name(kind)) +
                        " along these axes");
  }
  return of_the_library.empty() ? able : of_the_library;
}

CollectiveChoice GroupNetwork::choose(workloads::CollectiveKind kind, Bytes full_size, std::string_view forced,
                                      workloads::TokenCopies copies) const {
  CollectiveChoice best;
  if (structure_.members == 1) return best;
  for (const auto* algorithm : candidates(kind, forced, copies)) {
    auto choice = cheapest_protocol(*algorithm, kind, full_size, copies);
    if (best.algorithm == nullptr || is_cheaper(choice.cost, best.cost)) best = std::move(choice);
  }
  return best;
}

Seconds GroupNetwork::cost(workloads::CollectiveKind kind, Bytes full_size, std::string_view forced,
                           workloads::TokenCopies copies) const {
  if (structure_.members == 1) return Seconds(0);
  std::optional<Seconds> least;
  for (const auto* algorithm : candidates(kind, forced, copies)) {
    const auto known = algorithm->closed_form(kind, full_size, structure_);
    const auto cost = known ? *known : cheapest_protocol(*algorithm, kind, full_size, copies).cost;
    if (!least || is_cheaper(cost, *least)) least = cost;
  }
  return *least;
}

bool GroupNetwork::offered(const CollectiveAlgorithm& algorithm) const {
  const auto* node = cluster_->node_spec();
  if (node == nullptr || node->algorithms.empty()) return true;
  return std::find(node->algorithms.begin(), node->algorithms.end(), algorithm.name()) != node->algorithms.end();
}

}  // namespace lockstep::collectives
