#pragma once
/// A pipeline order as one sequence of actions, in which everything that an action waits for comes before it.
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "sim/studies/planning/plan_space.hpp"

namespace lockstep::planning {

struct SequencedAction {
  workloads::PipelineWork work{};
  std::int8_t half = 0;  ///< of a pair that overlaps: 1 and 2
  bool last = false;     ///< ends the gradients of its virtual stage on its rank
  std::int32_t rank = 0;
  workloads::VirtualStageId stage = 0;
  std::int32_t microbatch = 0;
};

struct ActionSequence {
  workloads::PipelineShape shape;
  std::vector<SequencedAction> actions;
};

[[nodiscard]] ActionSequence sequence_of(const workloads::PipelineOrder& order);

/// Sequences of a space's schedules, as many as memory allows.
class SequenceBook {
 public:
  explicit SequenceBook(const PlanSpace& space) : space_(space) {}
  /// The reference is valid until the next call.
  [[nodiscard]] const ActionSequence& sequence(std::int32_t pipeline, std::int64_t microbatches,
                                               const ScheduleChoice& choice);

 private:
  const PlanSpace& space_;
  std::map<std::tuple<std::int32_t, std::int64_t, ScheduleChoice>, ActionSequence> known_;
  std::size_t actions_ = 0;  ///< of all that are known
};

}  // namespace lockstep::planning
