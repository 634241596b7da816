#pragma once
/// Whether an order is a whole, legal, deadlock-free training step.
#include <string>
#include <vector>

#include "workloads/pipeline/pipeline_order.hpp"

namespace lockstep::workloads {

struct OrderProblem {
  std::int32_t rank = -1;   ///< -1: of the whole order
  std::int32_t index = -1;  ///< cell of the rank, -1: of the whole rank
  std::string what;         ///< "2F3 repeats what came before"
  std::string expected;
};

/// Everything that is wrong with it: actions missing, twice, on a rank that does not hold the stage, after
/// something that needs them on the same rank, backward both whole and split, or a deadlock between ranks
/// (the cycle of waits is spelled out). Nothing if it is sound.
[[nodiscard]] std::vector<OrderProblem> verify_order(const PipelineOrder& order);

}  // namespace lockstep::workloads
