#include "workloads/pipeline/schedules/closed_form_private.hpp"
#include "workloads/pipeline/schedules/interleaving.hpp"
#include "workloads/pipeline/schedules/schedules_private.hpp"

namespace lockstep::workloads {
namespace {

/// Slices go in groups of P, each of whole microbatches: the backward of a group begins with the last slice of one.
std::optional<ScheduleProblem> whole_groups_rule(const ScheduleRequest& request) {
  const auto slices = request.slices, ranks = request.ranks;
  const auto text = [](std::int64_t number) { return std::to_string(number); };
  if (ranks % slices != 0)
    return ScheduleProblem{"slices", text(slices) + " slices do not divide the " + text(ranks) + " stages",
                           "a divisor of the stages"};
  if (std::int64_t{request.microbatches} * slices % ranks == 0) return {};
  return ScheduleProblem{"microbatches",
                         text(request.microbatches) + " microbatches of " + text(slices) +
                             " slices do not go in groups of the " + text(ranks) + " stages",
                         "a multiple of " + text(ranks / slices)};
}

PipelineOrder seq1f1b_interleaved_order(const ScheduleRequest& request) {
  return sliced_order(request, StagePlacement::loop);
}

}  // namespace

/// arXiv 2406.03488; thunlp/Seq1F1B, forward_backward_pipelining_with_interleaving.
extern const Schedule seq1f1b_interleaved_schedule = {
    .name = "seq1f1b-interleaved",
    .summary = "Seq1F1B over several chunks per rank",
    .placement = StagePlacement::loop,
    .usual_chunks = 2,
    .takes_slices = true,
    .own_rule = whole_groups_rule,
    .order = seq1f1b_interleaved_order,
    .closed_form = sliced_interleaved_form,
};

}  // namespace lockstep::workloads
