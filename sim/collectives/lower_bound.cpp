// A group has n members and an array of V bytes; k of the members lie in a set A of nodes. Whatever the algorithm and
// wherever data are added up or copied, as many bytes must enter A and leave it as carry what one side knows and the
// other needs:
//
//   all_gather      in V (n-k)/n, out V k/n          the shards that the other side holds
//   reduce_scatter  in V k/n, out V (n-k)/n          of each shard at least one sum of the other side's parts
//   all_reduce      in V, out V                      of each element at least one sum of the other side's parts
//   all_to_all      in and out V k (n-k)/n^2         each member has V/n^2 for each other
//   broadcast       V, away from the root's side     reduce: V, towards it
//   point_to_point  V for each member on one side whose next is on the other
//
// An all-reduce needs more where only members add up. Let sets divide the members into m parts. An element's partial
// sums go from part to part. The first part that has the whole sum has it no sooner than after m-1 messages, since
// every other part must have sent its own; at that moment the other m-1 parts do not have it, so that each still
// receives one. All parts together receive at least 2 (m-1) V. Switches that add up in between need fewer.
#include "sim/collectives/lower_bound.hpp"

#include <algorithm>
#include <map>

#include "sim/collectives/design/bottleneck_cut.hpp"
#include "sim/collectives/design/weakest_partition.hpp"
#include "topologies/cluster/cluster_spec.hpp"
#include "topologies/cluster/node_sets.hpp"

namespace lockstep::collectives {
namespace {

using Kind = workloads::CollectiveKind;
using topologies::DeviceId;
using topologies::NodeSetId;
using Groups = std::vector<std::vector<DeviceId>>;

class Bounding {
 public:
  Bounding(Kind kind, const topologies::Cluster& cluster, const Groups& groups, const topologies::LinkRates& rates)
      : kind_(kind), cluster_(cluster), groups_(groups), rates_(rates) {}

  void consider_all();

  void consider(const topologies::NodeSets& sets) {
    const auto edges = edges_of(cluster_, sets, rates_);
    Indexed<NodeSetId, CutNeeds> needs(sets.count);
    Indexed<NodeSetId, bool> has_members(sets.count, false);
    double in_all = 0;  // what all sets receive together
    bool all_inside = true;
    for (const auto& group : groups_) {
      std::map<NodeSetId, int> members;
      for (const DeviceId device : group) ++members[sets.of_node[device]];
      all_inside = all_inside && !members.contains(-1);
      in_all += 2.0 * static_cast<double>(members.size() - 1);
      for (const auto& [set, count] : members) {
        if (set >= 0) has_members[set] = true;
        if (set < 0 || members.size() == 1 || kind_ == Kind::point_to_point) continue;
        const auto needed =
            needs_across(kind_, static_cast<double>(group.size()), count, sets.of_node[group.front()] == set);
        needs[set].in += needed.in;
        needs[set].out += needed.out;
      }
      if (kind_ == Kind::point_to_point) add_shift(sets, group, needs);
    }
    for (const NodeSetId set : needs.ids()) {
      offer(needs[set].in, edges[set].in, sets, set, false);
      offer(needs[set].out, edges[set].out, sets, set, true);
    }
    mark([&](NodeSetId set,
             bool out) { return out ? binds(needs[set].out, edges[set].out) : binds(needs[set].in, edges[set].in); },
         sets);
    if (kind_ != Kind::all_reduce || !all_inside || !only_members_add(sets)) return;
    BytesPerSecond into_all(0);
    for (const NodeSetId set : edges.ids()) {
      if (has_members[set]) into_all += edges[set].in;
    }
    const auto mark_all = [&] {
      mark([&](NodeSetId set, bool out) { return !out && has_members[set] && binds(in_all, into_all); }, sets);
    };
    if (!better(in_all, into_all)) return mark_all();
    const auto first = std::find(has_members.begin(), has_members.end(), true) - has_members.begin();
    const auto count = std::count(has_members.begin(), has_members.end(), true);
    take(in_all, into_all,
         edge_text(cluster_, sets, static_cast<NodeSetId>(first), false, rates_) +
             (count > 1 && sets.name.empty() ? ", with those of " + std::to_string(count - 1) + " more sets" : ""));
    mark_all();
  }

