#include <utility>

#include "workloads/pipeline/schedules/closed_form_private.hpp"
#include "workloads/pipeline/schedules/dualpipe_steps.hpp"
#include "workloads/pipeline/schedules/schedules_private.hpp"

namespace lockstep::workloads {
namespace {

std::optional<ScheduleProblem> dualpipe_rule(const ScheduleRequest& request) {
  if (request.ranks % 2 != 0) {
    return ScheduleProblem{"stages", "dualpipe on " + std::to_string(request.ranks) + " ranks",
                           "an even number of ranks: both directions meet between two of them"};
  }
  const auto microbatches = std::to_string(request.microbatches) + " microbatches";
  if (request.microbatches % 2 != 0) {
    return ScheduleProblem{"microbatches", "dualpipe with " + microbatches,
                           "an even number of microbatches: half of them enters at each end"};
  }
  if (request.microbatches >= 2 * request.ranks) return {};
  return ScheduleProblem{"microbatches",
                         "dualpipe with " + microbatches + " on " + std::to_string(request.ranks) + " ranks",
                         "at least 2P = " + std::to_string(2 * request.ranks) + " microbatches"};
}

PipelineOrder dualpipe_order(const ScheduleRequest& request) {
  auto order = empty_order(request, StagePlacement::bidirectional, 1);
  const auto last = request.ranks - 1;
  const auto half = request.microbatches / 2;
  for (std::int32_t rank = 0; rank <= last; ++rank) {
    DualPipeStream near{rank, 0}, far{last - rank, half};  // of the end that the rank is near to, and of the other end
    const bool second_half = rank > last / 2;
    if (second_half) std::swap(near, far);
    order.ranks[rank] = dualpipe_cells(request.ranks / 2, second_half ? last - rank : rank, half, {{near, far}});
  }
  return order;
}

std::optional<ClosedForm> form(const FormLetters& of) {
  return dual_bubble(of, of.P / 2, "(P/2-1)")
      .needs("P even", divides(2, of.P))
      .holds("P+1", of.P + 1)
      .finish(of, false);
}

}  // namespace

extern const Schedule dualpipe_schedule = {
    .name = "dualpipe",
    .summary = "DualPipe: microbatches from both ends, forwards overlapped with backwards",
    .placement = StagePlacement::bidirectional,
    .usual_chunks = 1,
    .splits_backward = true,
    .overlaps = true,
    .own_rule = dualpipe_rule,
    .order = dualpipe_order,
    .closed_form = form,
};

}  // namespace lockstep::workloads
