#include "sim/studies/planning/group_costs.hpp"

#include <algorithm>
#include <limits>
#include <set>

namespace lockstep::planning {
namespace {

constexpr std::uint32_t pipeline_bit = 1U << pipeline_axis_number;
constexpr std::size_t most_devices = 1'000'000;  // in all groups at a time, about 1 kB each

/// The factors of each axis in `bits`. The placement lists only axes larger than 1.
std::vector<std::vector<topologies::Factor>> place_of(const PlanSpace::Placement& placement, std::uint32_t bits) {
  std::vector<std::vector<topologies::Factor>> place;
  for (const auto& axis : placement) {
    if ((axis_bits({axis.name}) & bits) != 0) place.push_back(axis.factors);
  }
  return place;
}

workloads::AxisNames names_of(const PlanSpace::Placement& placement, std::uint32_t bits) {
  workloads::AxisNames names;
  for (const auto& axis : placement) {
    if ((axis_bits({axis.name}) & bits) != 0) names.push_back(axis.name);
  }
  return names;
}

std::vector<topologies::Factor> factors_of(const PlanSpace::Placement& placement, std::uint32_t bits) {
  std::vector<topologies::Factor> factors;
  for (const auto& axis : placement) {
    if ((axis_bits({axis.name}) & bits) != 0) factors.insert(factors.end(), axis.factors.begin(), axis.factors.end());
  }
  return factors;
}

/// Appends the value of the next placement.
template <class Value>
void add(const Value& value, ByPlacement<Value>& to) {
  const auto same = std::find(to.different.begin(), to.different.end(), value);
  to.which.push_back(static_cast<std::int32_t>(same - to.different.begin()));
  if (same == to.different.end()) to.different.push_back(value);
}

}  // namespace

bool CostBook::Before::operator()(const Place& a, const Place& b) const {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), [](const auto& one, const auto& other) {
    return std::lexicographical_compare(one.begin(), one.end(), other.begin(), other.end(),
                                        [](const topologies::Factor& x, const topologies::Factor& y) {
                                          return std::tie(x.axis, x.size, x.stride) <
                                                 std::tie(y.axis, y.size, y.stride);
                                        });
  });
}

GroupsAlong::GroupsAlong(const PlanSpace& space, PlanSpace::Placement placement, std::uint32_t axes)
    : space_(space),
      placement_(std::move(placement)),
      axes_(names_of(placement_, axes)),
      factors_(factors_of(placement_, axes)) {}

collectives::GroupNetwork& GroupsAlong::network() {
  if (network_) return *network_;
  const auto& cluster = space_.cluster();
  if (space_.symmetry().any())
    return network_.emplace(cluster, topologies::GroupOrbits(cluster, space_.symmetry(), factors_));
  mesh_ = std::make_unique<const topologies::Mesh>(cluster, placement_, "");
  return network_.emplace(cluster, *mesh_, axes_, space_.base().collectives.units);
}

Seconds GroupsAlong::cost(const PlanCollective& collective) {
  const auto rule = ruled(space_.base().collectives, space_.cluster(), network(), collective.kind);
  return network().cost(collective.kind, collective.size, rule, collective.copies);
}

collectives::CollectiveChoice GroupsAlong::choose(const PlanCollective& collective) {
  const auto rule = ruled(space_.base().collectives, space_.cluster(), network(), collective.kind);
  return network().choose(collective.kind, collective.size, rule, collective.copies);
}

void GroupsAlong::forget() {
  network_.reset();
  mesh_.reset();
}

