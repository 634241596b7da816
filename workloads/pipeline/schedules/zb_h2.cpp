#include "workloads/pipeline/schedules/closed_form_private.hpp"
#include "workloads/pipeline/schedules/interleaving.hpp"
#include "workloads/pipeline/schedules/schedules_private.hpp"

namespace lockstep::workloads {
namespace {

PipelineOrder zb_h2_order(const ScheduleRequest& request) {
  auto order = empty_order(request, StagePlacement::linear, 1);
  const InterleavedPasses passes(order.shape, request.microbatches);
  for (std::int32_t rank = 0; rank < request.ranks; ++rank) {
    auto& cells = order.ranks[rank];
    // Two passes per hop to the last rank, twice 1F1B's; weight gradients trail by two per hop from the first rank, so
    // all ranks run as many passes.
    const auto warm_up = passes.at_most_all(2 * (request.ranks - 1 - rank));
    const auto weight_lag = warm_up + passes.at_most_all(2 * rank);
    for (std::int32_t pass = 0; pass < passes.count() + weight_lag; ++pass) {
      append(cells, passes.forward(rank, pass));
      append(cells, passes.backward(PipelineWork::input_gradient, rank, pass - warm_up));
      append(cells, passes.backward(PipelineWork::weight_gradient, rank, pass - weight_lag));
    }
  }
  return order;
}

std::optional<ClosedForm> form(const FormLetters& of) {
  return Form(ClosedForm::Of::span, "(P-1)(F+I-2W)", (of.P - 1) * (of.F + of.I - 2 * of.W))
      .needs("W <= F", at_most(of.W, of.F))
      .needs("W <= I", at_most(of.W, of.I))
      .needs("M >= 2P-1", of.M >= 2 * of.P - 1)
      .latency("2(P-1)c", 2 * (of.P - 1) * of.c, "c <= F, c <= I", at_most(of.c, of.least()))
      .holds("min(2P-1, M)", std::min(2 * of.P - 1, of.M))
      .note(
          "a bubble of the span; with an optimizer barrier the step keeps at least (P-1)F. Zero-bubble papers write B "
          "for I")
      .finish(of, true);
}

}  // namespace

extern const Schedule zb_h2_schedule = {
    .name = "zb-h2",
    .summary = "zero bubble H2: twice the memory, no bubble within a rank's span",
    .placement = StagePlacement::linear,
    .usual_chunks = 1,
    .splits_backward = true,
    .order = zb_h2_order,
    .closed_form = form,
};

}  // namespace lockstep::workloads
