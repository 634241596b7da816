#include "sim/studies/jobs/host_pool.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>

#include "sim/core/indexed.hpp"
#include "sim/studies/faults/refine.hpp"

namespace lockstep::jobs {
namespace {

using topologies::HostId;

/// A colour for each host; hosts share one if the network looks the same from them.
std::vector<std::int32_t> looks_of(const topologies::NetworkGraph& graph) {
  const auto hosts = static_cast<std::int32_t>(graph.hosts.size());
  const auto node = [&](const topologies::CableEnd& end) {
    const auto* adapter = std::get_if<topologies::AdapterEnd>(&end);
    return adapter != nullptr ? adapter->host : hosts + std::get<topologies::SwitchEnd>(end).network_switch;
  };
  const auto adapter = [](const topologies::CableEnd& end) {
    const auto* found = std::get_if<topologies::AdapterEnd>(&end);
    return found != nullptr ? found->adapter : -1;
  };
  using Kind = std::tuple<int, int, int, std::optional<BytesPerSecond>, std::optional<Seconds>>;
  std::map<Kind, std::int32_t> kinds;
  std::vector<faults::Joint> joints;
  for (const auto& cable : graph.cables) {
    const auto ends = std::minmax({adapter(cable.from), adapter(cable.to)});
    const auto next = static_cast<std::int32_t>(kinds.size());
    const auto kind = kinds.try_emplace({ends.first, ends.second, cable.count, cable.rate, cable.latency}, next).first;
    joints.push_back({node(cable.from), node(cable.to), kind->second});
  }
  std::vector<std::int32_t> colours(graph.hosts.size() + graph.switches.size(), 1);
  std::fill_n(colours.begin(), hosts, 0);
  colours = faults::refined(std::move(colours), joints);
  colours.resize(graph.hosts.size());
  return colours;
}

std::vector<HostId> neighbours_together(const topologies::HostBlocks& blocks, std::vector<HostId> hosts) {
  std::sort(hosts.begin(), hosts.end());  // as the file lists them
  return blocks.best(hosts, static_cast<int>(hosts.size()));
}

}  // namespace

HostPool::HostPool(const topologies::NetworkGraph& graph, const std::vector<HostId>& hosts)
    : blocks_(graph), hosts_(neighbours_together(blocks_, hosts)) {
  const auto looks = looks_of(graph);
  for (const auto host : hosts_) looks_.push_back(looks[position_of(host)]);
}

std::vector<HostId> HostPool::of(const Owners& owners, int job) const {
  std::vector<HostId> hosts;
  for (std::size_t place = 0; place < size(); ++place) {
    if (owners[place] == job) hosts.push_back(hosts_[place]);
  }
  return hosts;
}

Owners HostPool::owners(const std::vector<std::vector<HostId>>& of_jobs) const {
  std::map<HostId, int> owner;
  for (std::size_t job = 0; job < of_jobs.size(); ++job) {
    for (const auto host : of_jobs[job]) owner[host] = static_cast<int>(job);
  }
  Owners owners;
  for (const auto host : hosts_) {
    const auto found = owner.find(host);
    owners.push_back(found == owner.end() ? nobody : found->second);
  }
  return owners;
}

std::string HostPool::name(const Owners& owners) const {
  std::vector<std::size_t> places(size());
  for (std::size_t place = 0; place < size(); ++place) places[place] = place;
  return name(owners, blocks_.tiers(), places);
}

std::string HostPool::name(const Owners& owners, std::size_t tiers, const std::vector<std::size_t>& places) const {
  std::vector<std::string> parts;
  if (tiers == 0) {
    for (const auto place : places)
      parts.push_back(std::to_string(looks_[place]) + ":" + std::to_string(owners[place]));
  } else {
    std::map<int, std::vector<std::size_t>> inner;
    for (const auto place : places) inner[blocks_.block(tiers - 1, hosts_[place])].push_back(place);
    for (const auto& [block, inside] : inner) parts.push_back(name(owners, tiers - 1, inside));
  }
  std::sort(parts.begin(), parts.end());
  std::string text = "(";
  for (const auto& part : parts) text += part + " ";
  return text + ")";
}

std::vector<Exchange> HostPool::exchanges(const Owners& owners, std::size_t most) const {
  using Places = std::map<std::pair<int, int>, std::vector<std::size_t>>;  // by block and owner
  std::vector<Places> of_tiers(blocks_.tiers());
  std::size_t pairs = 0;
  for (std::size_t tier = 0; tier < of_tiers.size(); ++tier) {
    auto& places = of_tiers[tier];
    for (std::size_t place = 0; place < size(); ++place)
      places[{blocks_.block(tier, hosts_[place]), owners[place]}].push_back(place);
    pairs += places.size() * places.size();
  }
  const std::size_t every = pairs / most + 1;
  std::vector<Exchange> found;
  std::size_t number = 0;
  const auto add = [&](const std::vector<std::size_t>& one, const std::vector<std::size_t>& other, std::size_t count) {
    if (number++ % every != 0) return;
    const auto some = static_cast<std::ptrdiff_t>(count);
    found.push_back({{one.begin(), one.begin() + some}, {other.begin(), other.begin() + some}});
  };
  for (std::size_t tier = 0; tier < of_tiers.size(); ++tier) {
    const auto& places = of_tiers[tier];
    for (auto one = places.begin(); one != places.end(); ++one) {
      for (auto other = std::next(one); other != places.end(); ++other) {
        if (one->first.first == other->first.first || one->first.second == other->first.second) continue;
        const auto all = std::min(one->second.size(), other->second.size());
        if (tier == 0 && all > 1) add(one->second, other->second, 1);
        add(one->second, other->second, all);
      }
    }
  }
  return found;
}

}  // namespace lockstep::jobs
