#include "workloads/pipeline/schedules/closed_form_private.hpp"
#include "workloads/pipeline/schedules/interleaving.hpp"
#include "workloads/pipeline/schedules/schedules_private.hpp"

namespace lockstep::workloads {
namespace {

PipelineOrder interleaved_zb_order(const ScheduleRequest& request) {
  return split_interleaved_order(request, StagePlacement::loop);
}

std::optional<ClosedForm> form(const FormLetters& of) {
  const double trips = of.P > 1 ? of.P * of.V + 3 * of.P - 4 : 0;
  return Form(ClosedForm::Of::step, "(P-1)(F+I-W)/V", (of.P - 1) * (of.F + of.I - of.W))
      .needs("W <= F", at_most(of.W, of.F))
      .needs("W <= I", at_most(of.W, of.I))
      .needs("P divides M", divides(of.P, of.M))
      .latency("(PV+3P-4)c", trips * of.c, "M >= 2P, c <= W/2V", of.M >= 2 * of.P && at_most(of.c, of.W / 2))
      .holds("P", of.P)
      .note("zero-bubble papers write B for I")
      .finish(of, true);
}

}  // namespace

extern const Schedule interleaved_zb_schedule = {
    .name = "interleaved-zb",
    .summary = "interleaved 1F1B with split backward",
    .placement = StagePlacement::loop,
    .usual_chunks = 2,
    .splits_backward = true,
    .own_rule = equal_rounds_rule,
    .order = interleaved_zb_order,
    .closed_form = form,
};

}  // namespace lockstep::workloads
