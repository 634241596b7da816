#pragma once
/// The collectives of a recorded job on a cluster: what each group's members send over which links. Rank r of the job
/// is at the cluster's position r.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/collectives/collective_model.hpp"
#include "sim/collectives/stage_pairs.hpp"
#include "sim/program/program.hpp"
#include "topologies/placement/mesh.hpp"

namespace lockstep::replay {

using Ranks = std::vector<topologies::RankId>;
using RankPairs = std::vector<std::pair<topologies::RankId, topologies::RankId>>;

/// A collective as the engine runs it.
struct NetworkCollective {
  collectives::Communicator communicator;
  std::vector<collectives::Phase> phases;
  Seconds alone{0};
  std::string algorithm;
};

class JobNetwork {
 public:
  /// The cluster must outlive it.
  JobNetwork(const topologies::Cluster& cluster, collectives::CollectiveRules rules);
  ~JobNetwork();

  /// `groups`: disjoint, all of one size, that act at once. `full_size`: the bytes of a group's whole array. Throws
  /// ConfigError where no algorithm serves such groups.
  [[nodiscard]] NetworkCollective collective(workloads::CollectiveKind kind, Bytes full_size,
                                             const std::vector<Ranks>& groups, workloads::TokenCopies copies = {});
  /// Of each pair the first sends to the second, all at once; with `both` they send to each other.
  [[nodiscard]] NetworkCollective transfer(Bytes bytes, const RankPairs& pairs, bool both);

 private:
  struct Shape;
  const Shape& shape(const std::vector<Ranks>& groups);

  const topologies::Cluster& cluster_;
  collectives::CollectiveRules rules_;
  topologies::Mesh all_;
  Indexed<topologies::DeviceId, topologies::RankId> position_;
  std::map<std::vector<Ranks>, std::shared_ptr<Shape>> shapes_;
  std::map<std::string, std::shared_ptr<Shape>> blocks_;  ///< by where they lie
  std::map<RankPairs, collectives::StagePairs> pairs_;
};

}  // namespace lockstep::replay
