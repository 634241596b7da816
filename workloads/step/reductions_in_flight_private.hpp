#pragma once
/// Whole gradients that wait for their reduction take memory, so a stage that computes faster than it can reduce has to
/// wait: no block computes before all but the last `limit` reductions of its stage have ended. FSDP2 keeps one in
/// flight: its compute stream waits for the reduce-scatter of the block before when it issues the next one
/// (torch/distributed/fsdp/_fully_shard, FSDPParamGroup.post_backward).
#include <array>
#include <vector>

#include "workloads/step/build_step_private.hpp"

namespace lockstep::workloads {

class ReductionsInFlight {
 public:
  ReductionsInFlight(std::int32_t stages, int limit) : limit_(limit), stages_(stages) {}

  /// A collective that reads whole gradients; it is issued with the next call of `issue`.
  void add(std::int32_t stage, OpId collective) { stages_[stage].next.push_back(collective); }
  /// The reductions of one block or one bucket are issued together and count as one.
  void issue(std::int32_t stage) {
    auto& own = stages_[stage];
    if (own.next.empty()) return;
    own.issued.push_back(std::move(own.next));
    own.next.clear();
  }
  /// The operations that the next computing operation of a stage waits for; the halves of an overlapped pair have
  /// separate lists.
  [[nodiscard]] const OpIds& wait(std::int32_t stage, std::int32_t half) {
    static const OpIds nothing;
    auto& own = stages_[stage];
    auto& told = own.told[half == 0 ? 0 : (half - 1) % 2 + 1];
    const int ended = own.issued.count() - limit_;
    if (ended <= told) return nothing;
    told = ended;
    return own.issued[ended - 1];
  }

 private:
  struct Stage {
    Indexed<int, OpIds> issued;
    OpIds next;
    IndexedArray<std::int32_t, int, 3> told{};  ///< by half of a pair, 0 for none: how many it knows to have ended
  };

  int limit_;
  Indexed<StageId, Stage> stages_;
};

}  // namespace lockstep::workloads
