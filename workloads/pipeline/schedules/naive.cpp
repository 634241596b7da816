#include "workloads/pipeline/schedules/closed_form_private.hpp"
#include "workloads/pipeline/schedules/interleaving.hpp"
#include "workloads/pipeline/schedules/schedules_private.hpp"

namespace lockstep::workloads {
namespace {

PipelineOrder naive_order(const ScheduleRequest& request) {
  auto order = empty_order(request, StagePlacement::linear, 1);
  for (std::int32_t rank = 0; rank < request.ranks; ++rank) {
    auto& cells = order.ranks[rank];
    for (std::int32_t m = 0; m < request.microbatches; ++m) {
      append(cells, PipelineAction{PipelineWork::forward, rank, m});
      append(cells, PipelineAction{PipelineWork::backward, rank, m});
    }
  }
  return order;
}

std::optional<ClosedForm> form(const FormLetters& of) {
  return Form(ClosedForm::Of::step, "(P-1)M(F+B)", (of.P - 1) * of.M * (of.F + of.B))
      .latency("2(P-1)Mc", 2 * (of.P - 1) * of.M * of.c)
      .holds("1", 1)
      .finish(of, true);
}

}  // namespace

extern const Schedule naive_schedule = {
    .name = "naive",
    .summary = "one microbatch at a time through all stages",
    .placement = StagePlacement::linear,
    .usual_chunks = 1,
    .order = naive_order,
    .closed_form = form,
};

}  // namespace lockstep::workloads