  [[nodiscard]] std::optional<CollectiveBound> bound() const { return bound_; }
  /// Whether a link is at the edge of a set that binds as much as any; asked for all links, or none if there is no
  /// bound.
  [[nodiscard]] const std::vector<bool>& binding() const { return binding_; }

 private:
  void add_shift(const topologies::NodeSets& sets, const std::vector<DeviceId>& group,
                 Indexed<NodeSetId, CutNeeds>& needs) const {
    for (std::size_t i = 0; i < group.size(); ++i) {
      const NodeSetId from = sets.of_node[group[i]], to = sets.of_node[group[(i + 1) % group.size()]];
      if (from == to) continue;
      if (from >= 0) needs[from].out += 1;
      if (to >= 0) needs[to].in += 1;
    }
  }

  /// Whether no switch outside the sets adds up: a fabric's may stand anywhere, a node's are in sets of whole units.
  [[nodiscard]] bool only_members_add(const topologies::NodeSets& sets) const {
    if (cluster_.fabric_spec() != nullptr && cluster_.fabric_spec()->in_network_reduction) return false;
    if (cluster_.node_spec() == nullptr || !cluster_.node_spec()->in_network_reduction) return true;
    for (DeviceId device = 1; device < cluster_.devices(); ++device) {
      if (cluster_.unit_of(device) == cluster_.unit_of(device - 1) && sets.of_node[device] != sets.of_node[device - 1])
        return false;
    }
    return true;
  }

  [[nodiscard]] bool better(double share, BytesPerSecond capacity) const {
    constexpr double rounding = 1 + 1e-12;  // of equal ones the first is kept
    if (share <= 0 || capacity <= BytesPerSecond(0)) return false;
    return !bound_ || share / capacity.value() > rounding * bound_->share / bound_->capacity.value();
  }
  void take(double share, BytesPerSecond capacity, std::string links) {
    bound_ = CollectiveBound{share, capacity, std::move(links)};
    binding_.assign(position_of(cluster_.links()), false);
  }
  [[nodiscard]] bool binds(double share, BytesPerSecond capacity) const {
    constexpr double rounding = 1 - 1e-12;
    return bound_ && share > 0 && capacity > BytesPerSecond(0) &&
           share / capacity.value() >= rounding * bound_->share / bound_->capacity.value();
  }
  /// Marks the edges of these sets, inwards and outwards, that bind.
  template <class Binds>
  void mark(const Binds& binds, const topologies::NodeSets& sets) {
    Indexed<NodeSetId, bool> in(sets.count, false), out(sets.count, false);
    bool any = false;
    for (const NodeSetId set : in.ids()) {
      in[set] = binds(set, false), out[set] = binds(set, true);
      any = any || in[set] || out[set];
    }
    for (topologies::LinkId id = 0; any && id < cluster_.links(); ++id) {
      const auto& link = cluster_.link(id);
      const NodeSetId from = sets.of_node[link.from], to = sets.of_node[link.to];
      if (from == to || !topologies::leads_between_chips(cluster_, link)) continue;
      if ((from >= 0 && out[from]) || (to >= 0 && in[to])) binding_[position_of(id)] = true;
    }
  }
  void offer(double share, BytesPerSecond capacity, const topologies::NodeSets& sets, NodeSetId set, bool out) {
    if (better(share, capacity)) take(share, capacity, edge_text(cluster_, sets, set, out, rates_));
  }

