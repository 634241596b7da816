#pragma once
/// Which plans `lockstep plan` may choose among: `search` of a scenario.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/units.hpp"
#include "workloads/sharded_layers/sharded_layer.hpp"

namespace lockstep::scenario {

struct SearchSpec {
  /// Allowed sizes; empty: every one that divides what it splits.
  std::vector<std::int64_t> tensor, context{1}, expert, pipeline, microbatches;
  std::vector<int> zero{0, 1, 2, 3};
  std::vector<std::string> schedules{"1f1b", "interleaved", "zb-h1"};
  std::vector<std::int32_t> chunks{2, 4, 8};  ///< of schedules that have a choice
  std::vector<workloads::Recompute>
      recompute;                ///< empty: what the scenario says, or none, selective and full if it says nothing
  std::optional<Bytes> memory;  ///< of a chip; none: all it has
};

}  // namespace lockstep::scenario
