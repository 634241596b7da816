#include "topologies/fabrics/graph_routes_private.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace lockstep::topologies {
namespace {

constexpr std::size_t most_memory = std::size_t{64} << 20;  // of known distances, bytes
constexpr std::size_t least_known = 16;

/// One of the ways that are open, by the next digit of a choice; null: none is.
template <class Ways, class IsOpen>
auto taken(const Ways& ways, std::uint64_t& choice, IsOpen is_open) -> decltype(&ways.front()) {
  const auto count = static_cast<std::uint64_t>(std::count_if(ways.begin(), ways.end(), is_open));
  if (count == 0) return nullptr;
  std::uint64_t left = choice % count;
  choice /= count;
  return &*std::find_if(ways.begin(), ways.end(), [&](const auto& way) { return is_open(way) && left-- == 0; });
}

bool is_missing(const MissingLinks& missing, LinkId link) { return !missing.empty() && missing[link]; }

}  // namespace

GraphRoutes::GraphRoutes(const UsedNetwork& network, LinkId first_port, LinkId first_link)
    : in_tiers_(network.in_tiers), ways_(network.groups.size()), ways_of_end_(network.names.size()) {
  for (const ModelledGroup& group : network.groups) tier_.push_back(group.tier);
  for (const PortOfEnd& port : network.ports) {
    ways_of_end_[port.end].push_back({port.group, first_port, first_port + 1});
    with_ends_.push_back(port.group);
    first_port += 2;
  }
  std::sort(with_ends_.begin(), with_ends_.end());
  with_ends_.erase(std::unique(with_ends_.begin(), with_ends_.end()), with_ends_.end());
  for (const GroupLink& link : network.links) {
    ways_[link.lower].push_back({link.upper, first_link, first_link + 1});
    ways_[link.upper].push_back({link.lower, first_link + 1, first_link});
    first_link += 2;
  }
  from_top_.resize(network.groups.size());
  std::iota(from_top_.begin(), from_top_.end(), 0);
  std::stable_sort(from_top_.begin(), from_top_.end(),
                   [&](SwitchGroupId a, SwitchGroupId b) { return tier_[a] > tier_[b]; });
  known_.to.resize(network.groups.size());
  known_without_.to.resize(network.groups.size());
  find_alike();
}

void GraphRoutes::find_alike() {
  std::map<std::pair<int, std::vector<SwitchGroupId>>, SwitchGroupId> first;
  for (const SwitchGroupId id : ways_.ids()) {
    std::vector<SwitchGroupId> neighbours;
    for (const Way& way : ways_[id]) neighbours.push_back(way.to);
    std::sort(neighbours.begin(), neighbours.end());
    neighbours.erase(std::unique(neighbours.begin(), neighbours.end()), neighbours.end());
    first_alike_.push_back(first.try_emplace({tier_[id], std::move(neighbours)}, id).first->second);
  }
}

Indexed<SwitchGroupId, GraphRoutes::Distance> GraphRoutes::searched(SwitchGroupId to, const MissingLinks& missing,
                                                                    bool only_down) const {
  Indexed<SwitchGroupId, Distance> distances(ways_.size(), unreached);
  distances[to] = 0;
  std::vector<SwitchGroupId> reached{to};
  for (std::size_t next = 0; next < reached.size(); ++next) {
    const SwitchGroupId here = reached[next];
    for (const Way& way : ways_[here]) {
      if (distances[way.to] != unreached || is_missing(missing, way.back)) continue;
      if (only_down && tier_[way.to] < tier_[here]) continue;
      distances[way.to] = static_cast<Distance>(distances[here] + 1);
      reached.push_back(way.to);
    }
  }
  return distances;
}

bool GraphRoutes::reaches_fewer(const Indexed<SwitchGroupId, Distance>& some,
                                const Indexed<SwitchGroupId, Distance>& others) const {
  return std::any_of(with_ends_.begin(), with_ends_.end(),
                     [&](SwitchGroupId id) { return some[id] == unreached && others[id] != unreached; });
}

