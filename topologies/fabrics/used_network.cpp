#include "topologies/fabrics/used_network_private.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/connected_components.hpp>
#include <map>
#include <optional>

#include "topologies/fabrics/hosts_of_units.hpp"

namespace lockstep::topologies {
namespace {

class Using {
 public:
  Using(const FabricSpec& spec, const GivenNetwork& keys, const EndCount& ends)
      : spec_(spec),
        graph_(*keys.graph),
        ends_(ends),
        sprays_(spec.routing == FabricRouting::spray),
        groups_(sprays_ ? sprayed_groups(graph_) : single_switches(graph_)),
        first_end_(graph_.hosts.size(), -1) {
    for (const HostId host : hosts_of_units(keys, ends.units())) {
      first_end_[host] = used_.names.count();
      for (const std::string& adapter : graph_.hosts[host].adapters)
        used_.names.push_back(graph_.hosts[host].name + '/' + adapter);
    }
    for (const SwitchGroupId id : groups_.members.ids()) {
      const auto& members = groups_.members[id];
      std::string name = graph_.switches[members.front()].name;
      if (members.size() > 1) name += " and " + std::to_string(members.size() - 1) + " more";
      used_.groups.push_back({std::move(name), groups_.tier[id]});
    }
  }

  UsedNetwork made() {
    count_cables_of_ends();
    for (const Cable& cable : graph_.cables) add(cable);
    for (auto& [place, cables] : summed_ports_) {
      const auto rate = std::min(cables.rate(), achieved(ends_.rate));
      used_.ports.push_back({place.first, place.second, rate, cables.latency()});
    }
    for (const auto& place : order_of_links_) {
      const SummedCables& cables = summed_links_[place];
      used_.links.push_back({place.first, place.second, cables.rate(), cables.latency()});
    }
    std::stable_sort(used_.ports.begin(), used_.ports.end(),
                     [](const PortOfEnd& a, const PortOfEnd& b) { return a.end < b.end; });
    drop_unused();
    std::stable_sort(used_.links.begin(), used_.links.end(),
                     [&](const GroupLink& a, const GroupLink& b) { return tier(a.lower) < tier(b.lower); });
    return std::move(used_);
  }

 private:
  [[nodiscard]] BytesPerSecond achieved(BytesPerSecond rate) const { return spec_.efficiency * rate; }
  [[nodiscard]] int tier(SwitchGroupId group) const { return used_.groups[group].tier; }

  /// The end of an adapter; none: its host is not used.
  [[nodiscard]] std::optional<EndId> end_of(const CableEnd& end) const {
    const auto* adapter = std::get_if<AdapterEnd>(&end);
    if (adapter == nullptr || first_end_[adapter->host] < 0) return std::nullopt;
    return first_end_[adapter->host] + adapter->adapter;
  }

  void count_cables_of_ends() {
    cables_of_end_.assign(used_.names.size(), 0);
    for (const Cable& cable : graph_.cables) {
      for (const CableEnd* side : {&cable.from, &cable.to}) {
        if (const auto end = end_of(*side)) cables_of_end_[*end] += cable.count;
      }
    }
  }

  void add(const Cable& cable) {
    const auto* from = std::get_if<SwitchEnd>(&cable.from);
    const auto* to = std::get_if<SwitchEnd>(&cable.to);
    if (from != nullptr && to != nullptr) return add_link(*from, *to, cable);
    if (from != nullptr || to != nullptr) {
      const SwitchGroupId group = groups_.group_of[(from != nullptr ? from : to)->network_switch];
      if (const auto end = end_of(from != nullptr ? cable.to : cable.from)) add_port(*end, group, cable);
      return;
    }
    const auto one = end_of(cable.from), other = end_of(cable.to);
    if (!one || !other) return;
    used_.groups.push_back({used_.names[*one] + " = " + used_.names[*other], 0});  // no switch is between them
    add_port(*one, used_.groups.count() - 1, cable);
    add_port(*other, used_.groups.count() - 1, cable);
  }

  /// Cables whose rate the file does not say share the NIC's.
  void add_port(EndId end, SwitchGroupId group, const Cable& cable) {
    const auto own = cable.rate.value_or(ends_.rate / static_cast<double>(cables_of_end_[end]));
    const auto rate = achieved(std::min(own, ends_.rate));
    const auto latency = cable.latency.value_or(spec_.nic_latency);
    if (sprays_) return summed_ports_[{end, group}].add(cable.count, rate, latency);
    used_.ports.insert(used_.ports.end(), position_of(cable.count), {end, group, rate, latency});
  }

