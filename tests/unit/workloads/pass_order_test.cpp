// Passes of a stage one after the other: what waits for the end of the pass before, and what runs beside.
#include <gtest/gtest.h>

#include "tests/unit/workloads/small_models.hpp"
#include "tests/unit/workloads/step_reach.hpp"

namespace lockstep::test {
namespace {

/// Embedding and layer 0 on one stage, layer 1 and head on another.
workloads::StepGraph in_two_stages(const workloads::Parallel& parallel,
                                   std::vector<workloads::PipelineCell> first_stage,
                                   const workloads::StepOptions& options = {}) {
  const auto model = derived(transformer(2), parallel);
  auto pipeline = workloads::single_stage(static_cast<int>(model.order.size()), 2);
  pipeline.first_block = {0, 2, static_cast<int>(model.order.size())};
  pipeline.order.shape.ranks = 2;
  pipeline.order.ranks = {std::move(first_stage), {}};
  for (std::int32_t m = 0; m < 2; ++m) {
    pipeline.order.ranks[1].push_back({{workloads::PipelineWork::forward, 1, m}, {}});
    pipeline.order.ranks[1].push_back({{workloads::PipelineWork::backward, 1, m}, {}});
  }
  return build_step(model.kinds, model.order, pipeline, options);
}

std::vector<workloads::PipelineCell> one_forward_one_backward() {
  return {{{workloads::PipelineWork::forward, 0, 0}, {}},
          {{workloads::PipelineWork::forward, 0, 1}, {}},
          {{workloads::PipelineWork::backward, 0, 0}, {}},
          {{workloads::PipelineWork::backward, 0, 1}, {}}};
}

/// Of a pass itself: it computes, or communicates activations within its stage.
bool belongs(const workloads::StepOp& op) {
  if (op.pass == workloads::StepPass::update || op.other_stage >= 0) return false;
  return op->kind == workloads::StepOp::Kind::compute || op->role == workloads::CollectiveRole::activation;
}

std::vector<workloads::OpId> of_pass(const workloads::StepGraph& graph, std::int32_t stage, workloads::StepPass pass,
                                     std::int32_t microbatch) {
  return all_of(graph, [&](const workloads::StepOp& op) {
    return belongs(op) && op.stage == stage && op.pass == pass && op.microbatch == microbatch;
  });
}

bool every_one_waits(const workloads::StepGraph& graph, const std::vector<workloads::OpId>& later,
                     const std::vector<workloads::OpId>& earlier) {
  EXPECT_FALSE(later.empty() || earlier.empty());
  for (const auto id : later) {
    const auto waited = waited_for(graph, id);
    for (const auto before : earlier) {
      if (!waited[static_cast<std::size_t>(before)]) return false;
    }
  }
  return true;
}

// F0 F1 B0 B1 on the first stage: each pass waits for all of the one before it, collectives of the tensor axis
// included, though B0's own inputs, the gradient that was sent, may have been there since the middle of F1.
TEST(PassOrder, APassStartsWhenTheOneBeforeItHasEnded) {
  const auto graph = in_two_stages(workloads::Parallel{.tensor = 2}, one_forward_one_backward());
  const auto first = of_pass(graph, 0, workloads::StepPass::forward, 0),
             second = of_pass(graph, 0, workloads::StepPass::forward, 1);
  const auto third = of_pass(graph, 0, workloads::StepPass::backward, 0),
             fourth = of_pass(graph, 0, workloads::StepPass::backward, 1);
  EXPECT_TRUE(every_one_waits(graph, second, first));
  EXPECT_TRUE(every_one_waits(graph, third, second));
  EXPECT_TRUE(every_one_waits(graph, fourth, third));
}

// Gradients on their way to the optimizer and gathers of weights run beside: the next pass waits for no reduction (but
// for those that exceed the limit in flight), and its weights come while the pass before it computes.
TEST(PassOrder, WeightsAndGradientsRunBeside) {
  const auto graph = in_two_stages(workloads::Parallel{.fsdp = 2, .tensor = 2}, one_forward_one_backward(),
                                   {.prefetch = 1, .reductions_in_flight = 100});
  const auto reduced = all_of(graph, [](const workloads::StepOp& op) {
    return op.stage == 0 && op.microbatch == 0 && op->kind == workloads::StepOp::Kind::collective &&
           op->role == workloads::CollectiveRole::gradient;
  });
  ASSERT_FALSE(reduced.empty());
  for (const auto id : of_pass(graph, 0, workloads::StepPass::backward, 1)) {
    for (const auto reduction : reduced) EXPECT_FALSE(waits_for(graph, id, reduction));
  }
  const auto gathered = all_of(graph, [](const workloads::StepOp& op) {
    return op.stage == 0 && op.microbatch == 0 && op.pass == workloads::StepPass::backward &&
           op->role == workloads::CollectiveRole::weight;
  });
  ASSERT_FALSE(gathered.empty());
  EXPECT_FALSE(waits_for(graph, gathered.front(), of_pass(graph, 0, workloads::StepPass::forward, 1).back()));
}

}  // namespace
}  // namespace lockstep::test
