#include "workloads/pipeline/schedules/closed_form_private.hpp"
#include "workloads/pipeline/schedules/dualpipe_steps.hpp"
#include "workloads/pipeline/schedules/v_shape.hpp"

namespace lockstep::workloads {
namespace {

std::optional<ScheduleProblem> dualpipe_v_rule(const ScheduleRequest& request) {
  if (request.microbatches >= 2 * request.ranks) return {};
  return ScheduleProblem{"microbatches",
                         "dualpipe-v with " + std::to_string(request.microbatches) + " microbatches on " +
                             std::to_string(request.ranks) + " ranks",
                         "at least as many microbatches as stages, 2P = " + std::to_string(2 * request.ranks)};
}

PipelineOrder dualpipe_v_order(const ScheduleRequest& request) {
  auto order = empty_v_order(request);
  for (std::int32_t rank = 0; rank < request.ranks; ++rank) {
    order.ranks[rank] = dualpipe_cells(request.ranks, rank, request.microbatches,
                                       {{{v_stage(order.shape, rank, 0), 0}, {v_stage(order.shape, rank, 1), 0}}});
  }
  return order;
}

std::optional<ClosedForm> form(const FormLetters& of) {
  return dual_bubble(of, of.P, "(P-1)").holds("P + 1/2", of.P + 0.5).finish(of, false);
}

}  // namespace

extern const Schedule dualpipe_v_schedule = {
    .name = "dualpipe-v",
    .summary = "DualPipe cut in half: a V of two chunks",
    .placement = StagePlacement::v,
    .usual_chunks = 2,
    .splits_backward = true,
    .overlaps = true,
    .own_rule = dualpipe_v_rule,
    .order = dualpipe_v_order,
    .closed_form = form,
};

}  // namespace lockstep::workloads