  Kind kind_;
  const topologies::Cluster& cluster_;
  const Groups& groups_;
  const topologies::LinkRates& rates_;
  std::optional<CollectiveBound> bound_;
  std::vector<bool> binding_;
};

/// The weakest partition of one group (design/weakest_partition.hpp).
topologies::NodeSets weakest_sets(const topologies::Cluster& cluster, const design::GroupLinks& links) {
  const auto partition = design::weakest_partition(links.graph);
  topologies::NodeSets sets{Indexed<topologies::NodeId, NodeSetId>(cluster.nodes(), -1), partition.parts, ""};
  for (std::size_t node = 0; node < links.node_of.size(); ++node)
    sets.of_node[links.node_of[node]] = partition.part_of[node];
  return sets;
}

/// The bottleneck cut of one group (design/bottleneck_cut.hpp) as two sets, the first of which data must enter; with
/// the network turned round, must leave.
topologies::NodeSets bottleneck_sets(const topologies::Cluster& cluster, const design::GroupLinks& links, bool turned) {
  const auto cut = design::bottleneck_cut(turned ? links.graph.reversed() : links.graph);
  topologies::NodeSets sets{Indexed<topologies::NodeId, NodeSetId>(cluster.nodes(), 1), 2, ""};
  for (std::size_t node = 0; node < links.node_of.size(); ++node) {
    if (cut.inside[node]) sets.of_node[links.node_of[node]] = 0;
  }
  return sets;
}

bool has_exact_bound(Kind kind, const topologies::Cluster& cluster, const Groups& groups) {
  constexpr std::int64_t most_searched = 1'000'000;  // members times links, about a second
  return groups.size() == 1 && groups.front().size() > 1 &&
         std::ssize(groups.front()) * std::int64_t{cluster.links()} <= most_searched &&
         (kind == Kind::all_gather || kind == Kind::reduce_scatter || kind == Kind::all_reduce);
}

void Bounding::consider_all() {
  if (kind_ == Kind::point_to_point && cluster_.unit_is_torus()) return;
  for (const auto& sets : natural_sets(cluster_)) consider(sets);
  if (has_exact_bound(kind_, cluster_, groups_)) {
    const auto links = design::links_of_cluster(cluster_, groups_.front(), [&](topologies::LinkId link) {
      return rates_ ? rates_(link) : cluster_.link(link).bandwidth;
    });
    consider(bottleneck_sets(cluster_, links, false));
    consider(bottleneck_sets(cluster_, links, true));
    if (kind_ != Kind::all_reduce) return;
    consider(weakest_sets(cluster_, links));
  }
  std::vector<DeviceId> first, second;
  for (const auto& group : groups_) {
    const auto middle = group.begin() + std::ssize(group) / 2;
    first.insert(first.end(), group.begin(), middle);
    second.insert(second.end(), middle, group.end());
  }
  constexpr int most_links = 400'000;  // the search for a cut takes seconds on a larger cluster
  if (!first.empty() && cluster_.links() <= most_links) consider(min_cut(cluster_, first, second, rates_));
}

}  // namespace

CutNeeds needs_across(Kind kind, double n, double k, bool has_root) {
  switch (kind) {
    case Kind::all_gather: return {(n - k) / n, k / n};
    case Kind::reduce_scatter: return {k / n, (n - k) / n};
    case Kind::all_reduce: return {1, 1};
    case Kind::all_to_all: return {k * (n - k) / (n * n), k * (n - k) / (n * n)};
    case Kind::broadcast: return has_root ? CutNeeds{0, 1} : CutNeeds{1, 0};
    case Kind::reduce: return has_root ? CutNeeds{1, 0} : CutNeeds{0, 1};
    case Kind::point_to_point: break;
  }
  return {};
}

std::optional<CollectiveBound> collective_bound(Kind kind, const topologies::Cluster& cluster, const Groups& groups) {
  const topologies::LinkRates as_they_are;
  Bounding bounding(kind, cluster, groups, as_they_are);
  bounding.consider_all();
  return bounding.bound();
}

std::optional<WiderCuts> with_wider_cuts(Kind kind, const topologies::Cluster& cluster, const Groups& groups,
                                         double factor) {
  const topologies::LinkRates as_they_are;
  Bounding now(kind, cluster, groups, as_they_are);
  now.consider_all();
  if (!now.bound()) return std::nullopt;
  const topologies::LinkRates wider = [&](topologies::LinkId link) {
    return cluster.link(link).bandwidth * (now.binding()[position_of(link)] ? factor : 1);
  };
  Bounding then(kind, cluster, groups, wider);
  then.consider_all();
  return WiderCuts{std::count(now.binding().begin(), now.binding().end(), true), *then.bound()};
}

}  // namespace lockstep::collectives
