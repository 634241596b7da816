#include <cmath>

#include "workloads/pipeline/schedules/closed_form_private.hpp"
#include "workloads/pipeline/schedules/v_pattern.hpp"

namespace lockstep::workloads {
namespace {

/// A microbatch never waits: one rank per slot, down, up, down and up the V.
PipelineOrder v_min_order(const ScheduleRequest& request) {
  const auto ranks = request.ranks;
  const auto turn = ranks % 3 == 0 ? 2 : 0;  // else gradients would meet forwards
  std::vector<VPattern> pattern;
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    pattern.push_back({rank, 2 * ranks - rank - 1, 2 * ranks + turn + rank, 4 * ranks + turn - rank - 1});
  }
  return order_from_pattern(request, pattern);
}

std::optional<ClosedForm> form(const FormLetters& of) {
  const bool threes = divides(3, of.P);
  return Form(ClosedForm::Of::step, threes ? "(4P-7)F" : "(4P-5)F", (4 * of.P - (threes ? 7 : 5)) * of.F)
      .needs("F = I = W", all_alike(of))
      .needs("P >= 2", of.P >= 2)
      .needs("M >= 2P", of.M >= 2 * of.P)
      .holds("ceil((P-1)/3) + 1", std::ceil((of.P - 1) / 3) + 1)
      .note("3 divides P: 4P-7, otherwise 4P-5; grows with M where F, I, W differ")
      .finish(of, false);
}

}  // namespace

extern const Schedule v_min_schedule = {
    .name = "v-min",
    .summary = "V with the least activation memory, a third of 1F1B's",
    .placement = StagePlacement::v,
    .usual_chunks = 2,
    .splits_backward = true,
    .own_rule = long_search_rule,
    .order = v_min_order,
    .closed_form = form,
};

}  // namespace lockstep::workloads
