#include "sim/planning/group_prices.hpp"

#include <algorithm>
#include <limits>

namespace lockstep {
namespace {

/// Factors of the axes among `bits`; the placement lists axes larger than 1 only.
GroupPlace place_of(const PlanSpace::Placement& placement, std::uint32_t bits) {
  GroupPlace place;
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

bool operator<(const Factor& a, const Factor& b) { return std::tie(a.axis, a.size, a.stride) < std::tie(b.axis, b.size, b.stride); }

}  // namespace

bool FactorOrder::operator()(const GroupPlace& a, const GroupPlace& b) const {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), [](const auto& one, const auto& other) {
    return std::lexicographical_compare(one.begin(), one.end(), other.begin(), other.end(), [](const Factor& x, const Factor& y) { return x < y; });
  });
}

GroupPrices::GroupPrices(const PlanSpace& space, const PlanSpace::Placement& placement, AxisNames axes)
    : cluster_(space.cluster()), mesh_(std::make_unique<const Mesh>(cluster_, placement, "")), model_(cluster_, *mesh_, space.base().algorithms), axes_(std::move(axes)) {
  const std::string pipeline(plan_axes[pipeline_axis_number]);
  if (!mesh_->has_axis(pipeline) || contains(axes_, pipeline)) return;
  stage_of_rank_.resize(static_cast<std::size_t>(mesh_->ranks()));
  for (const auto& line : pipeline_lines(*mesh_)) {
    for (std::size_t stage = 0; stage < line.size(); ++stage) stage_of_rank_[static_cast<std::size_t>(line[stage])] = static_cast<std::int32_t>(stage);
  }
}

double GroupPrices::price(const PricedCollective& collective) {
  const auto& copies = collective.copies;
  const auto [known, is_new] = known_.try_emplace({collective.kind, collective.size.value(), copies.each, copies.groups, copies.groups_per_token}, 0.0);
  if (is_new) known->second = stage_of_rank_.empty() ? model_.cost(collective.kind, axes_, collective.size, copies).value() : price_of_stage(collective);
  return known->second;
}

double GroupPrices::price_of_stage(const PricedCollective& collective) {
  const auto lowered = model_.lower(collective.kind, axes_, collective.size, "", collective.copies);
  double least = std::numeric_limits<double>::infinity();
  for (const auto& stage : loads(lowered.layout)) {
    double time = 0;
    for (const auto& phase : lowered.phases) {
      double longest = 0;
      for (const auto& load : stage) {
        double bytes = 0;
        for (const auto& [slot, times] : load.crossings) bytes += times * phase.slot_bytes[static_cast<std::size_t>(slot)];
        longest = std::max(longest, bytes / load.bandwidth);
      }
      time += phase.latency.value() + longest;
    }
    least = std::min(least, time);
  }
  return least;
}

const std::set<GroupPrices::StageLoads>& GroupPrices::loads(const std::pair<AxisNames, std::string>& layout) {
  const auto [known, is_new] = loads_.try_emplace(layout);
  if (!is_new) return known->second;
  std::map<std::int32_t, std::map<LinkId, std::map<std::int32_t, double>>> crossings;  // by stage, link and slot
  for (const auto& group : model_.communicator(layout).groups) {
    auto& of_stage = crossings[stage_of_rank_[static_cast<std::size_t>(group.members.front())]];
    for (const auto& flow : group.flows) {
      for (const auto link : flow.links) of_stage[link][flow.slot] += 1;
    }
  }
  for (const auto& [stage, links] : crossings) {
    StageLoads different;
    for (const auto& [link, slots] : links) different.insert({slots, cluster_.link(link).bandwidth.value()});
    known->second.insert(std::move(different));
  }
  return known->second;
}

StageRoutes::StageRoutes(const PlanSpace& space, const PlanSpace::Placement& placement) {
  const Mesh mesh(space.cluster(), placement, "");
  const auto lines = pipeline_lines(mesh);
  const auto stages = static_cast<std::int32_t>(lines.front().size());
  for (std::int32_t stage = 0; stage < stages; ++stage) {
    const auto next = (stage + 1) % stages;
    next_.push_back(connect_stages(space.cluster(), mesh, lines, std::min(stage, next), std::max(stage, next)).routes);
  }
}

double StageRoutes::time(std::int32_t from, std::int32_t to, double bytes) const {
  if (from == to) return 0;
  const auto [low, high] = std::minmax(from, to);
  const auto direction = from < to ? StagePairRoutes::upward : StagePairRoutes::downward;
  if (high - low == 1) return next_[static_cast<std::size_t>(low)].transfer(direction, bytes).time.value();
  return next_.back().transfer(direction, bytes).time.value();
}

PriceBook::Known& PriceBook::known(const PlanSpace::Node& node) {
  const auto [found, is_new] = nodes_.try_emplace(node.degrees);
  if (is_new) {
    found->second.groups.resize(node.placements.size());
    found->second.routes.resize(node.placements.size(), nullptr);
  }
  return found->second;
}

GroupPrices& PriceBook::group(const PlanSpace::Node& node, std::size_t placement, std::uint32_t axes) {
  auto*& known_group = known(node).groups[placement][axes];
  if (known_group == nullptr) {
    const auto& place = node.placements[placement];
    auto& made = groups_[axes][place_of(place, axes | 1U << pipeline_axis_number)];
    if (!made) made = std::make_unique<GroupPrices>(space_, place, names_of(place, axes));
    known_group = made.get();
  }
  return *known_group;
}

double PriceBook::price(const PlanSpace::Node& node, std::size_t placement, const PricedCollective& collective) {
  return group(node, placement, collective.axes).price(collective);
}

std::vector<double> PriceBook::prices(const PlanSpace::Node& node, std::size_t placement, const PlanSketch& sketch) {
  std::vector<double> result;
  for (const auto& collective : sketch.collectives) result.push_back(price(node, placement, collective));
  return result;
}

std::vector<double> PriceBook::least_prices(const PlanSpace::Node& node, const PlanSketch& sketch) {
  std::vector<double> result;
  for (const auto& collective : sketch.collectives) {
    auto& different = known(node).different[collective.axes];
    if (different.empty()) {
      for (std::size_t placement = 0; placement < node.placements.size(); ++placement) {
        auto* const each = &group(node, placement, collective.axes);
        if (std::find(different.begin(), different.end(), each) == different.end()) different.push_back(each);
      }
    }
    double least = std::numeric_limits<double>::infinity();
    for (auto* const each : different) least = std::min(least, each->price(collective));
    result.push_back(least);
  }
  return result;
}

const StageRoutes& PriceBook::routes(const PlanSpace::Node& node, std::size_t placement) {
  auto& known_routes = known(node).routes[placement];
  if (known_routes == nullptr) {
    const auto& place = node.placements[placement];
    auto& made = routes_[place_of(place, 1U << pipeline_axis_number)];
    if (!made) made = std::make_unique<StageRoutes>(space_, place);
    known_routes = made.get();
  }
  return *known_routes;
}

}  // namespace lockstep
