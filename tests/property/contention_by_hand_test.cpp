// Two collectives that share links, by hand with max-min fairness. B = 8192 tokens, D = 4096, F = 16384, bf16.
//   AllGather_tensor In:  V = (B/2) D 2 B = B D = 33.55e6 B on a pair; each direction carries V/2 = t.
//   AllGather_fsdp Win Wout: V = 2 D (F/2) 2 B = 2 D F = 134.2e6 B on a pair.
// A collective's bytes flow when its latency is over: 1 us for the tensor pair (one link apart), 2 us for the
// fsdp pair (two links apart). W is one link, one way.
#include <gtest/gtest.h>

#include "tests/property/simulated_step.hpp"

namespace lockstep {
namespace {

using test::Case;
using test::SimulatedStep;

constexpr double us = 1e-6;
constexpr double tokens = 8192, d_model = 4096, d_ff = 16384;
constexpr double t = tokens * d_model / 2;
constexpr double gathered_weights = 2 * d_model * d_ff;

std::int32_t first_on(const SimulatedStep& step, const std::string& axis) {
  for (std::int32_t op = 0; op < step.simgrid.ops(); ++op) {
    const auto& vertex = step.preparation.step.op(op);
    if (vertex->kind == workloads::StepOp::Kind::collective && vertex->axes == workloads::AxisNames{axis}) return op;
  }
  return -1;
}

void expect_span(const timeline::Timeline& timeline, std::int32_t op, double end) {
  for (std::int32_t rank = 0; rank < timeline.ranks(); ++rank) {
    EXPECT_DOUBLE_EQ(timeline.span(op, rank).start.value(), 0);
    EXPECT_NEAR(timeline.span(op, rank).end.value() / end, 1, 1e-9) << "rank " << rank;
  }
}

// A ring of four (W = 9e10). An fsdp pair is a ring of two over all four links, half of its shard each way:
// f = V/4, and both fsdp rings cross every link. The tensor pair has its link to itself for 1 us, then three
// flows share it at W/3 until the tensor gather ends:
//   T = 2 us + 3 (t - W 1us) / W;   the fsdp flows then go on at W/2:   F = T + 2 (f - (t - W 1us)) / W.
TEST(ContentionByHand, OnARing) {
  constexpr double W = 9e10;
  constexpr double f = gathered_weights / 4;
  constexpr double left = t - W * us;
  constexpr double tensor_end = 2 * us + 3 * left / W;
  constexpr double fsdp_end = tensor_end + 2 * (f - left) / W;
  const SimulatedStep step(Case{"validation_shared_axis.yaml", {}}.load());
  expect_span(step.simgrid, first_on(step, "tensor"), tensor_end);
  expect_span(step.simgrid, first_on(step, "fsdp"), fsdp_end);
}

// Without contention from the other axis: t/W + 1 us, and for two fsdp rings on each link f/(W/2) + 2 us.
TEST(ContentionByHand, OnARingTheClosedFormsKnowOnlyTheirOwnSiblings) {
  constexpr double W = 9e10;
  const SimulatedStep step(Case{"validation_shared_axis.yaml", {}}.load());
  expect_span(step.reference, first_on(step, "tensor"), us + t / W);
  expect_span(step.reference, first_on(step, "fsdp"), 2 * us + 2 * (gathered_weights / 4) / W);
}

// A line of four (v5e, W = 4.5e10). One way the links carry: 0>1 tensor and fsdp (0 2); 1>2 both fsdp pairs;
// 2>3 fsdp (1 3) and tensor. Two flows everywhere, so W/2 each, before and after the tensor gather:
//   T = 2 us + 2 (t - W 1us) / W;   F = 2 us + 2 f / W with f = V/2: fsdp does not even notice.
TEST(ContentionByHand, OnALine) {
  constexpr double W = 4.5e10;
  constexpr double f = gathered_weights / 2;
  const SimulatedStep step(Case{"validation_shared_axis.yaml", {{"cluster", "tpu-v5e:4"}}}.load());
  expect_span(step.simgrid, first_on(step, "tensor"), 2 * us + 2 * (t - W * us) / W);
  expect_span(step.simgrid, first_on(step, "fsdp"), 2 * us + 2 * f / W);
  expect_span(step.reference, first_on(step, "tensor"), us + t / W);
  expect_span(step.reference, first_on(step, "fsdp"), 2 * us + 2 * f / W);
}

// The first product needs both gathers, and its time is B/2 D F/2 2 / C = B D F / (2 C).
TEST(ContentionByHand, TheProductWaitsForBoth) {
  const SimulatedStep step(Case{"validation_shared_axis.yaml", {}}.load());
  std::int32_t product = 0;
  while (step.program.ops[static_cast<std::size_t>(product)].kind != program::ProgramOp::Kind::compute) ++product;
  const auto span = step.simgrid.span(product, 0);
  EXPECT_EQ(span.start, step.simgrid.span(first_on(step, "fsdp"), 0).end);
  EXPECT_NEAR((span.end - span.start).value(), tokens * d_model * d_ff / 2 / 4.59e14, 1e-12);
}

}  // namespace
}  // namespace lockstep
