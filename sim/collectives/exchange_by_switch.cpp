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

/// A member by its number: unit by unit, `local` in each.
using Member = std::size_t;
/// Members by their first switch.
using BySwitch = std::map<NodeId, std::vector<Member>>;

class Exchange {
 public:
  Exchange(const topologies::Cluster& cluster, const MembersByUnit& units)
      : cluster_(cluster), local_(units.front().size()) {
    for (const auto& unit : units) members_.insert(members_.end(), unit.begin(), unit.end());
  }

  /// Nothing if routes depend on more than the members' switches, as round a missing link.
  std::optional<ExchangeCrossings> by_switch() {
    if (!find_ends()) return std::nullopt;
    ExchangeCrossings crossings;
    BySwitch below;
    for (Member i = 0; i < members_.size(); ++i) {
      const auto& [to_switch, from_switch, out, in] = ends_[i];
      below[to_switch].push_back(i);
      crossings.own.insert(crossings.own.end(), out.begin(), out.end());
      crossings.own.insert(crossings.own.end(), in.begin(), in.end());
    }
    if (!alike_below_switches(below)) return std::nullopt;
    const bool counted =
        is_tree() ? count_in_a_tree(below, crossings.shared) : count_pairs_of_switches(below, crossings.shared);
    if (!counted) return std::nullopt;
    return crossings;
  }

  [[nodiscard]] Crossings one_by_one() const {
    Indexed<LinkId, std::int64_t> times(cluster_.links(), 0);
    for (Member from = 0; from < members_.size(); ++from) {
      for (Member to = 0; to < members_.size(); ++to) {
        if (unit_of(from) == unit_of(to)) continue;
        for (const auto link : cluster_.routes(members_[from], members_[to])) ++times[link];
      }
    }
    Crossings crossings;
    for (const auto link : times.ids()) {
      if (times[link] > 0) crossings.emplace_hint(crossings.end(), link, times[link]);
    }
    return crossings;
  }

 private:
  [[nodiscard]] std::size_t unit_of(Member member) const { return member / local_; }

  /// The first of some members that is not of this one's unit; nothing: all are.
  [[nodiscard]] std::optional<Member> of_another_unit(Member member, const std::vector<Member>& among) const {
    const auto found =
        std::find_if(among.begin(), among.end(), [&](Member other) { return unit_of(other) != unit_of(member); });
    return found == among.end() ? std::nullopt : std::optional(*found);
  }

  /// What lies between the ends of a member and those of another one.
  [[nodiscard]] std::optional<Route> between(Member from, Member to) const {
    return middle(cluster_, members_[from], members_[to], ends_[from], ends_[to]);
  }

  /// False if some member has no way out or in.
  bool find_ends() {
    ends_.resize(members_.size());
    for (Member i = 0; i < members_.size(); ++i) {
      const auto next = (i + local_) % members_.size();
      const auto route = cluster_.route(members_[i], members_[next]);
      ends_[i].out = way_out(cluster_, route);
      ends_[next].in = way_in(cluster_, route);
      if (ends_[i].out.empty() || ends_[next].in.empty()) return false;
      ends_[i].to_switch = cluster_.link(ends_[i].out.back()).to;
      ends_[next].from_switch = cluster_.link(ends_[next].in.front()).from;
    }
    return std::all_of(ends_.begin(), ends_.end(), [](const Ends& end) { return end.to_switch == end.from_switch; });
  }

  /// A member of another unit, of the next switch that has one, of its own switch last; nothing: it has none to send
  /// to.
  [[nodiscard]] std::optional<Member> of_the_next_switch(Member member, const BySwitch& below,
                                                         BySwitch::const_iterator here) const {
    auto there = here;
    do {
      there = std::next(there) == below.end() ? below.begin() : std::next(there);
      if (const auto other = of_another_unit(member, there->second)) return other;
    } while (there != here);
    return std::nullopt;
  }

  /// Whether each member's routes are those of its switch's first one; a link of one member alone may be missing.
  [[nodiscard]] bool alike_below_switches(const BySwitch& below) const {
    for (auto here = below.begin(); here != below.end(); ++here) {
      for (const auto member : here->second) {
        const auto other = of_the_next_switch(member, below, here);
        if (!other) continue;
        const auto out = between(member, *other), in = between(*other, member);
        if (!out || !in) return false;
        const auto first = of_another_unit(*other, here->second);
        if (out != between(*first, *other) || in != between(*other, *first)) return false;
      }
    }
    return true;
  }