  void add_link(const SwitchEnd& from, const SwitchEnd& to, const Cable& cable) {
    auto lower = groups_.group_of[from.network_switch], upper = groups_.group_of[to.network_switch];
    if (lower == upper) return;
    if (tier(lower) > tier(upper)) std::swap(lower, upper);
    const auto rate = cable.rate ? achieved(*cable.rate) : switch_link(spec_, ends_.rate);
    const auto latency = cable.latency.value_or(spec_.switch_latency);
    if (!sprays_) {
      used_.links.insert(used_.links.end(), position_of(cable.count), {lower, upper, rate, latency});
      return;
    }
    if (tier(lower) == tier(upper) && lower > upper) std::swap(lower, upper);
    const auto [place, is_new] = summed_links_.try_emplace({lower, upper});
    if (is_new) order_of_links_.push_back(place->first);
    place->second.add(cable.count, rate, latency);
  }

  /// Switches without an end below them, in a network of tiers, and switches that lead to one other only.
  void drop_unused() {
    Indexed<SwitchGroupId, bool> keeps(used_.groups.size(), false), has_ends(used_.groups.size(), false);
    for (const PortOfEnd& port : used_.ports) has_ends[port.group] = true;
    used_.in_tiers = std::none_of(used_.links.begin(), used_.links.end(),
                                  [&](const GroupLink& link) { return tier(link.lower) == tier(link.upper); });
    if (used_.in_tiers) {
      keeps = has_ends;
      std::stable_sort(used_.links.begin(), used_.links.end(),
                       [&](const GroupLink& a, const GroupLink& b) { return tier(a.lower) < tier(b.lower); });
      for (const GroupLink& link : used_.links) keeps[link.upper] = keeps[link.upper] || keeps[link.lower];
    } else {
      keeps.assign(used_.groups.size(), true);
    }
    for (bool more = true; more;) {
      more = false;
      Indexed<SwitchGroupId, std::vector<SwitchGroupId>> neighbours(used_.groups.size());
      for (const GroupLink& link : used_.links) {
        if (!keeps[link.lower] || !keeps[link.upper]) continue;
        neighbours[link.lower].push_back(link.upper);
        neighbours[link.upper].push_back(link.lower);
      }
      for (const SwitchGroupId id : keeps.ids()) {
        const auto& list = neighbours[id];
        const bool leads_on =
            std::any_of(list.begin(), list.end(), [&](SwitchGroupId other) { return other != list.front(); });
        if (!keeps[id] || has_ends[id] || leads_on) continue;
        keeps[id] = false;
        more = true;
      }
    }
    keep_only(keeps);
  }

  void keep_only(const Indexed<SwitchGroupId, bool>& keeps) {
    Indexed<SwitchGroupId, SwitchGroupId> number(used_.groups.size(), -1);
    Indexed<SwitchGroupId, ModelledGroup> kept;
    for (const SwitchGroupId id : keeps.ids()) {
      if (!keeps[id]) continue;
      number[id] = kept.next_id();
      kept.push_back(std::move(used_.groups[id]));
    }
    used_.groups = std::move(kept);
    std::erase_if(used_.links, [&](const GroupLink& link) { return number[link.lower] < 0 || number[link.upper] < 0; });
    for (GroupLink& link : used_.links) {
      link.lower = number[link.lower];
      link.upper = number[link.upper];
    }
    for (PortOfEnd& port : used_.ports) port.group = number[port.group];
  }

  const FabricSpec& spec_;
  const NetworkGraph& graph_;
  const EndCount& ends_;
  bool sprays_;
  SwitchGroups groups_;
  Indexed<HostId, EndId> first_end_;  ///< -1: not used
  Indexed<EndId, std::int64_t> cables_of_end_;
  std::map<std::pair<EndId, SwitchGroupId>, SummedCables> summed_ports_;
  std::map<std::pair<SwitchGroupId, SwitchGroupId>, SummedCables> summed_links_;
  std::vector<std::pair<SwitchGroupId, SwitchGroupId>> order_of_links_;
  UsedNetwork used_;
};

}  // namespace

void SummedCables::add(int count, BytesPerSecond rate, Seconds latency) {
  cables_[rate] += count;
  latency_ = std::max(latency_, latency);
}

BytesPerSecond SummedCables::rate() const {
  BytesPerSecond sum(0);
  for (const auto& [rate, count] : cables_) sum += rate * static_cast<double>(count);
  return sum;
}

UsedNetwork used_network(const FabricSpec& spec, const GivenNetwork& keys, const EndCount& ends) {
  return Using(spec, keys, ends).made();
}

Indexed<EndId, int> separate_networks(const UsedNetwork& network) {
  const std::size_t groups = network.groups.size();
  boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS> joined(groups + network.names.size());
  for (const GroupLink& link : network.links) boost::add_edge(position_of(link.lower), position_of(link.upper), joined);
  for (const PortOfEnd& port : network.ports)
    boost::add_edge(position_of(port.group), groups + position_of(port.end), joined);
  std::vector<int> component(groups + network.names.size());
  boost::connected_components(joined, component.data());
  std::map<int, int> number;
  Indexed<EndId, int> result;
  for (const EndId end : network.names.ids())
    result.push_back(
        number.try_emplace(component[groups + position_of(end)], static_cast<int>(number.size())).first->second);
  return result;
}

}  // namespace lockstep::topologies
