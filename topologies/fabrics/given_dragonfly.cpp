// Groups are sought as equal runs of routers that follow one another in the file, the largest first; if there are none,
// by what two routers have in common. Two of a group have all of it as neighbours, two that a global link joins have
// few. So whatever is joined by cables whose ends have at least so many neighbours in common may be a group, for one
// number after the other, the largest first. What is found must be a dragonfly: all of a group joined, and any two
// groups.
#include <algorithm>
#include <boost/pending/disjoint_sets.hpp>
#include <map>
#include <numeric>
#include <set>

#include "topologies/fabrics/dragonfly_layout_private.hpp"

namespace lockstep::topologies {
namespace {

using GroupOfRouter = Indexed<RouterId, RouterGroupId>;

constexpr std::size_t most_joined = 4'000'000;  // pairs of routers; a network with more is taken as it is

class Finding {
 public:
  explicit Finding(const UsedNetwork& cables) : cables_(cables), neighbours_(cables.groups.size()) {
    std::set<std::pair<RouterId, RouterId>> joined;
    for (const GroupLink& link : cables.links) joined.insert(std::minmax(link.lower, link.upper));
    joined_.assign(joined.begin(), joined.end());
    for (const RouterId id : neighbours_.ids()) neighbours_[id].push_back(id);
    for (const auto& [one, other] : joined_) {
      neighbours_[one].push_back(other);
      neighbours_[other].push_back(one);
    }
    for (auto& list : neighbours_) std::sort(list.begin(), list.end());
  }

  [[nodiscard]] std::optional<GroupOfRouter> groups() const {
    const std::size_t all_pairs = neighbours_.size() * (neighbours_.size() - 1) / 2;  // a single group, if joined
    if (joined_.size() > most_joined || joined_.size() == all_pairs || !one_port_each()) return std::nullopt;
    for (int size = neighbours_.count() / 2; size >= 2; --size) {
      if (neighbours_.count() % size != 0) continue;
      GroupOfRouter runs;
      for (const RouterId id : neighbours_.ids()) runs.push_back(id / size);
      if (is_dragonfly(runs)) return runs;
    }
    std::map<int, std::vector<std::pair<RouterId, RouterId>>, std::greater<>> by_common;
    for (const auto& pair : joined_) by_common[in_common(pair.first, pair.second)].push_back(pair);
    Sets sets(neighbours_.size());
    for (const auto& [common, pairs] : by_common) {
      for (const auto& [one, other] : pairs) sets.join(one, other);
      auto found = sets.groups();
      if (is_dragonfly(found)) return found;
    }
    return std::nullopt;
  }

 private:
  class Sets {
   public:
    explicit Sets(std::size_t routers) : rank_(routers, 0), parent_(routers), sets_(rank_.data(), parent_.data()) {
      std::iota(parent_.begin(), parent_.end(), 0);
    }
    void join(RouterId one, RouterId other) { sets_.union_set(one, other); }
    /// Numbered by their first routers.
    GroupOfRouter groups() {
      GroupOfRouter groups;
      std::map<RouterId, RouterGroupId> numbers;
      for (const RouterId id : parent_.ids())
        groups.push_back(
            numbers.try_emplace(sets_.find_set(id), static_cast<RouterGroupId>(numbers.size())).first->second);
      return groups;
    }

   private:
    Indexed<RouterId, int> rank_;
    Indexed<RouterId, RouterId> parent_;
    boost::disjoint_sets<int*, RouterId*> sets_;
  };

  [[nodiscard]] bool one_port_each() const {
    Indexed<EndId, int> ports(cables_.names.size(), 0);
    for (const PortOfEnd& port : cables_.ports) ++ports[port.end];
    return std::all_of(ports.begin(), ports.end(), [](int count) { return count == 1; });
  }

  /// Both routers count themselves as neighbours.
  [[nodiscard]] int in_common(RouterId one, RouterId other) const {
    std::vector<RouterId> common;
    std::set_intersection(neighbours_[one].begin(), neighbours_[one].end(), neighbours_[other].begin(),
                          neighbours_[other].end(), std::back_inserter(common));
    return static_cast<int>(common.size());
  }

  /// At least two groups of at least two routers, not two of two: a ring of four switches is none. Each router is
  /// joined to all others of its group by one cable, and any two groups are joined.
  [[nodiscard]] bool is_dragonfly(const GroupOfRouter& group_of) const {
    Indexed<RouterGroupId, std::int64_t> size(position_of(*std::max_element(group_of.begin(), group_of.end()) + 1), 0);
    for (const RouterGroupId group : group_of) ++size[group];
    const auto groups = std::ssize(size);
    if (groups < 2 || group_of.count() <= 4 || *std::min_element(size.begin(), size.end()) < 2) return false;
    std::int64_t local = 0, needed = 0;
    std::set<std::pair<RouterGroupId, RouterGroupId>> between;
    for (const GroupLink& link : cables_.links) {
      const auto pair = std::minmax(group_of[link.lower], group_of[link.upper]);
      if (pair.first == pair.second) ++local;
      if (pair.first != pair.second) between.insert(pair);
    }
    for (const auto routers : size) needed += routers * (routers - 1) / 2;
    std::int64_t joined_in_groups = 0;
    for (const auto& [one, other] : joined_) joined_in_groups += group_of[one] == group_of[other] ? 1 : 0;
    return local == needed && joined_in_groups == needed && std::ssize(between) == groups * (groups - 1) / 2;
  }

  const UsedNetwork& cables_;
  Indexed<RouterId, std::vector<RouterId>> neighbours_;
  std::vector<std::pair<RouterId, RouterId>> joined_;
};

}  // namespace

std::optional<DragonflyLayout> as_dragonfly(const UsedNetwork& cables) {
  if (cables.in_tiers || cables.links.empty()) return std::nullopt;
  const auto group_of = Finding(cables).groups();
  if (!group_of) return std::nullopt;

  DragonflyLayout layout;
  Indexed<RouterGroupId, int> size;
  for (const RouterId id : group_of->ids()) {
    layout.routers.push_back({cables.groups[id].name, (*group_of)[id]});
    if ((*group_of)[id] == layout.groups.count()) {
      layout.groups.push_back(cables.groups[id].name);
      size.push_back(0);
    }
    ++size[(*group_of)[id]];
  }
  for (const RouterGroupId group : layout.groups.ids())
    layout.groups[group] += " and " + std::to_string(size[group] - 1) + " more";
  for (const PortOfEnd& port : cables.ports) layout.ports.push_back({port.group, port.rate, port.latency});
  for (const GroupLink& link : cables.links) {
    const bool same = (*group_of)[link.lower] == (*group_of)[link.upper];
    auto from = link.lower, to = link.upper;
    if (same ? from > to : (*group_of)[from] > (*group_of)[to]) std::swap(from, to);
    (same ? layout.local : layout.global).push_back({from, to, link.rate, link.latency});
  }
  const auto groups_of = [&](const RouterCable& cable) {
    return std::pair((*group_of)[cable.from], (*group_of)[cable.to]);
  };
  std::stable_sort(layout.local.begin(), layout.local.end(), [&](const RouterCable& a, const RouterCable& b) {
    return std::tuple(groups_of(a), a.from, a.to) < std::tuple(groups_of(b), b.from, b.to);
  });
  std::stable_sort(layout.global.begin(), layout.global.end(),
                   [&](const RouterCable& a, const RouterCable& b) { return groups_of(a) < groups_of(b); });
  return layout;
}

}  // namespace lockstep::topologies
