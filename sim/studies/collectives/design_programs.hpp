#pragma once
/// A designed collective as programs of chunks, one or two for each size.
#include <map>
#include <memory>
#include <tuple>

#include "sim/collectives/designed.hpp"
#include "sim/collectives/files/tree_program.hpp"
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

  /// The programs for this size (as nccl-tests print it) on all groups, of which the fastest is the designed
  /// collective. They have been executed on symbols: every rank ends with every contribution exactly once. They live as
  /// long as this.
  [[nodiscard]] std::vector<ScheduledCollective*> scheduled(Bytes size);
  /// `program`: its place among those.
  [[nodiscard]] DesignedCollective summary(Bytes size, std::size_t program);

 private:
  struct Program {
    collectives::msccl::Algorithm algorithm;
    collectives::ChunkSchedule schedule;
    std::optional<ScheduledCollective> on_groups;
  };
  /// A design, its pieces, the node's protocol ("" without protocols), and its channels.
  using Choice = std::tuple<std::size_t, int, std::string, collectives::msccl::Channels>;
  /// The one with the least time by its closed form, and if its pieces are fewer than it wants, the best trees in
  /// order, which have no closed form.
  [[nodiscard]] std::vector<Choice> choices(Bytes size) const;
  [[nodiscard]] bool shares_no_link(const collectives::TreesOnGroups& trees) const;
  Program& program(const Choice& chosen);

  const topologies::Cluster& cluster_;
  const topologies::Mesh& mesh_;
  std::string axis_;
  workloads::CollectiveKind kind_;
  std::vector<std::vector<topologies::DeviceId>> groups_;
  int members_;
  double step_slowdown_ = 1;
  std::vector<collectives::TreesOnGroups> designs_;
  std::map<Choice, std::unique_ptr<Program>> programs_;
};

}  // namespace lockstep::studies
