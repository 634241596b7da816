#pragma once
/// The hosts that may be given to jobs, and who has which.
#include <string>
#include <vector>

#include "topologies/fabrics/best_hosts.hpp"
#include "topologies/graph/network_graph.hpp"

namespace lockstep::jobs {

/// The job that has each host of a pool, by the host's place in it; -1: it is free.
using Owners = std::vector<int>;
inline constexpr int nobody = -1;

/// So many hosts of two blocks of one tier change their owners.
struct Exchange {
  std::vector<std::size_t> one, other;  ///< places, as many of each
};

class HostPool {
 public:
  /// Hosts of each block of the network follow one another.
  HostPool(const topologies::NetworkGraph& graph, const std::vector<topologies::HostId>& hosts);

  [[nodiscard]] std::size_t size() const { return hosts_.size(); }
  [[nodiscard]] const std::vector<topologies::HostId>& hosts() const { return hosts_; }
  [[nodiscard]] const topologies::HostBlocks& blocks() const { return blocks_; }

  [[nodiscard]] std::vector<topologies::HostId> of(const Owners& owners, int job) const;
  /// Who has which, where each job's hosts are given.
  [[nodiscard]] Owners owners(const std::vector<std::vector<topologies::HostId>>& of_jobs) const;

  /// Equal for choices that differ only by hosts which look the same: by hosts of a block that are cabled alike, or by
  /// whole blocks that look the same and have as many hosts.
  [[nodiscard]] std::string name(const Owners& owners) const;

  /// Of two blocks of a tier and two owners, one host or all that both can exchange; of higher tiers all. Where there
  /// are more than about `most`, every second, third, ... one.
  [[nodiscard]] std::vector<Exchange> exchanges(const Owners& owners, std::size_t most = 100'000) const;

 private:
  [[nodiscard]] std::string name(const Owners& owners, std::size_t tiers, const std::vector<std::size_t>& places) const;

  topologies::HostBlocks blocks_;
  std::vector<topologies::HostId> hosts_;
  std::vector<std::int32_t> looks_;  ///< by place: equal for hosts that see the same network
};

}  // namespace lockstep::jobs
