#pragma once
/// A designed collective as programs of chunks, one for each number of pieces that a size asks for.
#include <map>
#include <memory>
#include <tuple>

#include "sim/collectives/designed.hpp"
#include "sim/collectives/files/msccl_program.hpp"
#include "sim/studies/collectives/collective_study.hpp"
#include "sim/studies/collectives/scheduled_collective.hpp"

namespace lockstep::studies {

class DesignPrograms {
 public:
  /// All groups of an axis, devices by member. Cluster and mesh must outlive it. `rate`: of a link, which is asked at
  /// once.
  DesignPrograms(const topologies::Cluster& cluster, const topologies::Mesh& mesh, std::string axis,
                 workloads::CollectiveKind kind, const std::vector<std::vector<topologies::DeviceId>>& groups,
                 const collectives::design::LinkRate& rate);

  /// The program for this size (as nccl-tests print it) on all groups, which has been executed on symbols: every rank
  /// ends with every contribution exactly once. It lives as long as this.
  [[nodiscard]] ScheduledCollective& scheduled(Bytes size);
  [[nodiscard]] DesignedCollective summary(Bytes size);

 private:
  struct Program {
    collectives::msccl::Algorithm algorithm;
    collectives::ChunkSchedule schedule;
    std::optional<ScheduledCollective> on_groups;
  };
  /// The design, its pieces and the node's protocol ("" without protocols) with the least time.
  using Choice = std::tuple<std::size_t, int, std::string>;
  [[nodiscard]] Choice choice(Bytes size) const;
  Program& program(Bytes size);

  const topologies::Cluster& cluster_;
  const topologies::Mesh& mesh_;
  std::string axis_;
  workloads::CollectiveKind kind_;
  int members_;
  double step_slowdown_ = 1;
  std::vector<collectives::TreesOnGroups> designs_;
  std::map<Choice, std::unique_ptr<Program>> programs_;
};

}  // namespace lockstep::studies
