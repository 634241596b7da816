#include "workloads/pipeline/schedules/closed_form_private.hpp"
#include "workloads/pipeline/schedules/interleaving.hpp"
#include "workloads/pipeline/schedules/schedules_private.hpp"

namespace lockstep::workloads {
namespace {

PipelineOrder breadth_first_order(const ScheduleRequest& request) {
  auto order = empty_order(request, StagePlacement::loop, *request.chunks);
  const auto chunks = order.shape.chunks;
  const auto microbatches = request.microbatches;
  for (std::int32_t rank = 0; rank < request.ranks; ++rank) {
    auto& cells = order.ranks[rank];
    for (std::int32_t chunk = 0; chunk < chunks; ++chunk) {
      for (std::int32_t m = 0; m < microbatches; ++m) {
        append(cells, PipelineAction{PipelineWork::forward, chunk * request.ranks + rank, m});
      }
    }
    // Backwards mirror the forwards, the last microbatch first.
    for (auto chunk = chunks; chunk-- > 0;) {
      for (auto m = microbatches; m-- > 0;) {
        append(cells, PipelineAction{PipelineWork::backward, chunk * request.ranks + rank, m});
      }
    }
  }
  return order;
}

std::optional<ClosedForm> form(const FormLetters& of) {
  Form form(ClosedForm::Of::step, "(P-1)(F+B)/V", (of.P - 1) * (of.F + of.B));
  form.needs("M >= P", of.M >= of.P);
  if (of.M == of.P && of.P > 1) {
    form.latency("2(PV-1)c", 2 * (of.P * of.V - 1) * of.c);
  } else {
    const double spare = (of.M / of.P - 1) * std::min(of.F, of.B);
    form.latency("2(P-1)c", 2 * (of.P - 1) * of.c, "c <= (M/P-1)F/V and c <= (M/P-1)B/V",
                 of.P == 1 || at_most(of.c, spare));
  }
  return form.holds("M", of.M).finish(of, true);
}

}  // namespace

extern const Schedule breadth_first_schedule = {
    .name = "bfs",
    .summary = "looped breadth-first: every chunk does all its microbatches",
    .placement = StagePlacement::loop,
    .usual_chunks = 2,
    .order = breadth_first_order,
    .closed_form = form,
};

}  // namespace lockstep::workloads
