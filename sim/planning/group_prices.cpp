#include "sim/planning/group_prices.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace lockstep {
namespace {

constexpr std::uint32_t pipeline_bit = 1U << pipeline_axis_number;
constexpr std::size_t most_devices = 1'000'000;  // in all groups at a time, about 1 kB each

/// Of the axes among `bits`; the placement lists axes larger than 1 only.
std::vector<std::vector<Factor>> place_of(const PlanSpace::Placement& placement, std::uint32_t bits) {
  std::vector<std::vector<Factor>> place;
  for (const auto& axis : placement) {
    if ((axis_bits({axis.name}) & bits) != 0) place.push_back(axis.factors);
  }
  return place;
}

AxisNames names_of(const PlanSpace::Placement& placement, std::uint32_t bits) {
  AxisNames names;
  for (const auto& axis : placement) {
    if ((axis_bits({axis.name}) & bits) != 0) names.push_back(axis.name);
  }
  return names;
}

/// One more placement.
template <class Value>
void add(const Value& value, ByPlacement<Value>& to) {
  const auto same = std::find(to.different.begin(), to.different.end(), value);
  to.which.push_back(static_cast<std::int32_t>(same - to.different.begin()));
  if (same == to.different.end()) to.different.push_back(value);
}

}  // namespace

bool PriceBook::Before::operator()(const Place& a, const Place& b) const {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), [](const auto& one, const auto& other) {
    return std::lexicographical_compare(one.begin(), one.end(), other.begin(), other.end(),
                                        [](const Factor& x, const Factor& y) { return std::tie(x.axis, x.size, x.stride) < std::tie(y.axis, y.size, y.stride); });
  });
}

GroupsAlong::GroupsAlong(const PlanSpace& space, PlanSpace::Placement placement, std::uint32_t axes)
    : space_(space), placement_(std::move(placement)), axes_(names_of(placement_, axes)) {}

CollectiveModel& GroupsAlong::model() {
  if (model_) return *model_;
  mesh_ = std::make_unique<const Mesh>(space_.cluster(), placement_, "");
  return model_.emplace(space_.cluster(), *mesh_, space_.base().collectives);
}

void GroupsAlong::forget() {
  model_.reset();
  mesh_.reset();
}

StagesAlong::StagesAlong(const PlanSpace& space, const PlanSpace::Placement& placement) {
  const Mesh mesh(space.cluster(), placement, "");
  const auto lines = pipeline_lines(mesh);
  const auto stages = static_cast<std::int32_t>(lines.front().size());
  stage_of_device_.resize(static_cast<std::size_t>(mesh.ranks()));
  for (const auto& line : lines) {
    for (std::int32_t stage = 0; stage < stages; ++stage) stage_of_device_[static_cast<std::size_t>(mesh.device_of(line[static_cast<std::size_t>(stage)]))] = stage;
  }
  for (std::int32_t stage = 0; stage < stages; ++stage) {
    const auto next = (stage + 1) % stages;
    next_.push_back(connect_stages(space.cluster(), mesh, lines, std::min(stage, next), std::max(stage, next)).routes);
  }
}

const StagesAlong::Times& StagesAlong::times(std::int64_t bytes) const {
  const auto [known, is_new] = times_.try_emplace(bytes);
  auto& made = known->second;
  if (!is_new) return made;
  for (const auto& routes : next_) {
    made.upward.push_back(routes.transfer(StagePairRoutes::upward, static_cast<double>(bytes)).time.value());
    made.downward.push_back(routes.transfer(StagePairRoutes::downward, static_cast<double>(bytes)).time.value());
  }
  return made;
}

double StagesAlong::Times::between(std::int32_t from, std::int32_t to) const {
  if (from == to) return 0;
  const auto [low, high] = std::minmax(from, to);
  const auto pair = high - low == 1 ? static_cast<std::size_t>(low) : upward.size() - 1;
  return (from < to ? upward : downward)[pair];
}

double GroupPrices::price(std::int32_t number, const PricedCollective& collective) {
  const auto [known, is_new] = known_.try_emplace(number);
  if (is_new) known->second = stages_ == nullptr ? groups_.cost(collective).value() : price_of_stage(collective);
  return known->second;
}

double GroupPrices::price_of_stage(const PricedCollective& collective) {
  const auto lowered = groups_.lower(collective);
  const auto& network = loads(lowered);
  std::vector<double> times;  // of each load in a phase
  std::vector<double> of_stage(network.stages.size(), 0.0);
  for (const auto& phase : lowered.phases) {
    times.clear();
    for (const auto& load : network.loads) {
      double bytes = 0;
      for (const auto& [slot, crossings] : load.crossings) bytes += crossings * phase.slot_bytes[static_cast<std::size_t>(slot)];
      times.push_back(bytes / load.bandwidth);
    }
    auto time = of_stage.begin();
    for (const auto& stage : network.stages) {
      double longest = 0;
      for (const auto load : stage) longest = std::max(longest, times[static_cast<std::size_t>(load)]);
      *time++ += phase.latency.value() + longest;
    }
  }
  return of_stage.empty() ? 0 : *std::min_element(of_stage.begin(), of_stage.end());
}

