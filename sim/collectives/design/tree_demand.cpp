#include "sim/collectives/design/tree_demand.hpp"

#include <algorithm>

namespace lockstep::collectives::design {

TreeDemand::TreeDemand(const LinkGraph& graph, int trees)
    : members_(graph.members),
      all_(std::int64_t{graph.members} * trees),
      source_(graph.nodes),
      flows_(graph.nodes + 1) {
  for (const auto& [ends, capacity] : graph.arcs) set(ends.first, ends.second, capacity);
  for (int member = 0; member < members_; ++member) flows_.add_arc(source_, member, trees);
  for (int node = 0; node < graph.nodes; ++node) from_source_.push_back(flows_.add_arc(source_, node, 0));
}

void TreeDemand::set(int from, int to, std::int64_t capacity) {
  const auto [known, is_new] = arcs_.try_emplace({from, to}, 0);
  if (is_new)
    known->second = flows_.add_arc(from, to, capacity);
  else
    flows_.set_capacity(known->second, capacity);
}

bool TreeDemand::is_met() {
  for (int i = 0; i < members_; ++i) {
    const int member = (last_refused_ + i) % members_;
    if (flows_.max_flow(source_, member) >= all_) continue;
    last_refused_ = member;
    return false;
  }
  return true;
}

// Of the cuts that lose an arc when the path is split off, those with `by` inside and both ends outside, or both ends
// inside and `by` outside, and some member inside: by how much the least of them is above what must cross it.
std::int64_t TreeDemand::spare(int from, int by, int to, std::int64_t most) {
  for (int i = 0; i < members_ && most > 0; ++i) {
    const int member = (last_refused_ + i) % members_;
    for (const bool ends_outside : {true, false}) {
      const auto left = ends_outside ? least_with(from, to, by, by, member) : least_with(by, by, from, to, member);
      if (left - all_ >= most) continue;
      most = left - all_;
      if (most <= 0) last_refused_ = member;
    }
  }
  return std::max<std::int64_t>(most, 0);
}

std::int64_t TreeDemand::least_with(int source_side_a, int source_side_b, int sink_side_a, int sink_side_b,
                                    int member) {
  if (member == source_side_a || member == source_side_b) return topologies::FlowNetwork::unlimited;
  constexpr auto unlimited = topologies::FlowNetwork::unlimited;
  for (const int node : {source_side_a, source_side_b}) flows_.set_capacity(from_source_[position_of(node)], unlimited);
  std::vector<std::pair<std::pair<int, int>, std::int64_t>> before;
  for (const int node : {sink_side_a, sink_side_b}) {
    if (node == member) continue;
    const std::pair ends{node, member};
    const auto known = arcs_.find(ends);
    before.emplace_back(ends, known == arcs_.end() ? 0 : flows_.capacity(known->second));
    set(node, member, unlimited);
  }
  const auto least = flows_.max_flow(source_, member);
  for (const int node : {source_side_a, source_side_b}) flows_.set_capacity(from_source_[position_of(node)], 0);
  for (auto arc = before.rbegin(); arc != before.rend(); ++arc) set(arc->first.first, arc->first.second, arc->second);
  return least;
}

}  // namespace lockstep::collectives::design
