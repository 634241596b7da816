#include <algorithm>

#include "workloads/pipeline/schedules/closed_form_private.hpp"
#include "workloads/pipeline/schedules/interleaving.hpp"
#include "workloads/pipeline/schedules/schedules_private.hpp"

namespace lockstep::workloads {
namespace {

/// The authors' light version. The first `rank` backwards leave their weight gradient for the end, last in first out;
/// later ones are whole, and split only once the forwards are over, when the rank before waits for them.
PipelineOrder zb_h1_order(const ScheduleRequest& request) {
  using enum PipelineWork;
  auto order = empty_order(request, StagePlacement::linear, 1);
  const auto microbatches = request.microbatches;
  for (std::int32_t rank = 0; rank < request.ranks; ++rank) {
    auto& cells = order.ranks[rank];
    const auto warm_up = std::min(request.ranks - 1 - rank, microbatches);
    for (std::int32_t step = 0; step < microbatches + warm_up; ++step) {
      if (step < microbatches) append(cells, PipelineAction{forward, rank, step});
      const auto m = step - warm_up;
      if (m < 0) continue;
      const bool forwards_left = step + 1 < microbatches;
      if (m >= rank && (forwards_left || rank == 0)) {
        append(cells, PipelineAction{backward, rank, m});
        continue;
      }
      append(cells, PipelineAction{input_gradient, rank, m});
      if (m >= rank) append(cells, PipelineAction{weight_gradient, rank, m});
    }
    for (auto m = std::min(rank, microbatches); m-- > 0;) append(cells, PipelineAction{weight_gradient, rank, m});
  }
  return order;
}

std::optional<ClosedForm> form(const FormLetters& of) {
  Form form(ClosedForm::Of::step, "(P-1)(F+I-W)", (of.P - 1) * (of.F + of.I - of.W));
  form.needs("W <= F", at_most(of.W, of.F)).needs("W <= I", at_most(of.W, of.I)).needs("M >= P", of.M >= of.P);
  return steady_latency(form, of)
      .holds("min(P, M) until the weight gradient, P-r until the input gradient", std::min(of.P, of.M))
      .note("DeepSeek writes it (P-1)(F+B-2W) and calls it ZB1P; zero-bubble papers write B for I")
      .finish(of, true);
}

}  // namespace

extern const Schedule zb_h1_schedule = {
    .name = "zb-h1",
    .summary = "zero bubble H1: weight gradients fill the drain, memory of 1F1B",
    .placement = StagePlacement::linear,
    .usual_chunks = 1,
    .splits_backward = true,
    .order = zb_h1_order,
    .closed_form = form,
};

}  // namespace lockstep::workloads
