#include "topologies/fabrics/best_hosts.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "topologies/fabrics/switch_groups_private.hpp"

namespace lockstep::topologies {
namespace {

using GroupSet = std::set<SwitchGroupId>;

/// Blocks that were used, weighted so that one of a tier outweighs all of the tiers below.
using Cost = std::uint64_t;

/// A block with the free hosts below it, and the least cost of taking any number of them.
class Block {
 public:
  /// `block_of`: by tier, from this block's own downwards; `weight` of each block inside it.
  Block(std::vector<HostId> free, const std::vector<Indexed<HostId, int>>& block_of, std::size_t tier,
        const std::vector<Cost>& weight, int most)
      : hosts_(std::move(free)), least_(position_of(std::min(most, static_cast<int>(hosts_.size()))) + 1, 0) {
    if (tier == 0) return;
    std::map<int, std::size_t> place;
    std::vector<std::vector<HostId>> of_inner;
    for (const HostId host : hosts_) {
      const auto [known, is_new] = place.try_emplace(block_of[tier - 1][host], of_inner.size());
      if (is_new) of_inner.emplace_back();
      of_inner[known->second].push_back(host);
    }
    std::stable_sort(of_inner.begin(), of_inner.end(),
                     [](const auto& a, const auto& b) { return a.size() > b.size(); });
    for (auto& hosts : of_inner) inner_.emplace_back(std::move(hosts), block_of, tier - 1, weight, most);
    if (tier == 1) {
      fill_largest_first(weight[0]);
    } else {
      share_out(weight[tier - 1]);
    }
  }

  void take(int count, std::vector<HostId>& taken) const {
    if (inner_.empty()) {
      taken.insert(taken.end(), hosts_.begin(), hosts_.begin() + count);
      return;
    }
    if (share_of_.empty()) return take_largest_first(count, taken);
    std::vector<int> shares(inner_.size(), 0);
    for (std::size_t i = inner_.size(); i-- > 0;) {
      shares[i] = share_of_[i][position_of(count)];
      count -= shares[i];
    }
    for (std::size_t i = 0; i < inner_.size(); ++i) inner_[i].take(shares[i], taken);
  }

 private:
  [[nodiscard]] int most() const { return static_cast<int>(least_.size()) - 1; }

  /// Blocks of one cost are fewest if the largest come first.
  void fill_largest_first(Cost each) {
    int before = 0;
    for (const Block& block : inner_) {
      for (int count = before + 1; count <= most(); ++count) least_[position_of(count)] += each;
      before += block.most();
    }
  }
  void take_largest_first(int count, std::vector<HostId>& taken) const {
    for (const Block& block : inner_) {
      const int here = std::min(count, block.most());
      block.take(here, taken);
      count -= here;
    }
  }

  /// The least cost with one more block each time, by how many hosts lie in it.
  void share_out(Cost each) {
    constexpr Cost impossible = ~Cost{0};
    std::fill(least_.begin() + 1, least_.end(), impossible);
    int reached = 0;
    for (const Block& block : inner_) {
      std::vector<Cost> with(least_.size(), impossible);
      std::vector<int>& share = share_of_.emplace_back(least_.size(), 0);
      reached = std::min(most(), reached + block.most());
      for (int count = 0; count <= reached; ++count) {
        for (int here = 0; here <= std::min(count, block.most()); ++here) {
          const Cost others = least_[position_of(count - here)];
          if (others == impossible) continue;
          const Cost all = others + (here > 0 ? each + block.least_[position_of(here)] : 0);
          if (all >= with[position_of(count)]) continue;
          with[position_of(count)] = all;
          share[position_of(count)] = here;
        }
      }
      least_ = std::move(with);
    }
  }