StagesAlong::StagesAlong(const PlanSpace& space, const PlanSpace::Placement& placement)
    : factors_(factors_of(placement, pipeline_bit)) {
  const auto& cluster = space.cluster();
  const topologies::Mesh mesh(cluster, placement, "");
  const auto lines = collectives::pipeline_lines(mesh);
  const auto stages = static_cast<std::int32_t>(lines.front().size());
  stage_of_device_.resize(static_cast<std::size_t>(mesh.ranks()));
  for (const auto& line : lines) {
    for (std::int32_t stage = 0; stage < stages; ++stage)
      stage_of_device_[position_of(mesh.device_of(line[position_of(stage)]))] = stage;
  }
  std::optional<topologies::GroupOrbits> orbits;
  if (space.symmetry().any()) orbits.emplace(cluster, space.symmetry(), factors_);
  for (std::int32_t stage = 0; stage < stages; ++stage) {
    const auto [low, high] = std::minmax({stage, (stage + 1) % stages});
    next_.push_back(orbits ? collectives::connect_stages(cluster, *orbits, low, high)
                           : collectives::connect_stages(cluster, mesh, lines, low, high).routes);
  }
}

const StagesAlong::Times& StagesAlong::times(std::int64_t bytes) const {
  const auto [known, is_new] = times_.try_emplace(bytes);
  auto& made = known->second;
  if (!is_new) return made;
  for (const auto& routes : next_) {
    made.upward.push_back(
        routes.transfer(collectives::StagePairRoutes::upward, static_cast<double>(bytes)).time.value());
    made.downward.push_back(
        routes.transfer(collectives::StagePairRoutes::downward, static_cast<double>(bytes)).time.value());
  }
  return made;
}

double StagesAlong::Times::between(std::int32_t from, std::int32_t to) const {
  if (from == to) return 0;
  const auto [low, high] = std::minmax(from, to);
  const auto pair = high - low == 1 ? static_cast<std::size_t>(low) : upward.size() - 1;
  return (from < to ? upward : downward)[pair];
}

NetworkPorts::NetworkPorts(const topologies::Cluster& cluster) : cluster_(cluster) {
  // Where chips differ, the rank with the fullest port may not be the one that computes longest.
  if (cluster.fabric_spec() == nullptr || cluster.chips().size() > 1) return;
  Indexed<topologies::NodeId, double> rates(position_of(cluster.nodes()), 0.0);
  for (topologies::LinkId id = 0; id < cluster.links(); ++id) {
    const auto& link = cluster.link(id);
    if (link.kind == topologies::LinkKind::network) rates[link.from] += link.bandwidth.value();
  }
  std::set<topologies::NodeId> nics;
  for (topologies::DeviceId device = 0; device < cluster.devices(); ++device) {
    const auto nic = cluster.nic_of(device);
    if (!nics.insert(nic).second || rates[nic] <= 0) return;
  }
  rate_of_nic_ = std::move(rates);
}

std::vector<double> NetworkPorts::seconds_of_slots(const collectives::ProgramGroup& group, std::int32_t slots,
                                                   const GroupsAlong& groups) const {
  std::vector<double> seconds(position_of(slots), 0.0);
  std::set<topologies::NodeId> nics;
  double rate = 0;
  for (const auto member : group.members) {
    nics.insert(cluster_.nic_of(groups.device_of(member)));
    rate += rate_of_nic_[cluster_.nic_of(groups.device_of(member))];
  }
  for (const auto& flow : group.flows) {
    for (const auto id : flow.links) {
      const auto& link = cluster_.link(id);
      if (link.kind == topologies::LinkKind::network && nics.contains(link.from))
        seconds[position_of(flow.slot)] += 1 / rate;
    }
  }
  return seconds;
}

GroupCosts::Cost GroupCosts::cost(std::int32_t number, const PlanCollective& collective) {
  const auto [known, is_new] = known_.try_emplace(number);
  if (is_new)
    known->second = {stages_ == nullptr ? groups_.cost(collective).value() : cost_of_stage(collective),
                     ports_.any() ? cost_of_network(collective) : 0};
  return known->second;
}

