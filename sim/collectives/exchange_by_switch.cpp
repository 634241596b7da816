#include "sim/collectives/exchange_by_switch.hpp"

#include <algorithm>
#include <optional>
#include <variant>

#include "topologies/cluster/cluster_spec.hpp"

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

/// Members by their first switch.
using BySwitch = std::map<NodeId, std::vector<std::size_t>>;

/// What lies between the ends of a member and those of another one.
class Middles {
 public:
  Middles(const topologies::Cluster& cluster, const std::vector<DeviceId>& members, const std::vector<Ends>& ends)
      : cluster_(cluster), members_(members), ends_(ends) {}
  std::optional<Route> operator()(std::size_t from, std::size_t to) const {
    return middle(cluster_, members_[from], members_[to], ends_[from], ends_[to]);
  }

 private:
  const topologies::Cluster& cluster_;
  const std::vector<DeviceId>& members_;
  const std::vector<Ends>& ends_;
};

/// Nothing if some member has no way out or in of its own.
std::optional<std::vector<Ends>> ends_of(const topologies::Cluster& cluster, const std::vector<DeviceId>& members) {
  std::vector<Ends> ends(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto next = (i + 1) % members.size();
    const auto route = cluster.route(members[i], members[next]);
    ends[i].out = way_out(cluster, route);
    ends[next].in = way_in(cluster, route);
    if (ends[i].out.empty() || ends[next].in.empty()) return std::nullopt;
    ends[i].to_switch = cluster.link(ends[i].out.back()).to;
    ends[next].from_switch = cluster.link(ends[next].in.front()).from;
  }
  for (const auto& end : ends) {
    if (end.to_switch != end.from_switch) return std::nullopt;
  }
  return ends;
}

/// Whether each member's routes are those of its switch's first one; a link of one member alone may be missing.
bool alike_below_switches(const BySwitch& below, const Middles& between) {
  for (auto here = below.begin(); here != below.end(); ++here) {
    const auto after = std::next(here) == below.end() ? below.begin() : std::next(here);
    const auto first = here->second.front();
    const auto other = after == here ? here->second.back() : after->second.front();
    for (const auto member : here->second) {
      if (member == other || first == other) continue;
      if (between(member, other) != between(first, other) || between(other, member) != between(other, first))
        return false;
    }
  }
  return true;
}

/// Sprayed switches of such networks are joined by a tree: of each tier one switch stands for all.
bool is_tree(const topologies::Cluster& cluster) {
  const auto& kind = cluster.fabric_spec()->kind;
  return std::holds_alternative<topologies::FatTree>(kind) || std::holds_alternative<topologies::RailOptimised>(kind);
}

/// In a tree with k of n members on one side of a link, k (n - k) transfers cross it each way. Seen from one switch,
/// the members beyond a link are those whose ways to and from that switch cross it.
bool count_in_a_tree(const BySwitch& below, const Middles& between, std::int64_t members, Crossings& crossings) {
  const auto root = below.begin()->second.front();
  Crossings beyond;
  for (auto here = std::next(below.begin()); here != below.end(); ++here) {
    for (const auto& links : {between(here->second.front(), root), between(root, here->second.front())}) {
      if (!links) return false;
      for (const auto link : *links) beyond[link] += std::ssize(here->second);
    }
  }
  for (const auto& [link, count] : beyond) crossings[link] += count * (members - count);
  return true;
}

bool count_pairs_of_switches(const BySwitch& below, const Middles& between, Crossings& crossings) {
  if (below.size() > most_switches) return false;
  for (const auto& [here, senders] : below) {
    for (const auto& [there, receivers] : below) {
      if (here == there) continue;
      const auto links = between(senders.front(), receivers.front());
      if (!links) return false;
      for (const auto link : *links) crossings[link] += std::ssize(senders) * std::ssize(receivers);
    }
  }
  return true;
}

/// Nothing if routes depend on more than the members' switches, as round a missing link.
std::optional<ExchangeCrossings> by_switch(const topologies::Cluster& cluster, const std::vector<DeviceId>& members) {
  const auto ends = ends_of(cluster, members);
  if (!ends) return std::nullopt;
  ExchangeCrossings crossings;
  BySwitch below;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto& [to_switch, from_switch, out, in] = (*ends)[i];
    below[to_switch].push_back(i);
    crossings.own.insert(crossings.own.end(), out.begin(), out.end());
    crossings.own.insert(crossings.own.end(), in.begin(), in.end());
  }
  const Middles between(cluster, members, *ends);
  const bool counted = alike_below_switches(below, between) &&
                       (is_tree(cluster) ? count_in_a_tree(below, between, std::ssize(members), crossings.shared)
                                         : count_pairs_of_switches(below, between, crossings.shared));
  if (!counted) return std::nullopt;
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

ExchangeCrossings exchange_by_switch(const topologies::Cluster& cluster, const std::vector<DeviceId>& members) {
  const auto* fabric = cluster.fabric_spec();
  const bool follows_from_switches = fabric != nullptr && (fabric->routing == topologies::FabricRouting::spray ||
                                                           std::holds_alternative<topologies::Crossbar>(fabric->kind));
  if (follows_from_switches && cluster.flows_of_connection() == 1 && members.size() > 1) {
    if (auto counted = by_switch(cluster, members)) return *std::move(counted);
  }
  return {{}, one_by_one(cluster, members)};
}

}  // namespace lockstep::collectives
