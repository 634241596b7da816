#include "workloads/pipeline/schedules/closed_form_private.hpp"
#include "workloads/pipeline/schedules/interleaving.hpp"
#include "workloads/pipeline/schedules/schedules_private.hpp"

namespace lockstep::workloads {
namespace {

PipelineOrder slimpipe_order(const ScheduleRequest& request) { return sliced_order(request, StagePlacement::linear); }

}  // namespace

/// arXiv 2504.14519. In the order of Seq1F1B; what sets it apart is that its slices all take the same time.
extern const Schedule slimpipe_schedule = {
    .name = "slimpipe",
    .summary = "Seq1F1B whose ranks share the attention of late slices (SlimPipe)",
    .placement = StagePlacement::linear,
    .usual_chunks = 1,
    .takes_slices = true,
    .shares_attention = true,
    .order = slimpipe_order,
    .closed_form = sliced_form,
};

}  // namespace lockstep::workloads
