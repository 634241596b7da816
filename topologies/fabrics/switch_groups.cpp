#include "topologies/fabrics/switch_groups_private.hpp"

#include <algorithm>
#include <boost/pending/disjoint_sets.hpp>
#include <map>
#include <numeric>

#include "topologies/graph/switch_levels.hpp"

namespace lockstep::topologies {
namespace {

/// The most pairs of switches that have something, but not everything, below them in common; in a network with more
/// pairs these switches stay apart.
constexpr std::size_t most_pairs = 1 << 21;

/// What lies below a switch, by number, ascending and each once.
using Below = std::vector<int>;

/// From 0 for the leaves on; nothing is routed over a switch that no leaf reaches, so its tier does not matter.
Indexed<SwitchId, int> tiers_of(const NetworkGraph& graph) {
  auto tiers = switch_levels(graph);
  for (int& tier : tiers) tier = std::max(tier - 1, 0);
  return tiers;
}

class Grouping {
 public:
  explicit Grouping(const NetworkGraph& graph)
      : graph_(graph),
        tiers_(tiers_of(graph)),
        rank_(graph.switches.size(), 0),
        parent_(graph.switches.size()),
        sets_(rank_.data(), parent_.data()),
        below_(graph.switches.size()) {
    std::iota(parent_.begin(), parent_.end(), 0);
    for (const NetworkHost& host : graph.hosts) {
      first_adapter_.push_back(adapters_);
      adapters_ += static_cast<int>(host.adapters.size());
    }
  }

  void join_alike() {
    const int tiers = tiers_.empty() ? 0 : *std::max_element(tiers_.begin(), tiers_.end()) + 1;
    std::vector<std::vector<SwitchId>> of_tier(static_cast<std::size_t>(tiers));
    for (const SwitchId id : tiers_.ids()) of_tier[position_of(tiers_[id])].push_back(id);
    for (int tier = 0; tier < tiers; ++tier) {
      find_below(tier);
      join_alike(of_tier[position_of(tier)]);
    }
  }

  [[nodiscard]] SwitchGroups groups() {
    SwitchGroups groups;
    std::vector<SwitchId> in_order(graph_.switches.size());
    std::iota(in_order.begin(), in_order.end(), 0);
    std::stable_sort(in_order.begin(), in_order.end(), [&](SwitchId a, SwitchId b) { return tiers_[a] < tiers_[b]; });
    groups.group_of.assign(graph_.switches.size(), -1);
    Indexed<SwitchId, SwitchGroupId> group_of_set(graph_.switches.size(), -1);
    for (const SwitchId id : in_order) {
      SwitchGroupId& group = group_of_set[sets_.find_set(id)];
      if (group < 0) {
        group = groups.members.next_id();
        groups.members.emplace_back();
        groups.tier.push_back(tiers_[id]);
      }
      groups.group_of[id] = group;
      groups.members[group].push_back(id);
    }
    return groups;
  }

 private:
  void find_below(int tier) {
    const auto note = [&](const CableEnd& here, const CableEnd& there) {
      const auto* upper = std::get_if<SwitchEnd>(&here);
      if (upper == nullptr || tiers_[upper->network_switch] != tier) return;
      const auto* lower = std::get_if<SwitchEnd>(&there);
      if (lower == nullptr) {
        const auto& adapter = std::get<AdapterEnd>(there);
        below_[upper->network_switch].push_back(first_adapter_[adapter.host] + adapter.adapter);
      } else if (tiers_[lower->network_switch] < tier) {
        below_[upper->network_switch].push_back(adapters_ + sets_.find_set(lower->network_switch));
      }
    };
    for (const Cable& cable : graph_.cables) {
      note(cable.from, cable.to);
      note(cable.to, cable.from);
    }
  }

  void join_alike(const std::vector<SwitchId>& switches) {
    std::map<Below, SwitchId> first_with;  // those above exactly the same are compared once
    std::map<int, std::vector<SwitchId>> above;
    for (const SwitchId id : switches) {
      Below& below = below_[id];
      std::sort(below.begin(), below.end());
      below.erase(std::unique(below.begin(), below.end()), below.end());
      if (below.empty()) continue;
      const auto [first, is_new] = first_with.try_emplace(below, id);
      if (!is_new) sets_.union_set(first->second, id);
      if (!is_new) continue;
      for (const int lower : below) above[lower].push_back(id);
    }
    std::size_t pairs = 0;
    for (const auto& [lower, uppers] : above) pairs += uppers.size() * (uppers.size() - 1) / 2;
    if (pairs > most_pairs) return;
    std::map<std::pair<SwitchId, SwitchId>, std::size_t> in_common;
    for (const auto& [lower, uppers] : above) {
      for (std::size_t b = 1; b < uppers.size(); ++b) {
        for (std::size_t a = 0; a < b; ++a) ++in_common[{uppers[a], uppers[b]}];
      }
    }
    for (const auto& [pair, common] : in_common) {
      const std::size_t either = below_[pair.first].size() + below_[pair.second].size() - common;
      if (2 * common >= either) sets_.union_set(pair.first, pair.second);
    }
  }

  const NetworkGraph& graph_;
  Indexed<SwitchId, int> tiers_;
  Indexed<SwitchId, int> rank_;
  Indexed<SwitchId, SwitchId> parent_;
  boost::disjoint_sets<int*, SwitchId*> sets_;
  Indexed<HostId, int> first_adapter_;
  int adapters_ = 0;
  Indexed<SwitchId, Below> below_;
};

}  // namespace

SwitchGroups single_switches(const NetworkGraph& graph) { return Grouping(graph).groups(); }

SwitchGroups sprayed_groups(const NetworkGraph& graph) {
  Grouping grouping(graph);
  grouping.join_alike();
  return grouping.groups();
}

}  // namespace lockstep::topologies
