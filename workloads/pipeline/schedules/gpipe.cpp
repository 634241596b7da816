#include "workloads/pipeline/schedules/closed_form_private.hpp"
#include "workloads/pipeline/schedules/interleaving.hpp"
#include "workloads/pipeline/schedules/schedules_private.hpp"

namespace lockstep::workloads {
namespace {

PipelineOrder gpipe_order(const ScheduleRequest& request) {
  auto order = empty_order(request, StagePlacement::linear, 1);
  for (std::int32_t rank = 0; rank < request.ranks; ++rank) {
    auto& cells = order.ranks[rank];
    for (const auto work : {PipelineWork::forward, PipelineWork::backward}) {
      for (std::int32_t m = 0; m < request.microbatches; ++m) append(cells, PipelineAction{work, rank, m});
    }
  }
  return order;
}

std::optional<ClosedForm> form(const FormLetters& of) {
  return Form(ClosedForm::Of::step, "(P-1)(F+B)", (of.P - 1) * (of.F + of.B))
      .latency("2(P-1)c", 2 * (of.P - 1) * of.c)
      .holds("M", of.M)
      .finish(of, true);
}

}  // namespace

extern const Schedule gpipe_schedule = {
    .name = "gpipe",
    .summary = "all forwards, then all backwards",
    .placement = StagePlacement::linear,
    .usual_chunks = 1,
    .order = gpipe_order,
    .closed_form = form,
};

}  // namespace lockstep::workloads
