#include "sim/collectives/exchange_by_switch.hpp"

#include <algorithm>
#include <optional>

namespace lockstep::collectives {
namespace {

using topologies::DeviceId;
using topologies::LinkId;
using topologies::NodeId;
using topologies::NodeKind;
using Route = std::vector<LinkId>;

constexpr std::size_t most_switches = 1000;  // a million pairs of them

/// A member's way to its first switch of the network and back.
struct Ends {
  NodeId to_switch = -1, from_switch = -1;
  Route out, in;
};

bool is_adapter(const topologies::Cluster& cluster, NodeId node) {
  const auto kind = cluster.node(node).kind;
  return kind == NodeKind::nic || kind == NodeKind::host;
}

/// The part of a route up to the switch behind the first adapter.
Route way_out(const topologies::Cluster& cluster, const Route& route) {
  const auto leaves = std::find_if(route.begin(), route.end(),
                                   [&](LinkId link) { return is_adapter(cluster, cluster.link(link).from); });
  return leaves == route.end() ? Route{} : Route(route.begin(), leaves + 1);
}

/// The part from the switch before the last adapter on.
Route way_in(const topologies::Cluster& cluster, const Route& route) {
  const auto arrives = std::find_if(route.rbegin(), route.rend(),
                                    [&](LinkId link) { return is_adapter(cluster, cluster.link(link).to); });
  return arrives == route.rend() ? Route{} : Route(arrives.base() - 1, route.end());
}

/// What lies between the ends; nothing if the route does not begin and end as expected.
std::optional<Route> middle(const topologies::Cluster& cluster, DeviceId from, DeviceId to, const Ends& first,
                            const Ends& last) {
  const auto route = cluster.route(from, to);
  const auto ends = first.out.size() + last.in.size();
  if (route.size() < ends || !std::equal(first.out.begin(), first.out.end(), route.begin()) ||
      !std::equal(last.in.rbegin(), last.in.rend(), route.rbegin()))
    return std::nullopt;
  return Route(route.begin() + std::ssize(first.out), route.end() - std::ssize(last.in));
}

/// Nothing if routes depend on more than the members' switches, as round a missing link.
std::optional<Crossings> by_switch(const topologies::Cluster& cluster, const std::vector<DeviceId>& members) {
  std::vector<Ends> ends(members.size());
  std::map<NodeId, std::vector<std::size_t>> below;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto next = (i + 1) % members.size();
    const auto route = cluster.route(members[i], members[next]);
    ends[i].out = way_out(cluster, route);
    ends[next].in = way_in(cluster, route);
    if (ends[i].out.empty() || ends[next].in.empty()) return std::nullopt;
    ends[i].to_switch = cluster.link(ends[i].out.back()).to;
    ends[next].from_switch = cluster.link(ends[next].in.front()).from;
  }
  Crossings crossings;
  const auto others = static_cast<std::int64_t>(members.size()) - 1;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (ends[i].to_switch != ends[i].from_switch) return std::nullopt;
    below[ends[i].to_switch].push_back(i);
    for (const auto* way : {&ends[i].out, &ends[i].in}) {
      for (const auto link : *way) crossings[link] += others;
    }
  }
  if (below.size() > most_switches) return std::nullopt;
  const auto between = [&](std::size_t from, std::size_t to) {
    return middle(cluster, members[from], members[to], ends[from], ends[to]);
  };
  for (auto here = below.begin(); here != below.end(); ++here) {
    // Each member's routes must be those of its switch's first one; a link of one member alone may be missing.
    const auto after = std::next(here) == below.end() ? below.begin() : std::next(here);
    const auto first = here->second.front();
    const auto other = after == here ? here->second.back() : after->second.front();
    for (const auto member : here->second) {
      if (member == other || first == other) continue;
      if (between(member, other) != between(first, other) || between(other, member) != between(other, first))
        return std::nullopt;
    }
    for (auto there = below.begin(); there != below.end(); ++there) {
      if (here == there) continue;
      const auto links = between(first, there->second.front());
      if (!links) return std::nullopt;
      for (const auto link : *links) crossings[link] += std::ssize(here->second) * std::ssize(there->second);
    }
  }
  return crossings;
}

Crossings one_by_one(const topologies::Cluster& cluster, const std::vector<DeviceId>& members) {
  Crossings crossings;
  for (const auto from : members) {
    for (const auto to : members) {
      if (from == to) continue;
      for (const auto link : cluster.routes(from, to)) ++crossings[link];
    }
  }
  return crossings;
}

}  // namespace

Crossings exchange_by_switch(const topologies::Cluster& cluster, const std::vector<DeviceId>& members) {
  if (cluster.flows_of_connection() == 1 && members.size() > 1) {
    if (auto counted = by_switch(cluster, members)) return *std::move(counted);
  }
  return one_by_one(cluster, members);
}

}  // namespace lockstep::collectives
