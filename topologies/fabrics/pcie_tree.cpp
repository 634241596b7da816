#include "topologies/fabrics/pcie_tree_private.hpp"

#include "topologies/fabrics/switch_network_private.hpp"

namespace lockstep::topologies {

PcieTree::PcieTree(const NodeSpec& node) {
  for (const SharedUplink& uplink : node.uplinks) span_.push_back(uplink.chips);
  span_.push_back(node.chips);
  first_link_.push_back(2 * node.chips);
  for (const int span : span_) {
    const int switches = node.chips / span;
    first_switch_.push_back(first_switch_.back() + switches);
    if (span < node.chips) first_link_.push_back(first_link_.back() + 2 * switches);
  }
}

void PcieTree::add(const NodeSpec& node, const std::vector<int>& place, DeviceId first, Cluster::Graph& graph) const {
  const auto rate = [&](BytesPerSecond link) { return node.scale_up_efficiency * link; };
  std::vector<NodeId> nodes;
  for (std::size_t tier = 0; tier < span_.size(); ++tier) {
    for (int i = 0; i < node.chips / span_[tier]; ++i)
      nodes.push_back(
          graph.add_node(NodeKind::network_switch, switch_name("pcie", place, {static_cast<int>(tier), i})));
  }
  const auto at = [&](int chip, int tier) { return nodes[position_of(switch_of(chip, tier))]; };
  for (int chip = 0; chip < node.chips; ++chip)
    add_both_ways(graph, first + chip, at(chip, 0), LinkKind::scale_up, rate(node.scale_up_link),
                  node.scale_up_latency / 2);
  for (int tier = 0; tier < static_cast<int>(node.uplinks.size()); ++tier) {
    const SharedUplink& uplink = node.uplinks[position_of(tier)];
    // The latency from chip to chip is that over the lowest switch; those above it add nothing.
    for (int chip = 0; chip < node.chips; chip += uplink.chips)
      add_both_ways(graph, at(chip, tier), at(chip, tier + 1), LinkKind::scale_up, rate(uplink.link), Seconds(0));
  }
}

void PcieTree::climb(int chip, int tier, LinkId first, std::vector<LinkId>& links) const {
  links.push_back(first + 2 * chip);
  for (std::size_t below = 0; std::cmp_less(below, tier); ++below)
    links.push_back(first + first_link_[below + 1] + 2 * (chip / span_[below]));
}

void PcieTree::descend(int chip, int tier, LinkId first, std::vector<LinkId>& links) const {
  for (auto below = position_of(tier); below-- > 0;)
    links.push_back(first + first_link_[below + 1] + 2 * (chip / span_[below]) + 1);
  links.push_back(first + 2 * chip + 1);
}

void PcieTree::route(int from, int to, LinkId first, std::vector<LinkId>& links) const {
  int tier = 0;
  while (switch_of(from, tier) != switch_of(to, tier)) ++tier;
  climb(from, tier, first, links);
  descend(to, tier, first, links);
}

int PcieTree::tier_of_nic(int chips) const {
  int tier = 0;
  while (span_[position_of(tier)] % chips != 0) ++tier;
  return tier;
}

}  // namespace lockstep::topologies
