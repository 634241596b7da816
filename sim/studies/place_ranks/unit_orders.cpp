#include "sim/studies/place_ranks/unit_orders.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "topologies/cluster/node_sets.hpp"

namespace lockstep::place_ranks {
namespace {

using topologies::ClusterSpec;
using topologies::DeviceId;
using topologies::RankOrder;

int chips_of_unit(const ClusterSpec& spec) {
  return static_cast<int>(spec.devices() / (std::int64_t{spec.units} * spec.halls));
}

UnitOrder as_numbered(int units) {
  UnitOrder order(static_cast<std::size_t>(units));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

int units_of(const topologies::Cluster& cluster) { return cluster.devices() / cluster.unit_size(); }

/// What is left of blocks, each less than a group, in an order that splits few of them: a group begins with the
/// largest, and goes on with the largest that it has room for, or where all are too large with part of the smallest.
std::vector<int> joined(std::vector<std::vector<int>> parts, int span) {
  const auto size = [](const std::vector<int>& part) { return static_cast<int>(part.size()); };
  std::vector<int> order;
  int room = span;
  while (!parts.empty()) {
    std::stable_sort(parts.begin(), parts.end(), [&](const auto& x, const auto& y) { return size(x) > size(y); });
    auto next = std::find_if(parts.begin(), parts.end(), [&](const auto& part) { return size(part) <= room; });
    if (next == parts.end()) next = std::prev(parts.end());
    const auto taken = std::min(size(*next), room);
    order.insert(order.end(), next->begin(), next->begin() + taken);
    next->erase(next->begin(), next->begin() + taken);
    if (next->empty()) parts.erase(next);
    room = room == taken ? span : room - taken;
  }
  return order;
}

/// Fills groups of `span` units from blocks that have room for whole groups, then groups of what is left over, block by
/// block of the tier above.
UnitOrder whole_groups_first(const Blocks& blocks, int units, int span) {
  UnitOrder order;
  std::vector<std::vector<int>> left{as_numbered(units)};  // each of one block of the tier below
  for (std::size_t tier = 0; tier <= blocks.size(); ++tier) {
    std::map<int, std::vector<std::vector<int>>> inside;  // by block of this tier; above the last all are in one
    for (const auto& part : left) {
      std::map<int, std::vector<int>> split;
      for (const int unit : part)
        split[tier < blocks.size() ? blocks[tier][static_cast<std::size_t>(unit)] : 0].push_back(unit);
      for (auto& [block, members] : split) inside[block].push_back(std::move(members));
    }
    left.clear();
    for (auto& [block, parts] : inside) {
      auto members = joined(std::move(parts), span);
      const auto whole = static_cast<std::ptrdiff_t>(members.size()) / span * span;
      order.insert(order.end(), members.begin(), members.begin() + whole);
      if (whole < std::ssize(members)) left.emplace_back(members.begin() + whole, members.end());
    }
  }
  for (const auto& part : left) order.insert(order.end(), part.begin(), part.end());
  return order;
}

/// From unit to the nearest that is left, by links on the way.
UnitOrder nearest_next(const topologies::Cluster& cluster, int units) {
  std::vector<bool> taken(static_cast<std::size_t>(units), false);
  UnitOrder order{0};
  taken[0] = true;
  while (std::ssize(order) < units) {
    int nearest = -1;
    std::size_t least = 0;
    for (int unit = 0; unit < units; ++unit) {
      if (taken[static_cast<std::size_t>(unit)]) continue;
      const auto hops = cluster.route(order.back() * cluster.unit_size(), unit * cluster.unit_size()).size();
      if (nearest >= 0 && hops >= least) continue;
      nearest = unit;
      least = hops;
    }
    taken[static_cast<std::size_t>(nearest)] = true;
    order.push_back(nearest);
  }
  return order;
}

/// Where runs of neighbours of one block begin, and the end.
std::vector<std::size_t> runs_of(const UnitOrder& order, const std::vector<int>& block_of) {
  std::vector<std::size_t> begins;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto block = [&](std::size_t at) { return block_of[static_cast<std::size_t>(order[at])]; };
    if (i == 0 || block(i) != block(i - 1)) begins.push_back(i);
  }
  begins.push_back(order.size());
  return begins;
}

/// The same of runs of so many.
std::vector<std::size_t> every(std::size_t many, std::size_t units) {
  std::vector<std::size_t> begins;
  for (std::size_t begin = 0; begin < units; begin += many) begins.push_back(begin);
  begins.push_back(units);
  return begins;
}

}  // namespace

std::optional<UnitOrder> order_of(const ClusterSpec& spec) {
  const int units = spec.units * spec.halls, chips = chips_of_unit(spec);
  if (spec.order.kind == RankOrder::Kind::packed) return as_numbered(units);
  if (spec.order.kind != RankOrder::Kind::listed) return {};
  UnitOrder order;
  for (std::size_t i = 0; i < spec.order.devices.size(); ++i) {
    const int place = static_cast<int>(i) % chips;
    if (spec.order.devices[i] % chips != place) return {};
    if (place == 0) order.push_back(spec.order.devices[i] / chips);
    if (spec.order.devices[i] / chips != order.back()) return {};
  }
  return order;
}

std::optional<UnitOrder> order_of(const topologies::Cluster& cluster) {
  UnitOrder order;
  for (DeviceId position = 0; position < cluster.devices(); ++position) {
    const auto device = cluster.device_at_position(position);
    if (position % cluster.unit_size() == 0) order.push_back(cluster.unit_of(device));
    if (cluster.unit_of(device) != order.back()) return {};
  }
  return order;
}

ClusterSpec with_order(ClusterSpec spec, const UnitOrder& order) {
  const int chips = chips_of_unit(spec);
  spec.order = {};
  spec.order.kind = RankOrder::Kind::listed;
  for (const int unit : order) {
    for (int chip = 0; chip < chips; ++chip) spec.order.devices.push_back(unit * chips + chip);
  }
  return spec;
}

std::vector<int> spans_of(const topologies::Cluster& cluster, const topologies::Mesh& mesh) {
  std::set<int> spans;
  for (const auto& axis : mesh.axes()) {
    for (const auto& factor : axis.factors) {
      const bool is_outside = cluster.axes()[factor.axis].kind == topologies::PhysicalAxis::Kind::scale_out;
      if (is_outside && factor.size > 1) spans.insert(factor.size * factor.stride);
    }
  }
  return {spans.begin(), spans.end()};
}

Blocks blocks_of(const topologies::Cluster& cluster) {
  const int units = units_of(cluster);
  Blocks blocks;
  for (const auto& sets : natural_sets(cluster)) {
    std::vector<int> block_of;
    std::set<int> different;
    for (int unit = 0; unit < units; ++unit) {
      block_of.push_back(sets.of_node[unit * cluster.unit_size()]);
      different.insert(block_of.back());
    }
    const auto count = static_cast<int>(different.size());
    const bool holds_units = [&] {
      for (DeviceId device = 0; device < cluster.devices(); ++device) {
        if (sets.of_node[device] != block_of[static_cast<std::size_t>(cluster.unit_of(device))]) return false;
      }
      return true;
    }();
    if (!holds_units || count < 2 || count >= units) continue;
    if (std::find(blocks.begin(), blocks.end(), block_of) == blocks.end()) blocks.push_back(std::move(block_of));
  }
  std::stable_sort(blocks.begin(), blocks.end(), [](const auto& a, const auto& b) {
    return std::set<int>(a.begin(), a.end()).size() > std::set<int>(b.begin(), b.end()).size();
  });
  return blocks;
}

std::vector<NamedOrder> first_orders(const topologies::Cluster& cluster, const std::vector<int>& spans) {
  constexpr int most_for_nearest = 1024;  // it looks at every pair
  const int units = units_of(cluster);
  const auto blocks = blocks_of(cluster);
  std::vector<NamedOrder> orders{{"neighbours together", as_numbered(units)}};
  for (const int span : spans) {
    if (span < units)
      orders.push_back(
          {"whole groups of " + std::to_string(span) + " nodes first", whole_groups_first(blocks, units, span)});
  }
  if (units <= most_for_nearest) orders.push_back({"the nearest node next", nearest_next(cluster, units)});
  std::vector<NamedOrder> different;
  for (auto& one : orders) {
    if (std::none_of(different.begin(), different.end(), [&](const auto& known) { return known.order == one.order; }))
      different.push_back(std::move(one));
  }
  return different;
}

UnitOrder moved(UnitOrder order, const Blocks& blocks, const std::vector<int>& spans, std::mt19937_64& random) {
  const auto below = [&](std::size_t bound) { return static_cast<std::size_t>(random() % bound); };
  const auto way = below(blocks.size() + spans.size() + 1);  // the last: single units
  std::vector<std::size_t> begins;
  if (way < blocks.size()) {
    begins = runs_of(order, blocks[way]);
  } else if (way < blocks.size() + spans.size()) {
    begins = every(static_cast<std::size_t>(spans[way - blocks.size()]), order.size());
  }
  if (begins.size() < 3) begins = every(1, order.size());
  auto first = below(begins.size() - 1), second = below(begins.size() - 2);
  if (second >= first) ++second;
  if (second < first) std::swap(first, second);
  const auto at = [&](std::size_t run) { return order.begin() + static_cast<std::ptrdiff_t>(begins[run]); };
  UnitOrder made(order.begin(), at(first));
  made.insert(made.end(), at(second), at(second + 1));
  made.insert(made.end(), at(first + 1), at(second));
  made.insert(made.end(), at(first), at(first + 1));
  made.insert(made.end(), at(second + 1), order.end());
  return made;
}

}  // namespace lockstep::place_ranks
