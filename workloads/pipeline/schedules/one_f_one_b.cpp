#include "workloads/pipeline/schedules/closed_form_private.hpp"
#include "workloads/pipeline/schedules/interleaving.hpp"
#include "workloads/pipeline/schedules/schedules_private.hpp"

namespace lockstep::workloads {
namespace {

PipelineOrder one_f_one_b_order(const ScheduleRequest& request) {
  auto order = empty_order(request, StagePlacement::linear, 1);
  for (std::int32_t rank = 0; rank < request.ranks; ++rank) {
    auto& cells = order.ranks[rank];
    const InterleavedPasses passes(order.shape, request.microbatches);
    // The backward that follows forward m is of the microbatch that the last rank has by now sent back.
    const auto warm_up = passes.at_most_all(request.ranks - 1 - rank);
    for (std::int32_t pass = 0; pass < passes.count() + warm_up; ++pass) {
      append(cells, passes.forward(rank, pass));
      append(cells, passes.backward(PipelineWork::backward, rank, pass - warm_up));
    }
  }
  return order;
}

std::optional<ClosedForm> form(const FormLetters& of) {
  Form form(ClosedForm::Of::step, "(P-1)(F+B)", (of.P - 1) * (of.F + of.B));
  return steady_latency(form, of).holds("min(P-r, M) on rank r", std::min(of.P, of.M)).finish(of, true);
}

}  // namespace

extern const Schedule one_f_one_b_schedule = {
    .name = "1f1b",
    .summary = "one forward, one backward in the steady state",
    .placement = StagePlacement::linear,
    .usual_chunks = 1,
    .order = one_f_one_b_order,
    .closed_form = form,
};

}  // namespace lockstep::workloads
