#pragma once
/// Point-to-point traffic between two stages of a pipeline: every rank of one with its partner of the other.
#include <array>
#include <vector>

#include "sim/collectives/phases.hpp"
#include "topologies/cluster/cluster.hpp"
#include "topologies/fabrics/fabric.hpp"
#include "topologies/placement/group_orbits.hpp"
#include "topologies/placement/mesh.hpp"
#include "workloads/pipeline/ids.hpp"

namespace lockstep::collectives {

/// The effect of the pairs' routes on a transfer; [0] from the lower stage to the higher, [1] back.
struct StagePairRoutes {
  enum Direction { upward, downward, both };
  Seconds latency{0};                                      ///< of the longest route
  IndexedArray<SlotId, double, 2> seconds_per_byte{0, 0};  ///< when all pairs send at once: routes may share links
  std::vector<topologies::Protocol> protocols;             ///< of the network's library; empty: bytes as they are
  double flows = 1;                                        ///< that a connection is split into, each on its route

  /// A transfer by the protocol that is fastest for its size.
  struct Transfer {
    Seconds latency{0};
    double bytes = 0;  ///< as the links carry them
    Seconds time{0};
  };
  [[nodiscard]] Transfer transfer(Direction direction, double bytes) const;
  [[nodiscard]] Seconds time(int direction, double bytes) const {
    return transfer(direction == 0 ? upward : downward, bytes).time;
  }
};

struct StagePairs {
  Communicator communicator;  ///< slot 0 from the lower stage to the higher, slot 1 back
  StagePairRoutes routes;
};

/// Ranks along the pipeline axis.
using PipelineLine = Indexed<workloads::StageId, topologies::RankId>;
/// One line for each place on the other axes.
[[nodiscard]] std::vector<PipelineLine> pipeline_lines(const topologies::Mesh& mesh);

/// The routes between two stages of some lines of devices, which stand for all lines of their orbits.
[[nodiscard]] StagePairRoutes connect_stages(const topologies::Cluster& cluster, const topologies::GroupOrbits& lines,
                                             std::int32_t low, std::int32_t high);

/// Routes are the cluster's shortest.
[[nodiscard]] StagePairs connect_stages(const topologies::Cluster& cluster, const topologies::Mesh& mesh,
                                        const std::vector<PipelineLine>& lines, workloads::StageId low,
                                        workloads::StageId high);

}  // namespace lockstep::collectives