  /// Sprayed switches of such networks are joined by a tree: of each tier one switch stands for all.
  [[nodiscard]] bool is_tree() const {
    const auto& kind = cluster_.fabric_spec()->kind;
    return std::holds_alternative<topologies::FatTree>(kind) || std::holds_alternative<topologies::RailOptimised>(kind);
  }

  /// With k of n members on one side of a link of a tree, k (n - k) transfers cross it each way, less those between
  /// members of one unit: k' (g - k') for each unit of g with k' beyond the link. Seen from one switch, the members
  /// beyond a link are those whose ways to and from that switch cross it.
  bool count_in_a_tree(const BySwitch& below, Crossings& crossings) const {
    const auto& root = below.begin()->second;
    std::map<LinkId, std::map<std::size_t, std::int64_t>> beyond;  // by unit
    for (auto here = std::next(below.begin()); here != below.end(); ++here) {
      const auto ends = pair_of_switches(here->second, root);
      if (!ends) return false;
      for (const auto& links : {between(ends->first, ends->second), between(ends->second, ends->first)}) {
        if (!links) return false;
        for (const auto link : *links) {
          auto& units = beyond[link];
          for (const auto member : here->second) ++units[unit_of(member)];
        }
      }
    }
    for (const auto& [link, units] : beyond) {
      std::int64_t count = 0, of_one_unit = 0;
      for (const auto& [unit, members] : units) {
        count += members;
        of_one_unit += members * (static_cast<std::int64_t>(local_) - members);
      }
      if (const auto times = count * (std::ssize(members_) - count) - of_one_unit; times > 0) crossings[link] += times;
    }
    return true;
  }

  bool count_pairs_of_switches(const BySwitch& below, Crossings& crossings) const {
    if (below.size() > most_switches) return false;
    for (const auto& [here, senders] : below) {
      std::map<std::size_t, std::int64_t> of_unit;
      for (const auto member : senders) ++of_unit[unit_of(member)];
      for (const auto& [there, receivers] : below) {
        if (here == there) continue;
        const auto ends = pair_of_switches(senders, receivers);
        if (!ends) continue;
        const auto links = between(ends->first, ends->second);
        if (!links) return false;
        std::int64_t pairs = std::ssize(senders) * std::ssize(receivers);
        for (const auto member : receivers) {
          if (const auto own = of_unit.find(unit_of(member)); own != of_unit.end()) pairs -= own->second;
        }
        for (const auto link : *links) crossings[link] += pairs;
      }
    }
    return true;
  }

  /// A sender and a receiver of different units; nothing: there is one unit only.
  [[nodiscard]] std::optional<std::pair<Member, Member>> pair_of_switches(const std::vector<Member>& senders,
                                                                          const std::vector<Member>& receivers) const {
    for (const auto sender : senders) {
      if (const auto receiver = of_another_unit(sender, receivers)) return std::pair(sender, *receiver);
    }
    return std::nullopt;
  }

  const topologies::Cluster& cluster_;
  std::size_t local_;
  std::vector<DeviceId> members_;
  std::vector<Ends> ends_;
};

}  // namespace

bool has_own_ways(const topologies::Cluster& cluster, const MembersByUnit& units) {
  const auto& here = units.front();
  const auto& there = units[1];
  for (const auto member : here) {
    Route out, in;
    for (const auto other : there) {
      const auto leaves = way_out(cluster, cluster.route(member, other));
      const auto arrives = way_in(cluster, cluster.route(other, member));
      if (leaves.empty() || arrives.empty() || (!out.empty() && (leaves != out || arrives != in))) return false;
      out = leaves;
      in = arrives;
    }
  }
  return true;
}

ExchangeCrossings exchange_by_switch(const topologies::Cluster& cluster, const MembersByUnit& units) {
  const auto* fabric = cluster.fabric_spec();
  const bool follows_from_switches = fabric != nullptr && (fabric->routing == topologies::FabricRouting::spray ||
                                                           std::holds_alternative<topologies::Crossbar>(fabric->kind));
  Exchange exchange(cluster, units);
  if (follows_from_switches && cluster.flows_of_connection() == 1 && units.size() > 1) {
    if (auto counted = exchange.by_switch()) return *std::move(counted);
  }
  return {{}, exchange.one_by_one()};
}

}  // namespace lockstep::collectives
