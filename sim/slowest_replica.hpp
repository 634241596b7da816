#pragma once
/// The time of a step whose chips and links are not alike, without a simulation of all of them.
///
/// A replica is a group of ranks that wait for each other between their first pass and their last: over stages, tensor,
/// context and expert axes. Replicas meet only in collectives that wait for no pass (weights before the first) or for
/// which no pass waits (gradients after the last), each of which starts with the last of them. There a step takes as
/// long as it does with all replicas like its slowest one:
///   T = max over replicas d of T_d,   T_d: every replica is d, on the folded machine.
/// In a replica, ranks that do the same at the same times (of one class of the step without the differences) act by the
/// slowest, which is what they do where they meet in collectives of their passes, and links by the worst. Of a
/// collective between replicas, the worst link of any replica counts. It does not apply where such ranks meet rarely,
/// and where replicas can fill links of each other; then only a simulation of all ranks tells. Which replica is the
/// slowest is estimated for all in the order of the step without the differences (recorded_order.hpp), and the slowest
/// by estimate are simulated. docs/models/variations.md
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sim/engine/varied_runs.hpp"
#include "sim/program/fold.hpp"
#include "sim/recorded_order.hpp"
#include "sim/step_distribution.hpp"
#include "workloads/step/step_graph.hpp"

namespace lockstep {

/// Of each rank and link of a whole program.
struct Speeds {
  Indexed<topologies::RankId, double> slowdown_of_rank;
  Indexed<topologies::LinkId, BytesPerSecond> links;
};

class SlowestReplica {
 public:
  /// `whole`: the program of all ranks of `step`. `links_vary`: capacities of links differ too.
  SlowestReplica(const workloads::StepGraph& step, program::Program whole, bool links_vary, engine::EngineKind kind);

  /// Whether steps of this program are those of their slowest replica. If not, `step` must not be called.
  [[nodiscard]] bool applies() const { return applies_; }
  /// Links may only be slower than in the program.
  [[nodiscard]] Seconds step(const Speeds& speeds);
  [[nodiscard]] Seconds healthy() const { return healthy_; }
  /// How the steps so far were simulated.
  [[nodiscard]] ReplicaDraws draws() const;

 private:
  using ReplicaId = std::int32_t;
  using LinkFactors = std::vector<std::pair<topologies::LinkId, double>>;  ///< of links of the folded program
  struct Place {
    ReplicaId replica;
    program::RankClassId of_class;
  };
  struct LoadedPhase {
    std::vector<std::pair<topologies::LinkId, double>> bytes;  ///< by link of the folded program
  };
  struct Bounded {  ///< a draw's first replica that was not simulated
    double estimate, told;
  };

  void find_replicas(const workloads::StepGraph& step, const program::Program& whole);
  [[nodiscard]] bool ranks_act_together(const program::Program& whole) const;
  [[nodiscard]] bool replicas_fill_links_of_each_other(const program::Program& whole) const;
  void place_ranks(const program::Program& whole, const program::RankClasses& ranks);
  void list_crossings(const program::Program& whole, const program::LinkClasses& links);
  void double_links_between_replicas(program::Program& folded);
  void load_shapes();
  [[nodiscard]] std::vector<double> slower(const Speeds& speeds) const;
  [[nodiscard]] std::vector<LinkFactors> worse_links(const Speeds& speeds) const;
  void add_later(const std::vector<LinkFactors>& worse, std::vector<float>& values) const;
  [[nodiscard]] double later_s(std::size_t shape, const LinkFactors& worse) const;
  [[nodiscard]] Seconds simulate(ReplicaId replica, const std::vector<double>& slower, const LinkFactors& worse);

  bool applies_ = false;
  Indexed<topologies::RankId, ReplicaId> replica_of_;
  Indexed<topologies::RankId, std::size_t> meets_often_;  ///< the set of ranks that it meets in its passes
  ReplicaId replicas_ = 0;
  Indexed<topologies::RankId, Place> places_;
  Indexed<program::CommunicatorId, bool> between_replicas_;
  Indexed<topologies::LinkId, BytesPerSecond> whole_links_;
  Indexed<topologies::LinkId, program::LinkClassId> class_of_link_;
  Indexed<topologies::LinkId, std::vector<ReplicaId>> crossed_by_;  ///< inside replicas
  Indexed<topologies::LinkId, bool> between_;                       ///< crossed by traffic between replicas
  Indexed<program::LinkClassId, topologies::LinkId> double_of_;     ///< the link of that traffic alone; -1: none
  std::optional<engine::VariedRuns> runs_;
  std::optional<RecordedOrder> order_;
  std::vector<std::vector<LoadedPhase>> loads_;  ///< by shape
  Indexed<topologies::RankId, double> healthy_speeds_;
  Indexed<topologies::LinkId, BytesPerSecond> healthy_links_;
  Seconds healthy_{0};
  double recorded_s_ = 0;
  ReplicaDraws told_;
  double most_underestimated_ = 0;  ///< simulation over estimate, less 1
  std::vector<Bounded> bounded_;
};

}  // namespace lockstep