double GroupCosts::cost_of_network(const PlanCollective& collective) {
  const auto choice = groups_.choose(collective);
  if (choice.algorithm == nullptr) return 0;
  auto known = std::find_if(of_network_.begin(), of_network_.end(),
                            [&](const auto& one) { return one.first == choice.algorithm; });
  if (known == of_network_.end()) {
    known = of_network_.insert(known, {choice.algorithm, {}});
    const auto& communicator = groups_.communicator(*choice.algorithm);
    for (const auto& group : communicator.groups)
      known->second.push_back(ports_.seconds_of_slots(group, communicator.slots, groups_));
    std::sort(known->second.begin(), known->second.end());
    known->second.erase(std::unique(known->second.begin(), known->second.end()), known->second.end());
  }
  double least = std::numeric_limits<double>::infinity();
  for (const auto& slots : known->second) {
    double seconds = 0;
    for (const auto& phase : choice.phases) {
      for (std::size_t slot = 0; slot < slots.size(); ++slot)
        seconds += slots[slot] * phase.slot_bytes[static_cast<collectives::SlotId>(slot)];
    }
    least = std::min(least, seconds);
  }
  return known->second.empty() ? 0 : least;
}

double GroupCosts::cost_of_stage(const PlanCollective& collective) {
  const auto choice = groups_.choose(collective);
  if (choice.algorithm == nullptr) return 0;
  const auto& network = loads(*choice.algorithm);
  std::vector<double> times;  // of each load in a phase
  std::vector<double> of_stage(network.of_class.size(), 0.0);
  for (const auto& phase : choice.phases) {
    times.clear();
    for (const auto& load : network.loads) times.push_back(load.seconds(phase));
    auto time = of_stage.begin();
    for (const auto& stage : network.of_class) {
      double longest = 0;
      for (const auto load : stage) longest = std::max(longest, times[position_of(load)]);
      *time++ += phase.latency.value() + longest;
    }
  }
  return of_stage.empty() ? 0 : *std::min_element(of_stage.begin(), of_stage.end());
}

const collectives::SlotLoads& GroupCosts::loads(const collectives::CollectiveAlgorithm& algorithm) {
  for (const auto& [known, loads] : loads_) {
    if (known == &algorithm) return loads;
  }
  const auto& cluster = space_.cluster();
  if (!space_.symmetry().any())
    return loads_.emplace_back(&algorithm, loads_of_stages(groups_.communicator(algorithm), nullptr)).second;
  // Stages that are alike are listed once, but what one stage's links carry is counted by itself.
  const topologies::GroupOrbits orbits(cluster, space_.symmetry(), groups_.factors(), stages_->factors());
  const auto& communicator = groups_.communicator(algorithm);
  if (std::equal(communicator.groups.begin(), communicator.groups.end(), orbits.groups().begin(), orbits.groups().end(),
                 [](const auto& group, const auto& members) { return group.members == members; }))
    return loads_.emplace_back(&algorithm, loads_of_stages(communicator, &orbits)).second;
  const collectives::GroupNetwork network(cluster, orbits);
  return loads_.emplace_back(&algorithm, loads_of_stages(network.communicator(algorithm), &orbits)).second;
}

collectives::SlotLoads GroupCosts::loads_of_stages(const collectives::Communicator& communicator,
                                                   const topologies::GroupOrbits* orbits) {
  std::map<std::int32_t, std::int32_t> classes;  // those stages of which a group is listed
  std::vector<std::int32_t> class_of_group;
  for (const auto& group : communicator.groups) {
    const auto stage = stages_->stage_of(groups_.device_of(group.members.front()));
    class_of_group.push_back(classes.try_emplace(stage, static_cast<std::int32_t>(classes.size())).first->second);
  }
  auto made = slot_loads(
      communicator, [&](topologies::LinkId link) { return space_.cluster().link(link).bandwidth; }, class_of_group,
      orbits);
  // Stages with equal loads are kept once.
  std::sort(made.of_class.begin(), made.of_class.end());
  made.of_class.erase(std::unique(made.of_class.begin(), made.of_class.end()), made.of_class.end());
  return made;
}

void PlacementSets::tell_apart(const std::vector<std::int32_t>& by, std::size_t most) {
  if (most == 1) return;
  std::vector<std::int32_t> sets(first.size() * most, -1);
  first.clear();
  for (std::size_t placement = 0; placement < which.size(); ++placement) {
    auto& set = sets[static_cast<std::size_t>(which[placement]) * most + static_cast<std::size_t>(by[placement])];
    if (set < 0) {
      set = static_cast<std::int32_t>(first.size());
      first.push_back(static_cast<std::int32_t>(placement));
    }
    which[placement] = set;
  }
}

