#include <algorithm>

#include "workloads/pipeline/schedules/closed_form_private.hpp"
#include "workloads/pipeline/schedules/interleaving.hpp"
#include "workloads/pipeline/schedules/schedules_private.hpp"

namespace lockstep::workloads {
namespace {

PipelineOrder zb_1p_order(const ScheduleRequest& request) {
  return split_interleaved_order(request, StagePlacement::linear);
}

std::optional<ClosedForm> form(const FormLetters& of) {
  return Form(ClosedForm::Of::step, "(P-1)(F+I-W)", (of.P - 1) * (of.F + of.I - of.W))
      .needs("W <= F", at_most(of.W, of.F))
      .needs("W <= I", at_most(of.W, of.I))
      .needs("M >= P", of.M >= of.P)
      .latency("4(P-1)c", 4 * (of.P - 1) * of.c, "M >= 2P, c <= W/2", of.M >= 2 * of.P && at_most(of.c, of.W / 2))
      .holds("min(P, M)", std::min(of.P, of.M))
      .note("zero-bubble papers write B for I")
      .finish(of, true);
}

}  // namespace

extern const Schedule zb_1p_schedule = {
    .name = "zb-1p",
    .summary = "zero bubble with at most P microbatches in flight (PyTorch)",
    .placement = StagePlacement::linear,
    .usual_chunks = 1,
    .splits_backward = true,
    .own_rule = equal_rounds_rule,
    .order = zb_1p_order,
    .closed_form = form,
};

}  // namespace lockstep::workloads
