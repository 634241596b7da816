#include "workloads/schedules/interleaving.hpp"
#include "workloads/schedules/schedules_private.hpp"

namespace lockstep {

/// Megatron's rule for a group size that is named, PyTorch's for the one that follows from P and M.
std::optional<ScheduleProblem> interleaved_rule(const ScheduleRequest& request) {
  auto problem = request.group ? named_group_rule(request) : equal_rounds_rule(request);
  if (problem && !request.group) problem->expected += ", or a group size that allows another number";
  return problem;
}

PipelineOrder interleaved_order(const ScheduleRequest& request) {
  const auto group = group_of(request);
  auto order = empty_order(request, StagePlacement::loop, *request.chunks);
  const InterleavedPasses passes(order.shape, group);
  for (std::int32_t rank = 0; rank < request.ranks; ++rank) {
    auto& cells = order.ranks[static_cast<std::size_t>(rank)];
    // A group through all chunks but the last, then a hop to the last rank and back.
    const auto warm_up = passes.at_most_all((order.shape.chunks - 1) * group + 2 * (request.ranks - 1 - rank));
    for (std::int32_t pass = 0; pass < passes.count() + warm_up; ++pass) {
      append(cells, passes.forward(rank, pass));
      append(cells, passes.backward(PipelineWork::backward, rank, pass - warm_up));
    }
  }
  return order;
}

}  // namespace lockstep