const ByPlacement<const StagesAlong*>& CostBook::stages(std::int32_t number) {
  const auto& node = space_.nodes()[position_of(number)];
  auto& made = nodes_[position_of(number)].stages;
  if (!made.which.empty()) return made;
  for (const auto& placement : node.placements) {
    const StagesAlong* stages = nullptr;
    if (node.degrees.pipeline > 1) {
      auto& along = stages_[place_of(placement, pipeline_bit)];
      if (!along) along = std::make_unique<StagesAlong>(space_, placement);
      stages = along.get();
    }
    add(stages, made);
  }
  return made;
}

const ByPlacement<GroupCosts*>& CostBook::groups(std::int32_t number, std::uint32_t axes) {
  auto& made = nodes_[position_of(number)].along[axes];
  if (!made.which.empty()) return made;
  const auto& placements = space_.nodes()[position_of(number)].placements;
  for (std::size_t placement = 0; placement < placements.size(); ++placement) {
    auto& groups = groups_[axes][place_of(placements[placement], axes)];
    if (!groups) groups = std::make_unique<GroupsAlong>(space_, placements[placement], axes);
    const auto* stages =
        (axes & pipeline_bit) != 0 ? nullptr : this->stages(number).of(static_cast<std::int32_t>(placement));
    auto& costs = costs_[{groups.get(), stages}];
    if (!costs) costs = std::make_unique<GroupCosts>(space_, ports_, *groups, stages);
    add(costs.get(), made);
  }
  return made;
}

GroupCosts::Cost CostBook::cost(GroupCosts& groups, const CollectiveList& list, std::size_t which) {
  auto& along = groups.groups();
  if (!along.made() && !groups.knows(list.numbers[which])) {
    make_room();
    made_.push_back(&along);
  }
  return groups.cost(list.numbers[which], list.collectives[which]);
}

void CostBook::make_room() {
  if (made_.size() * static_cast<std::size_t>(space_.cluster().devices()) < most_devices) return;
  for (auto* const along : made_) along->forget();
  made_.clear();
}

ByPlacement<CollectiveCosts> CostBook::costs(std::int32_t node, const CollectiveList& list) {
  PlacementSets sets(space_.nodes()[position_of(node)].placements.size());
  std::vector<ByPlacement<GroupCosts::Cost>> cost_of(list.collectives.size());
  for (std::size_t i = 0; i < list.collectives.size(); ++i) {
    const auto& groups = this->groups(node, list.collectives[i].axes);
    std::vector<GroupCosts::Cost> costs;
    for (auto* const group : groups.different) costs.push_back(cost(*group, list, i));
    auto& own = cost_of[i];
    for (const auto group : groups.which) add(costs[position_of(group)], own);
    sets.tell_apart(own.which, own.different.size());
  }
  ByPlacement<CollectiveCosts> result{{}, std::move(sets.which)};
  for (const auto placement : sets.first) {
    auto& costs = result.different.emplace_back();
    for (const auto& one : cost_of) {
      costs.alone.push_back(one.of(placement).alone);
      costs.of_network.push_back(one.of(placement).of_network);
    }
  }
  return result;
}

CollectiveCosts CostBook::least_costs(std::int32_t node, const CollectiveList& list) {
  CollectiveCosts result;
  for (std::size_t i = 0; i < list.collectives.size(); ++i) {
    constexpr double most = std::numeric_limits<double>::infinity();
    GroupCosts::Cost least{most, most};
    for (auto* const each : groups(node, list.collectives[i].axes).different) {
      const auto own = cost(*each, list, i);
      least = {std::min(least.alone, own.alone), std::min(least.of_network, own.of_network)};
    }
    result.alone.push_back(least.alone);
    result.of_network.push_back(least.of_network);
  }
  return result;
}

}  // namespace lockstep::planning
