#pragma once
/// Which hosts of a network lie nearest to one another.
#include <cstdint>
#include <string>
#include <vector>

#include "topologies/graph/network_graph.hpp"

namespace lockstep::topologies {

/// Hosts by what they hang below: those with the same leaves are one block of the lowest tier, those whose leaves have
/// the same switches above them one block of the next, and so on. With rails a block has a leaf for each rail.
class HostBlocks {
 public:
  explicit HostBlocks(const NetworkGraph& graph);

  [[nodiscard]] std::size_t tiers() const { return block_of_.size(); }
  /// A tier's block that a host lies in, by number; tier 0 is the lowest.
  [[nodiscard]] int block(std::size_t tier, HostId host) const { return block_of_[tier][host]; }

  /// The number of blocks that hosts lie in, lowest tier first.
  [[nodiscard]] std::vector<int> spread(const std::vector<HostId>& hosts) const;

  /// So many of the free hosts, of which there are enough: in the fewest blocks of the highest tier, then, of such
  /// choices, in the fewest of the tier below, and so on. Exact where blocks lie in each other, which is so where the
  /// switches are a tree. Hosts of a block follow one another; among equal choices the first free hosts are taken.
  [[nodiscard]] std::vector<HostId> best(const std::vector<HostId>& free, int count) const;

  /// The places of listed hosts in an order in which those of each block follow one another; where they do so already,
  /// the order of the list.
  [[nodiscard]] std::vector<int> neighbours_together(const std::vector<HostId>& hosts) const;

 private:
  std::vector<Indexed<HostId, int>> block_of_;  ///< by tier: of each host
};

/// "4, 1": of each tier.
[[nodiscard]] std::string spread_text(const std::vector<int>& spread);

}  // namespace lockstep::topologies
