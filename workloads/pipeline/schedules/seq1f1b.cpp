#include "workloads/pipeline/schedules/closed_form_private.hpp"
#include "workloads/pipeline/schedules/interleaving.hpp"
#include "workloads/pipeline/schedules/schedules_private.hpp"

namespace lockstep::workloads {
namespace {

PipelineOrder seq1f1b_order(const ScheduleRequest& request) { return sliced_order(request, StagePlacement::linear); }

}  // namespace

/// arXiv 2406.03488; thunlp/Seq1F1B, forward_backward_pipelining_without_interleaving.
extern const Schedule seq1f1b_schedule = {
    .name = "seq1f1b",
    .summary = "1F1B over slices of each microbatch's sequence (Seq1F1B)",
    .placement = StagePlacement::linear,
    .usual_chunks = 1,
    .takes_slices = true,
    .order = seq1f1b_order,
    .closed_form = sliced_form,
};

}  // namespace lockstep::workloads
