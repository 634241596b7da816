#include "workloads/pipeline/schedules/closed_form_private.hpp"
#include "workloads/pipeline/schedules/interleaving.hpp"
#include "workloads/pipeline/schedules/schedules_private.hpp"

namespace lockstep::workloads {
namespace {

/// Megatron's: P divides M, unless a group size is named.
std::optional<ScheduleProblem> overlap_1f1b_rule(const ScheduleRequest& request) {
  if (request.ranks > 1 && *request.chunks < 2) {
    return ScheduleProblem{"chunks", "one chunk per rank leaves no interleaving to overlap in",
                           "at least 2 chunks with more than one stage"};
  }
  if (request.group) return named_group_rule(request);
  if (request.microbatches % request.ranks == 0) return {};
  return ScheduleProblem{
      "microbatches",
      std::to_string(request.microbatches) + " is not a multiple of the " + std::to_string(request.ranks) + " stages",
      "a multiple of the stages, or a group size that allows another number"};
}

PipelineOrder overlap_1f1b_order(const ScheduleRequest& request) {
  const auto group = group_of(request);
  auto order = empty_order(request, StagePlacement::loop, *request.chunks);
  const InterleavedPasses passes(order.shape, group);
  for (std::int32_t rank = 0; rank < request.ranks; ++rank) {
    auto& cells = order.ranks[rank];
    // One forward more than interleaved 1F1B: neither half of a pair may wait for the other.
    const auto warm_up = passes.at_most_all((order.shape.chunks - 1) * group + 2 * (request.ranks - 1 - rank) + 1);
    for (std::int32_t pass = 0; pass < passes.count() + warm_up; ++pass) {
      const auto ahead = passes.forward(rank, pass);
      const auto back = passes.backward(PipelineWork::backward, rank, pass - warm_up);
      if (ahead && back) {
        cells.push_back({*ahead, back});
      } else {
        append(cells, ahead);
        append(cells, back);
      }
    }
  }
  return order;
}

std::optional<ClosedForm> form(const FormLetters& of) {
  auto form = interleaved_bubble(of);
  return overlapping(form, of)
      .holds("min(M, ((V-1)N + 2(P-1-r) + 2)/V) on rank r", interleaved_activations(of, 1))
      .note("F&B is a pair; what latency adds grows with M")
      .finish(of, true);
}

}  // namespace

extern const Schedule overlap_1f1b_schedule = {
    .name = "overlap-1f1b",
    .summary = "interleaved 1F1B with forwards overlapped with backwards (Megatron, expert parallelism)",
    .placement = StagePlacement::loop,
    .usual_chunks = 2,
    .overlaps = true,
    .takes_group = true,
    .own_rule = overlap_1f1b_rule,
    .order = overlap_1f1b_order,
    .closed_form = form,
};

}  // namespace lockstep::workloads
