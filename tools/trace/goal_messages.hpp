#pragma once
/// A collective as messages between two ranks each, as packet simulators take it: rings pass arrays on part by part,
/// trees pass them whole, and an all-to-all goes from each member to each other one.
#include <cstdint>
#include <vector>

#include "sim/core/units.hpp"
#include "workloads/sharding/collective_kind.hpp"

namespace lockstep::trace {

/// What one member does in one step of a collective. It sends and receives at once; the next step begins when it has
/// received.
struct GoalStep {
  std::int32_t to = -1, from = -1;  ///< places in the group; -1: nobody
  std::int64_t sent = 0, received = 0;
};

/// The steps of the member at `place` of a group of `members`; `full_size`: bytes of the group's whole array.
/// `exchange`: two ranks send each other the whole array. A message has at least one byte.
[[nodiscard]] std::vector<GoalStep> goal_steps(workloads::CollectiveKind kind, Bytes full_size, bool exchange,
                                               std::int32_t members, std::int32_t place);

}  // namespace lockstep::trace