GraphRoutes::Distances GraphRoutes::distances_to(SwitchGroupId to, const MissingLinks& missing) const {
  if (!in_tiers_) return {searched(to, missing, false), {}};
  Distances found;
  found.falling = found.any = searched(to, missing, true);
  for (const SwitchGroupId here : from_top_) {
    for (const Way& way : ways_[here]) {
      if (tier_[way.to] < tier_[here] || found.any[way.to] == unreached || is_missing(missing, way.out)) continue;
      found.any[here] = std::min(found.any[here], static_cast<Distance>(found.any[way.to] + 1));
    }
  }
  if (std::find(found.any.begin(), found.any.end(), unreached) == found.any.end()) return found;
  auto shortest = searched(to, missing, false);
  if (reaches_fewer(found.any, shortest)) return {std::move(shortest), {}};
  return found;
}

std::shared_ptr<const GraphRoutes::Distances> GraphRoutes::known_or_found(Known& known, SwitchGroupId to,
                                                                          const MissingLinks& missing) const {
  auto& distances = known.to[to];
  if (distances != nullptr) return distances;
  const std::size_t most = std::max(least_known, most_memory / (2 * sizeof(Distance) * ways_.size()));
  if (known.in_order.size() == most) {
    known.to[known.in_order.front()] = nullptr;
    known.in_order.pop_front();
  }
  distances = std::make_shared<const Distances>(distances_to(to, missing));
  known.in_order.push_back(to);
  return distances;
}

GraphRoutes::View GraphRoutes::view_of(SwitchGroupId to, const MissingLinks& missing) const {
  const std::scoped_lock lock(guard_);
  if (missing.empty()) {
    const SwitchGroupId alike = first_alike_[to];
    return {known_or_found(known_, alike, missing), alike, to};
  }
  if (without_ != missing) {
    for (const SwitchGroupId id : known_without_.in_order) known_without_.to[id] = nullptr;
    known_without_.in_order.clear();
    without_ = missing;
  }
  return {known_or_found(known_without_, to, missing), to, to};
}

bool GraphRoutes::walk(EndId from, EndId to, std::uint64_t choice, const MissingLinks& missing,
                       std::vector<LinkId>& links) const {
  std::vector<View> views;
  for (const Way& way : ways_of_end_[to]) {
    if (!is_missing(missing, way.back)) views.push_back(view_of(way.to, missing));
  }
  const bool up_then_down =
      std::all_of(views.begin(), views.end(), [](const View& view) { return view.up_then_down(); });
  const auto left = [&](SwitchGroupId group, bool falling) {
    Distance least = unreached;
    for (const View& view : views) least = std::min(least, view.left(group, falling));
    return least;
  };

  Distance remaining = unreached;
  for (const Way& way : ways_of_end_[from]) {
    if (!is_missing(missing, way.out)) remaining = std::min(remaining, left(way.to, false));
  }
  if (remaining == unreached) return false;
  const Way* way = taken(ways_of_end_[from], choice, [&](const Way& first) {
    return !is_missing(missing, first.out) && left(first.to, false) == remaining;
  });
  links.push_back(way->out);
  SwitchGroupId here = way->to;
  for (bool falling = false; remaining > 0; --remaining) {
    way = taken(ways_[here], choice, [&](const Way& next) {
      if (is_missing(missing, next.out)) return false;
      const bool down = up_then_down && tier_[next.to] < tier_[here];
      if (up_then_down && falling && !down) return false;
      return left(next.to, down) == remaining - 1;
    });
    falling = up_then_down && tier_[way->to] < tier_[here];
    links.push_back(way->out);
    here = way->to;
  }
  way = taken(ways_of_end_[to], choice,
              [&](const Way& last) { return last.to == here && !is_missing(missing, last.back); });
  links.push_back(way->back);
  return true;
}

bool GraphRoutes::find(EndId from, EndId to, std::uint64_t choice, const MissingLinks& missing,
                       std::vector<LinkId>& links) const {
  const std::size_t first = links.size();
  if (walk(from, to, choice, {}, links) && all_there(links, first, missing)) return true;
  links.resize(first);
  return !missing.empty() && walk(from, to, choice, missing, links);
}

}  // namespace lockstep::topologies
