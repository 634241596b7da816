#include "sim/studies/replay/job_network.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "sim/collectives/algorithms.hpp"
#include "sim/core/errors.hpp"

namespace lockstep::replay {
namespace {

topologies::Mesh one_axis(const topologies::Cluster& cluster) {
  auto placed = place_as_requested(cluster, {{"all", 0, std::vector<std::string>{"rest"}}});
  if (const auto* error = std::get_if<topologies::PlacementError>(&placed)) throw InternalError(error->what);
  return {cluster, std::get<0>(std::move(placed)), "all ranks"};
}

/// The positions along one physical axis that a group has: `size` of them, `stride` apart.
struct Part {
  int size = 1, stride = 1;
};

/// What a group has of an axis, if that is evenly spaced and the axis falls into such parts.
std::optional<Part> part_of(const std::set<int>& values, int axis_size) {
  Part part{static_cast<int>(values.size()), 1};
  if (part.size == 1) return part;
  part.stride = *std::next(values.begin()) - *values.begin();
  int expected = *values.begin();
  if (expected % (part.stride * part.size) >= part.stride || axis_size % (part.stride * part.size) != 0) return {};
  for (const int value : values) {
    if (value != expected) return {};
    expected += part.stride;
  }
  return part;
}

/// A mesh with an axis `group` along which this group lies, where it is a block of the physical axes.
std::optional<std::vector<topologies::AxisRequest>> block_of(const topologies::Cluster& cluster, const Ranks& group) {
  std::vector<topologies::DeviceId> devices;
  for (const auto rank : group) devices.push_back(cluster.device_at_position(rank));
  const auto& axes = cluster.axes();
  std::vector<std::string> inner, of_group;
  std::size_t product = 1;
  for (topologies::AxisId axis = 0; std::cmp_less(axis, axes.size()); ++axis) {
    std::set<int> values;
    for (const auto device : devices) values.insert(cluster.coordinates(device)[position_of(axis)]);
    const auto part = part_of(values, axes[axis].size);
    if (!part) return {};
    product *= values.size();
    if (part->stride > 1) inner.push_back(axes[axis].name + "/" + std::to_string(part->stride));
    if (part->size > 1) of_group.push_back(axes[axis].name + "/" + std::to_string(part->size));
  }
  if (product != devices.size()) return {};
  std::vector<topologies::AxisRequest> requests;
  if (!inner.empty()) requests.push_back({"inner", 0, inner});
  requests.push_back({"group", 0, of_group});
  requests.push_back({"others", 0, std::vector<std::string>{"rest"}});
  return requests;
}

/// "gpu/2, gpu/4".
std::string text_of(const std::vector<topologies::AxisRequest>& requests) {
  std::string text;
  for (const auto& request : requests) {
    for (const auto& part : *request.place) text += part + " ";
    text += ",";
  }
  return text;
}

}  // namespace

/// Groups of one shape, with all their like on the cluster where they are blocks of it, which then choose as one.
struct JobNetwork::Shape {
  std::optional<topologies::Mesh> mesh;
  std::optional<collectives::GroupNetwork> network;
};

JobNetwork::JobNetwork(const topologies::Cluster& cluster, collectives::CollectiveRules rules)
    : cluster_(cluster), rules_(std::move(rules)), all_(one_axis(cluster)), position_(cluster.devices()) {
  for (topologies::RankId rank = 0; rank < cluster.devices(); ++rank)
    position_[cluster.device_at_position(rank)] = rank;
}

JobNetwork::~JobNetwork() = default;

const JobNetwork::Shape& JobNetwork::shape(const std::vector<Ranks>& groups) {
  auto& same = shapes_[groups];
  if (same) return *same;
  auto block = block_of(cluster_, groups.front());
  for (std::size_t i = 1; block && i < groups.size(); ++i) {  // all of one shape, or of none
    const auto other = block_of(cluster_, groups[i]);
    if (!other || text_of(*other) != text_of(*block)) block.reset();
  }
  auto& known = block ? blocks_[text_of(*block)] : same;
  if (block && !known) {
    auto placed = place_as_requested(cluster_, *block);
    if (const auto* error = std::get_if<topologies::PlacementError>(&placed)) throw InternalError(error->what);
    known = std::make_shared<Shape>();
    known->mesh.emplace(cluster_, std::get<0>(std::move(placed)), "as recorded");
    known->network.emplace(cluster_, *known->mesh, std::vector<std::string>{"group"}, rules_.units);
  }
  if (known) {
    same = known;
    return *same;
  }
  known = std::make_shared<Shape>();
  if (cluster_.unit_is_torus()) {
    throw ConfigError(
        {{{"--cluster", 0, 0},
          "",
          "a group of " + std::to_string(groups.front().size()) + " ranks that communicate is no block of this torus",
          "a cluster of nodes, or groups that are blocks"}});
  }
  known->network.emplace(cluster_, groups, rules_.units);
  return *known;
}

NetworkCollective JobNetwork::collective(workloads::CollectiveKind kind, Bytes full_size,
                                         const std::vector<Ranks>& groups, workloads::TokenCopies copies) {
  NetworkCollective made;
  made.communicator.name = "group of " + std::to_string(groups.front().size());
  for (const auto& members : groups) made.communicator.groups.push_back({members, {}});
  if (groups.front().size() < 2) return made;
  const auto& known = shape(groups);
  const auto& algorithms = collectives::collective_algorithms();
  if (std::none_of(algorithms.begin(), algorithms.end(), [&](const collectives::CollectiveAlgorithm* algorithm) {
        return algorithm->serves(kind, cluster_, known.network->structure());
      })) {
    throw ConfigError({{{"--cluster", 0, 0},
                        "",
                        "no algorithm runs " + std::string(name(kind)) + " on groups of " +
                            std::to_string(groups.front().size()) + " that lie so",
                        "another cluster, or smaller groups"}});
  }
  const auto choice =
      known.network->choose(kind, full_size, collectives::ruled(rules_, cluster_, *known.network, kind), copies);
  made.phases = choice.phases;
  made.alone = choice.cost;
  made.algorithm = choice.label;
  const auto& all = known.network->communicator(*choice.algorithm);
  made.communicator.slots = all.slots;
  if (!known.mesh) {
    made.communicator.groups = all.groups;
    return made;
  }
  // The groups of the mesh that were asked for; its ranks are numbered by its own axes.
  std::map<Ranks, const collectives::ProgramGroup*> by_members;
  for (const auto& group : all.groups) {
    Ranks members;
    for (const auto member : group.members) members.push_back(position_[known.mesh->device_of(member)]);
    std::sort(members.begin(), members.end());
    by_members.emplace(std::move(members), &group);
  }
  for (auto& group : made.communicator.groups) {
    auto members = group.members;
    std::sort(members.begin(), members.end());
    const auto found = by_members.find(members);
    if (found == by_members.end()) throw InternalError("a group of another shape than its like");
    group.flows = found->second->flows;
  }
  return made;
}

NetworkCollective JobNetwork::transfer(Bytes bytes, const RankPairs& pairs, bool both) {
  const auto [known, is_new] = pairs_.try_emplace(pairs);
  auto& routes = known->second;
  if (is_new) {
    std::vector<collectives::PipelineLine> lines;
    for (const auto& [one, other] : pairs) {
      lines.push_back(
          {all_.rank_of(cluster_.device_at_position(one)), all_.rank_of(cluster_.device_at_position(other))});
    }
    routes = collectives::connect_stages(cluster_, all_, lines, 0, 1);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const auto [low, high] = std::minmax(pairs[i].first, pairs[i].second);
      routes.communicator.groups[i].members = {low, high};
    }
  }
  const auto transfer =
      routes.routes.transfer(both ? collectives::StagePairRoutes::both : collectives::StagePairRoutes::upward,
                             static_cast<double>(bytes.value()));
  NetworkCollective made;
  made.communicator = routes.communicator;
  made.phases.push_back({transfer.latency, std::vector<double>{transfer.bytes, both ? transfer.bytes : 0.0}});
  made.alone = transfer.time;
  made.algorithm = both ? "exchange" : "send";
  return made;
}

}  // namespace lockstep::replay
