#include <algorithm>
#include <array>

#include "workloads/pipeline/schedules/closed_form_private.hpp"
#include "workloads/pipeline/schedules/v_shape.hpp"

namespace lockstep::workloads {
namespace {

using enum PipelineWork;

constexpr std::int64_t most_actions = 50'000'000;

/// Writes a rank's cells: every work on every chunk takes its microbatches in turn. Microbatches that only pad
/// the order are counted but not written.
class RankOfV {
 public:
  RankOfV(const PipelineShape& shape, std::int32_t rank, PipelineCells& cells)
      : shape_(shape), rank_(rank), cells_(cells) {}

  void add(PipelineWork work, std::size_t chunk) {
    const auto microbatch = next_[chunk][work]++;
    if (microbatch < shape_.microbatches) cells_.push_back({{work, v_stage(shape_, rank_, chunk), microbatch}, {}});
  }
  void add_split_backward(std::size_t chunk) {
    add(input_gradient, chunk);
    add(weight_gradient, chunk);
  }
  [[nodiscard]] std::int32_t done(PipelineWork work, std::size_t chunk) const { return next_[chunk][work]; }

 private:
  const PipelineShape& shape_;
  std::int32_t rank_;
  PipelineCells& cells_;
  std::array<IndexedArray<PipelineWork, MicrobatchId, 4>, 2> next_{};
};

/// `padded` microbatches, at least the 2P - 1 that fill the V.
void order_rank(RankOfV& rank, std::int32_t above, std::int32_t below, std::int32_t padded) {
  // Warm-up: as many forwards as it takes until the first comes back up the V.
  for (std::int32_t i = 0; i < 2 * below - 1; ++i) rank.add(forward, 0);
  for (std::int32_t i = 0; i < above; ++i) {
    rank.add(forward, 1);
    rank.add(forward, 0);
  }
  for (std::int32_t i = 0; i < below; ++i) {
    rank.add(forward, 1);
    rank.add_split_backward(1);
  }
  // Steady state: three actions on each arm, W at once.
  while (rank.done(forward, 1) < rank.done(forward, 0) || rank.done(forward, 0) < padded) {
    if (rank.done(forward, 0) < padded) rank.add(forward, 0);
    rank.add_split_backward(0);
    rank.add(forward, 1);
    rank.add_split_backward(1);
  }
  // Cool-down: input gradients first, others wait for them.
  for (std::int32_t i = 0; i < above; ++i) {
    rank.add(input_gradient, 0);
    rank.add(input_gradient, 1);
  }
  for (std::int32_t i = 0; i < below; ++i) rank.add_split_backward(0);
  for (const std::size_t chunk : {1U, 0U}) {
    while (rank.done(weight_gradient, chunk) < rank.done(input_gradient, chunk)) rank.add(weight_gradient, chunk);
  }
}

std::int32_t padded_microbatches(const ScheduleRequest& request) {
  return std::max(2 * request.ranks - 1, request.microbatches);
}

std::optional<ScheduleProblem> zb_v_rule(const ScheduleRequest& request) {
  if (padded_microbatches(request) <= most_actions / (std::int64_t{6} * request.ranks)) return {};
  return ScheduleProblem{"stages",
                         "zb-v fills " + std::to_string(request.ranks) +
                             " stages with at least 2P - 1 microbatches, more than " + std::to_string(most_actions) +
                             " actions",
                         "fewer stages or microbatches"};
}

/// The hand-made ZB-V of the zero-bubble paper as PyTorch runs it. With fewer than 2P - 1 microbatches it is the
/// order of 2P - 1, without the missing ones.
PipelineOrder zb_v_order(const ScheduleRequest& request) {
  auto order = empty_v_order(request);
  const auto ranks = request.ranks;
  const auto padded = padded_microbatches(request);
  for (std::int32_t r = 0; r < ranks; ++r) {
    RankOfV rank(order.shape, r, order.ranks[r]);
    order_rank(rank, r, ranks - r, padded);
  }
  return order;
}

std::optional<ClosedForm> form(const FormLetters& of) {
  return nothing_in_span(of, 2 * of.P - 1, "M >= 2P-1").holds("min(P, M)", std::min(of.P, of.M)).finish(of, false);
}

}  // namespace

extern const Schedule zb_v_schedule = {
    .name = "zb-v",
    .summary = "zero bubble on a V of two chunks (PyTorch)",
    .placement = StagePlacement::v,
    .usual_chunks = 2,
    .splits_backward = true,
    .own_rule = zb_v_rule,
    .order = zb_v_order,
    .closed_form = form,
};

}  // namespace lockstep::workloads
