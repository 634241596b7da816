#include "workloads/pipeline/schedules/closed_form_private.hpp"
#include "workloads/pipeline/schedules/interleaving.hpp"
#include "workloads/pipeline/schedules/schedules_private.hpp"

namespace lockstep::workloads {
namespace {

/// Megatron's rule for a group size that is named, PyTorch's for the one that follows from P and M.
std::optional<ScheduleProblem> interleaved_rule(const ScheduleRequest& request) {
  auto problem = request.group ? named_group_rule(request) : equal_rounds_rule(request);
  if (problem && !request.group) problem->expected += ", or a group size that allows another number";
  return problem;
}

PipelineOrder interleaved_order(const ScheduleRequest& request) {
  const auto group = group_of(request);
  auto order = empty_order(request, StagePlacement::loop, *request.chunks);
  const InterleavedPasses passes(order.shape, group);
  for (std::int32_t rank = 0; rank < request.ranks; ++rank) {
    auto& cells = order.ranks[rank];
    // A group through all chunks but the last, then a hop to the last rank and back.
    const auto warm_up = passes.at_most_all((order.shape.chunks - 1) * group + 2 * (request.ranks - 1 - rank));
    for (std::int32_t pass = 0; pass < passes.count() + warm_up; ++pass) {
      append(cells, passes.forward(rank, pass));
      append(cells, passes.backward(PipelineWork::backward, rank, pass - warm_up));
    }
  }
  return order;
}

std::optional<ClosedForm> form(const FormLetters& of) {
  auto form = interleaved_bubble(of);
  const double shorter = std::min(of.F, of.B);
  if (of.N == of.P || of.P == 1) {
    const double trips = of.P > 1 ? 2 * (of.P * of.V - 1) : 0;
    form.latency("2(PV-1)c", trips * of.c, "c <= F/V and c <= B/V", at_most(of.c, shorter));
  } else {
    form.latency("2(P-1)c", 2 * (of.P - 1) * of.c, "N >= 2P, N divides M, c <= F/V and c <= B/V",
                 of.N >= 2 * of.P && divides(of.N, of.M) && at_most(of.c, shorter));
  }
  return form.holds("min(M, ((V-1)N + 2(P-1-r) + 1)/V) on rank r", interleaved_activations(of, 0)).finish(of, true);
}

}  // namespace

extern const Schedule interleaved_schedule = {
    .name = "interleaved",
    .summary = "1F1B over several chunks per rank (Megatron)",
    .placement = StagePlacement::loop,
    .usual_chunks = 2,
    .takes_group = true,
    .own_rule = interleaved_rule,
    .order = interleaved_order,
    .closed_form = form,
};

}  // namespace lockstep::workloads
