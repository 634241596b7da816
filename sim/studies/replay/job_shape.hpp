#pragma once
/// Which ranks a replay has, and which of them a group joins: those that were recorded, or, where one rank's trace
/// stands for all, that rank's part played by every one.
#include <string>
#include <vector>

#include "sim/studies/replay/job_network.hpp"
#include "sim/studies/replay/matched_collectives.hpp"
#include "sim/studies/replay/replay.hpp"

namespace lockstep::replay {

class JobShape {
 public:
  /// Throws ConfigError where the traces do not make up a job that the options can replay.
  JobShape(const workloads::RecordedJob& job, const ReplayOptions& options);

  [[nodiscard]] bool one_for_all() const { return one_for_all_; }
  [[nodiscard]] std::int32_t ranks() const { return ranks_; }  ///< of the program
  [[nodiscard]] std::int32_t world() const { return world_; }  ///< of the job that is replayed
  /// The groups that run this collective at once, with ranks of the program.
  [[nodiscard]] std::vector<Ranks> groups(const MatchedCollective& collective) const;
  /// Whether the group of a collective had several members, and has one now.
  [[nodiscard]] bool is_alone(const workloads::RecordedCollective& collective) const;
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  /// Groups that are spread evenly over the ranks.
  struct Spread {
    std::int32_t size = 1, stride = 1;
  };
  [[nodiscard]] Spread recorded_spread(const workloads::RecordedGroup& group) const;
  void resize(const ReplayOptions& options);
  [[nodiscard]] workloads::RecordedGroupId data_group() const;

  const workloads::RecordedJob& job_;
  bool one_for_all_ = false;
  std::int32_t ranks_ = 0, world_ = 0;
  Indexed<workloads::RecordedGroupId, Spread> spreads_;
  std::vector<std::string> notes_;
};

}  // namespace lockstep::replay
