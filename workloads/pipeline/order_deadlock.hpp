#pragma once
/// Ranks that wait for each other in a circle; private to verify_order.
#include <optional>

#include "workloads/pipeline/action_places.hpp"
#include "workloads/pipeline/verify_order.hpp"

namespace lockstep::workloads {

/// For an order that is otherwise sound.
[[nodiscard]] std::optional<OrderProblem> find_deadlock(const PipelineOrder& order, const ActionPlaces& places);

}  // namespace lockstep::workloads
