#include <algorithm>
#include <utility>

#include "topologies/fabrics/switch_network_private.hpp"

namespace lockstep::topologies {
namespace {

/// Spreads a number over all 64 bits: two rounds of multiplying and folding the high half into the low one.
std::uint64_t mixed(std::uint64_t value) {
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio
  for (int round = 0; round < 2; ++round) {
    value ^= value >> 32;
    value *= odd;
  }
  return value ^ (value >> 32);
}

}  // namespace

SwitchNetwork::SwitchNetwork(const FabricSpec& spec, const NetworkEnds& ends)
    : routing_(spec.routing), seed_(spec.seed), number_of_end_(ends.nodes) {
  for (std::size_t end = 1; end < ends.nodes.size(); ++end) {
    if (ends.nodes[end] == ends.nodes[end - 1]) number_of_end_[end] = number_of_end_[end - 1] + 1;
  }
}

std::uint64_t SwitchNetwork::choice(NodeId from, NodeId to, int flow) const {
  const auto a = static_cast<std::uint64_t>(from);
  const auto b = static_cast<std::uint64_t>(to);
  if (routing_ != FabricRouting::ecmp) return a + b;
  const std::uint64_t of_pair = mixed(mixed(mixed(seed_) + a) + b);
  return flow == 0 ? of_pair : mixed(of_pair + static_cast<std::uint64_t>(flow));
}

bool all_there(const std::vector<LinkId>& links, std::size_t first, const MissingLinks& missing) {
  if (missing.empty()) return true;
  return std::none_of(links.begin() + static_cast<std::ptrdiff_t>(first), links.end(),
                      [&](LinkId link) { return missing[link]; });
}

BytesPerSecond switch_link(const FabricSpec& spec, BytesPerSecond end_rate) {
  return spec.efficiency * (spec.link.value() > 0 ? spec.link : end_rate);
}

std::string switch_name(std::string_view what, std::vector<int> prefix, const std::vector<int>& numbers) {
  prefix.insert(prefix.end(), numbers.begin(), numbers.end());
  return prefix.empty() ? std::string(what) : place_name(what, prefix);
}

LinkId add_end_links(const FabricSpec& spec, const NetworkEnds& ends, const std::vector<NodeId>& first_switch,
                     Cluster::Graph& graph) {
  const auto first = static_cast<LinkId>(graph.links.size());
  for (std::size_t end = 0; end < ends.nodes.size(); ++end) {
    add_both_ways(graph, ends.nodes[end], first_switch[end], ends.kind, spec.efficiency * ends.rate * ends.ports,
                  spec.nic_latency);
  }
  return first;
}

NetworkEnds port_by_port(NetworkEnds ends) {
  std::vector<NodeId> nodes;
  for (const NodeId node : ends.nodes) nodes.insert(nodes.end(), static_cast<std::size_t>(ends.ports), node);
  ends.nodes = std::move(nodes);
  ends.ports = 1;
  return ends;
}

}  // namespace lockstep::topologies
