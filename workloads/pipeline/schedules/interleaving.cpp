#include "workloads/pipeline/schedules/interleaving.hpp"

#include <algorithm>

#include "workloads/pipeline/schedules/schedules_private.hpp"

namespace lockstep::workloads {

std::optional<InterleavedPasses::Pass> InterleavedPasses::at(std::int32_t pass) const {
  if (pass < 0 || pass >= count()) return std::nullopt;
  const auto first = pass / (group_ * shape_.chunks) * group_;
  const auto size = std::min(group_, shape_.microbatches - first);
  const auto within = pass - first * shape_.chunks;
  return Pass{within / size, first + within % size};
}

std::optional<PipelineAction> InterleavedPasses::forward(std::int32_t rank, std::int32_t pass) const {
  const auto found = at(pass);
  if (!found) return std::nullopt;
  return PipelineAction{PipelineWork::forward, found->chunk * shape_.ranks + rank, found->microbatch};
}

std::optional<PipelineAction> InterleavedPasses::backward(PipelineWork work, std::int32_t rank,
                                                          std::int32_t pass) const {
  const auto found = at(pass);
  if (!found) return std::nullopt;
  const auto slice = shape_.slice_of(found->microbatch);
  const auto last_first = found->microbatch - slice + (shape_.slices - 1 - slice);
  return PipelineAction{work, (shape_.chunks - 1 - found->chunk) * shape_.ranks + rank, last_first};
}

void append(PipelineCells& cells, const std::optional<PipelineAction>& action) {
  if (action) cells.push_back({*action, std::nullopt});
}

namespace {

std::string text(std::int32_t number) { return std::to_string(number); }
std::int32_t rounds_of(const ScheduleRequest& request) { return std::max(1, request.microbatches / request.ranks); }

}  // namespace

std::int32_t group_of(const ScheduleRequest& request) {
  return request.group.value_or(request.microbatches / rounds_of(request));
}

std::optional<ScheduleProblem> named_group_rule(const ScheduleRequest& request) {
  const auto ranks = request.ranks, microbatches = request.microbatches, group = *request.group;
  if (group < ranks || group > microbatches) {
    return ScheduleProblem{
        "group", text(group) + " is out of range",
        "a number from " + text(ranks) + " (the stages) to " + text(microbatches) + " (the microbatches)"};
  }
  const auto rest = microbatches % group;
  if (rest == 0 || rest >= ranks) return {};
  return ScheduleProblem{"group",
                         "groups of " + text(group) + " leave " + text(rest) + " of " + text(microbatches) +
                             " microbatches for the last group",
                         "a last group of at least " + text(ranks) + " (the stages), or none left"};
}

/// The rule of PyTorch (torch.distributed.pipelining, ScheduleInterleaved1F1B and ScheduleInterleavedZeroBubble):
/// microbatches go in rounds, as many as P goes into M, at least one; rounds are equal.
std::optional<ScheduleProblem> equal_rounds_rule(const ScheduleRequest& request) {
  const auto rounds = rounds_of(request);
  if (request.microbatches % rounds == 0) return {};
  return ScheduleProblem{"microbatches",
                         text(request.microbatches) + " cannot go in " + text(rounds) +
                             " equal rounds (microbatches / stages, rounded down)",
                         "a multiple of the rounds, as every multiple of the " + text(request.ranks) + " stages is"};
}

PipelineOrder sliced_order(const ScheduleRequest& request, StagePlacement placement) {
  auto order = empty_order(request, placement, *request.chunks);
  const auto& shape = order.shape;
  const bool loops = placement == StagePlacement::loop;
  const InterleavedPasses passes(shape, loops ? shape.ranks : shape.microbatches);
  for (std::int32_t rank = 0; rank < shape.ranks; ++rank) {
    auto& cells = order.ranks[rank];
    const auto hops = shape.ranks - 1 - rank;
    const auto of_1f1b = loops ? (shape.chunks - 1) * shape.ranks + 2 * hops : hops;
    // The first backward is of the last slice of a microbatch, whose other slices go before it.
    const auto warm_up = passes.at_most_all(of_1f1b + shape.slices - 1);
    for (std::int32_t pass = 0; pass < passes.count() + warm_up; ++pass) {
      append(cells, passes.forward(rank, pass));
      append(cells, passes.backward(PipelineWork::backward, rank, pass - warm_up));
    }
  }
  return order;
}

PipelineOrder split_interleaved_order(const ScheduleRequest& request, StagePlacement placement) {
  const auto group = group_of(request);
  auto order = empty_order(request, placement, *request.chunks);
  const InterleavedPasses passes(order.shape, group);
  for (std::int32_t rank = 0; rank < request.ranks; ++rank) {
    auto& cells = order.ranks[rank];
    // One pass per hop to the last rank, half of interleaved 1F1B's; weight gradients trail by one per hop from the
    // first rank, so all ranks run as many passes.
    const auto warm_up = passes.at_most_all((order.shape.chunks - 1) * group + (request.ranks - 1 - rank));
    const auto weight_lag = warm_up + passes.at_most_all(rank);
    for (std::int32_t pass = 0; pass < passes.count() + weight_lag; ++pass) {
      append(cells, passes.forward(rank, pass));
      append(cells, passes.backward(PipelineWork::input_gradient, rank, pass - warm_up));
      append(cells, passes.backward(PipelineWork::weight_gradient, rank, pass - weight_lag));
    }
  }
  return order;
}

}  // namespace lockstep::workloads