const GroupPrices::StageLoads& GroupPrices::loads(const CollectiveModel::Lowered& lowered) {
  const auto [known, is_new] = loads_.try_emplace(lowered.layout);
  auto& made = known->second;
  if (!is_new) return made;

  // Stage and slot of the flows that cross each link, one link after the other in a single array.
  using Crossing = std::pair<std::int32_t, std::int32_t>;
  std::vector<std::size_t> end(static_cast<std::size_t>(cluster_.links()) + 1, 0);
  const auto each_crossing = [&](const auto& visit) {
    for (const auto& group : groups_.communicator(lowered).groups) {
      const auto stage = stages_->stage_of(groups_.device_of(group.members.front()));
      for (const auto& flow : group.flows) {
        for (const auto link : flow.links) visit(static_cast<std::size_t>(link), Crossing{stage, flow.slot});
      }
    }
  };
  each_crossing([&](std::size_t link, Crossing) { ++end[link + 1]; });
  std::partial_sum(end.begin(), end.end(), end.begin());
  std::vector<Crossing> crossings(end.back());
  each_crossing([&](std::size_t link, Crossing crossing) { crossings[end[link]++] = crossing; });

  std::map<Load, std::int32_t> numbers;
  std::vector<std::vector<std::int32_t>> of_stage(static_cast<std::size_t>(stages_->stages()));
  Load load;
  auto first = crossings.begin();
  for (LinkId link = 0; link < cluster_.links(); ++link) {
    const auto last = crossings.begin() + static_cast<std::ptrdiff_t>(end[static_cast<std::size_t>(link)]);
    std::sort(first, last);
    while (first != last) {
      const auto stage = first->first;
      load.crossings.clear();
      load.bandwidth = cluster_.link(link).bandwidth.value();
      for (; first != last && first->first == stage; ++first) {
        if (load.crossings.empty() || load.crossings.back().first != first->second) load.crossings.emplace_back(first->second, 0);
        ++load.crossings.back().second;
      }
      auto number = numbers.find(load);
      if (number == numbers.end()) {
        number = numbers.emplace(load, static_cast<std::int32_t>(numbers.size())).first;
        made.loads.push_back(load);
      }
      of_stage[static_cast<std::size_t>(stage)].push_back(number->second);
    }
  }
  for (auto& stage : of_stage) {
    std::sort(stage.begin(), stage.end());
    stage.erase(std::unique(stage.begin(), stage.end()), stage.end());
    made.stages.insert(std::move(stage));
  }
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

const ByPlacement<const StagesAlong*>& PriceBook::stages(std::int32_t number) {
  const auto& node = space_.nodes()[static_cast<std::size_t>(number)];
  auto& made = nodes_[static_cast<std::size_t>(number)].stages;
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

const ByPlacement<GroupPrices*>& PriceBook::groups(std::int32_t number, std::uint32_t axes) {
  auto& made = nodes_[static_cast<std::size_t>(number)].along[axes];
  if (!made.which.empty()) return made;
  const auto& placements = space_.nodes()[static_cast<std::size_t>(number)].placements;
  for (std::size_t placement = 0; placement < placements.size(); ++placement) {
    auto& groups = groups_[axes][place_of(placements[placement], axes)];
    if (!groups) groups = std::make_unique<GroupsAlong>(space_, placements[placement], axes);
    const auto* stages = (axes & pipeline_bit) != 0 ? nullptr : this->stages(number).of(static_cast<std::int32_t>(placement));
    auto& prices = prices_[{groups.get(), stages}];
    if (!prices) prices = std::make_unique<GroupPrices>(space_.cluster(), *groups, stages);
    add(prices.get(), made);
  }
  return made;
}

double PriceBook::price(GroupPrices& groups, const CollectiveList& list, std::size_t which) {
  auto& along = groups.groups();
  if (!along.made() && !groups.knows(list.numbers[which])) {
    make_room();
    made_.push_back(&along);
  }
  return groups.price(list.numbers[which], list.collectives[which]);
}

void PriceBook::make_room() {
  if (made_.size() * static_cast<std::size_t>(space_.cluster().devices()) < most_devices) return;
  for (auto* const along : made_) along->forget();
  made_.clear();
}

ByPlacement<std::vector<double>> PriceBook::prices(std::int32_t node, const CollectiveList& list) {
  PlacementSets sets(space_.nodes()[static_cast<std::size_t>(node)].placements.size());
  std::vector<ByPlacement<double>> price_of(list.collectives.size());
  for (std::size_t i = 0; i < list.collectives.size(); ++i) {
    const auto& groups = this->groups(node, list.collectives[i].axes);
    std::vector<double> prices;
    for (auto* const group : groups.different) prices.push_back(price(*group, list, i));
    auto& own = price_of[i];
    for (const auto group : groups.which) add(prices[static_cast<std::size_t>(group)], own);
    sets.tell_apart(own.which, own.different.size());
  }
  ByPlacement<std::vector<double>> result{{}, std::move(sets.which)};
  for (const auto placement : sets.first) {
    auto& prices = result.different.emplace_back();
    for (const auto& one : price_of) prices.push_back(one.of(placement));
  }
  return result;
}

std::vector<double> PriceBook::least_prices(std::int32_t node, const CollectiveList& list) {
  std::vector<double> result;
  for (std::size_t i = 0; i < list.collectives.size(); ++i) {
    double least = std::numeric_limits<double>::infinity();
    for (auto* const each : groups(node, list.collectives[i].axes).different) least = std::min(least, price(*each, list, i));
    result.push_back(least);
  }
  return result;
}

}  // namespace lockstep