  std::vector<HostId> hosts_;
  std::vector<Cost> least_;  ///< by number of hosts
  std::vector<Block> inner_;
  std::vector<std::vector<int>> share_of_;  ///< by inner block: its share of so many hosts in it and those before it
};

/// The groups above each group.
Indexed<SwitchGroupId, GroupSet> groups_above(const NetworkGraph& graph, const SwitchGroups& groups) {
  Indexed<SwitchGroupId, GroupSet> above(groups.members.size());
  for (const Cable& cable : graph.cables) {
    const auto* from = std::get_if<SwitchEnd>(&cable.from);
    const auto* to = std::get_if<SwitchEnd>(&cable.to);
    if (from == nullptr || to == nullptr) continue;
    const auto a = groups.group_of[from->network_switch], b = groups.group_of[to->network_switch];
    if (groups.tier[a] < groups.tier[b]) above[a].insert(b);
    if (groups.tier[b] < groups.tier[a]) above[b].insert(a);
  }
  return above;
}

}  // namespace

HostBlocks::HostBlocks(const NetworkGraph& graph) {
  const SwitchGroups groups = sprayed_groups(graph);
  const auto above = groups_above(graph, groups);
  Indexed<HostId, GroupSet> set_of(graph.hosts.size());
  for (const Cable& cable : graph.cables) {
    for (const auto& [one, other] : {std::pair(&cable.from, &cable.to), std::pair(&cable.to, &cable.from)}) {
      const auto* adapter = std::get_if<AdapterEnd>(one);
      const auto* on = std::get_if<SwitchEnd>(other);
      if (adapter != nullptr && on != nullptr) set_of[adapter->host].insert(groups.group_of[on->network_switch]);
    }
  }
  for (bool goes_up = true; goes_up;) {
    std::map<GroupSet, int> number;
    auto& block_of = block_of_.emplace_back();
    for (const GroupSet& set : set_of)
      block_of.push_back(number.try_emplace(set, static_cast<int>(number.size())).first->second);
    goes_up = false;
    if (number.size() <= 1) break;
    for (GroupSet& set : set_of) {
      GroupSet next;
      for (const SwitchGroupId group : set) next.insert(above[group].begin(), above[group].end());
      if (next.empty()) continue;
      set = std::move(next);
      goes_up = true;
    }
  }
}

std::vector<int> HostBlocks::spread(const std::vector<HostId>& hosts) const {
  std::vector<int> counts;
  for (const auto& block_of : block_of_) {
    std::set<int> blocks;
    for (const HostId host : hosts) blocks.insert(block_of[host]);
    counts.push_back(static_cast<int>(blocks.size()));
  }
  return counts;
}

std::vector<HostId> HostBlocks::best(const std::vector<HostId>& free, int count) const {
  std::vector<Cost> weight{1};
  for (const auto& block_of : block_of_) {
    const int blocks = block_of.empty() ? 0 : *std::max_element(block_of.begin(), block_of.end()) + 1;
    weight.push_back(weight.back() * static_cast<Cost>(blocks + 1));
  }
  std::vector<HostId> taken;
  Block(free, block_of_, block_of_.size(), weight, count).take(count, taken);
  return taken;
}

std::vector<int> HostBlocks::neighbours_together(const std::vector<HostId>& hosts) const {
  std::vector<int> places(hosts.size());
  std::iota(places.begin(), places.end(), 0);
  // Blocks by the first of their hosts in the list, so that hosts which are together already stay as they are.
  std::vector<std::map<int, int>> first_of(block_of_.size());
  for (std::size_t tier = 0; tier < block_of_.size(); ++tier) {
    for (const int place : places) first_of[tier].try_emplace(block_of_[tier][hosts[position_of(place)]], place);
  }
  std::stable_sort(places.begin(), places.end(), [&](int a, int b) {
    for (std::size_t tier = block_of_.size(); tier-- > 0;) {
      const auto first = [&](int place) { return first_of[tier].at(block_of_[tier][hosts[position_of(place)]]); };
      if (first(a) != first(b)) return first(a) < first(b);
    }
    return false;
  });
  return places;
}

std::string spread_text(const std::vector<int>& spread) {
  std::string text;
  for (const int blocks : spread) text += (text.empty() ? "" : ", ") + std::to_string(blocks);
  return text;
}

}  // namespace lockstep::topologies
