#include "workloads/pipeline/schedules/closed_form_private.hpp"
#include "workloads/pipeline/schedules/v_pattern.hpp"

namespace lockstep::workloads {
namespace {

/// A microbatch goes down the V at one rank per two slots and comes back at one rank per slot, so that its two
/// chunks on a rank together are held for about half of 1F1B's time.
PipelineOrder v_half_order(const ScheduleRequest& request) {
  const auto ranks = request.ranks;
  const auto turn = ranks % 2 == 0 ? 3 : 0;  // for even P the second and the last would meet
  std::vector<VPattern> pattern;
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    pattern.push_back({2 * rank, 3 * ranks - rank - 2, 3 * ranks + turn + 2 * rank - 1, 6 * ranks + turn - rank - 2});
  }
  return order_from_pattern(request, pattern);
}

/// The idle time that the pattern of one microbatch leaves if every slot takes the same time.
std::optional<ClosedForm> form(const FormLetters& of) {
  const bool even = divides(2, of.P);
  return Form(ClosedForm::Of::step, even ? "(3P-7)F" : "(3P-4)F", (3 * of.P - (even ? 7 : 4)) * of.F)
      .needs("F = I = W", all_alike(of))
      .needs("P >= 3", of.P >= 3)
      .needs("M >= 2P", of.M >= 2 * of.P)
      .holds(even ? "(P+2)/2" : "(P+1)/2", (of.P + (even ? 2 : 1)) / 2)
      .note("P even: 3P-7, odd: 3P-4; longer where F, I, W differ")
      .finish(of, false);
}

}  // namespace

extern const Schedule v_half_schedule = {
    .name = "v-half",
    .summary = "V with half the activation memory of 1F1B",
    .placement = StagePlacement::v,
    .usual_chunks = 2,
    .splits_backward = true,
    .own_rule = long_search_rule,
    .order = v_half_order,
    .closed_form = form,
};

}  // namespace lockstep::workloads
