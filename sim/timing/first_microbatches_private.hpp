#pragma once
/// What a part of a rank's order left to do when the part began.
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "workloads/pipeline/action_places.hpp"

namespace lockstep::timing {

/// The microbatch with which each kind of work begins in a part of a rank's order.
class FirstMicrobatches {
 public:
  FirstMicrobatches(const std::vector<workloads::PipelineCell>& cells, std::size_t from, std::size_t until) {
    for (auto cell = from; cell < until; ++cell) {
      for_each_action(cells[cell], [&](const workloads::PipelineAction& action) {
        for_each_step(action.work, [&](workloads::PipelineStep step) {
          first_.try_emplace({step, action.stage}, action.microbatch);
        });
      });
    }
  }
  /// Whether an action was put off until after that part, since the part began with later microbatches.
  [[nodiscard]] bool put_off(const workloads::PipelineAction& action) const {
    bool found = false;
    for_each_step(action.work, [&](workloads::PipelineStep step) {
      const auto known = first_.find({step, action.stage});
      found = found || (known != first_.end() && action.microbatch < known->second);
    });
    return found;
  }

 private:
  std::map<std::pair<workloads::PipelineStep, std::int32_t>, std::int32_t> first_;  ///< by step and stage
};

}  // namespace lockstep::timing
