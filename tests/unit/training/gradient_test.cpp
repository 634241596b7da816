// Gradients: precision as kept and as sent, the norm, and hybrid sharding. The layer is In[B, D] Win[D, F] Wout[F, D];
// D F = 4096, X ranks on data, Y on fsdp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/workloads/small_models.hpp"
#include "tests/unit/workloads/step_reach.hpp"

namespace lockstep::test {
namespace {

using ::testing::ElementsAre;

constexpr int layers = 2;
constexpr std::int64_t parameters = layers * 2 * D * F;

/// Derived as prepare() does.
workloads::StepGraph step_of(const workloads::Parallel& parallel, const workloads::StepOptions& options,
                             const workloads::DerivePolicy& policy = {}) {
  const auto model = two_matmuls(layers);
  const auto blocks = blocks_of(model);
  const auto plan = plan_for(blocks, parallel);
  auto made = derived(model, plan, parallel, policy);
  for (std::size_t i = 0; i < made.kinds.size(); ++i)
    complete_updates(made.kinds[i], blocks.kinds[i], plan, sizes_on(model, parallel, 16, 8));
  return made.step(options);
}

std::int64_t bytes_of(const workloads::StepGraph& graph, workloads::CollectiveKind kind,
                      const workloads::AxisNames& axes) {
  std::int64_t sum = 0;
  for (workloads::OpId id = 0; id < graph.size(); ++id) {
    const auto& op = graph.op(id);
    if (op->kind == workloads::StepOp::Kind::collective && op->collective == kind && op->axes == axes)
      sum += op->full_size.value();
  }
  return sum;
}

std::int64_t accumulated(const workloads::StepGraph& graph) {
  std::int64_t sum = 0;
  for (const auto& buffer : graph.buffers) {
    const bool updated = std::any_of(buffer.readers.begin(), buffer.readers.end(), [&](workloads::OpId id) {
      return graph.op(id).pass == workloads::StepPass::update;
    });
    if (buffer.kind == workloads::MemoryKind::gradients && updated) sum += buffer.size.value();
  }
  return sum;
}

// fp32 gradients: 4 bytes kept and 4 sent.
TEST(GradientTest, InFp32TakeTwiceTheMemoryAndTheWay) {
  const auto narrow = step_of({.data = 4}, {});
  workloads::StepOptions options;
  options.gradient_element = options.gradient_reduce_element = Bytes(4);
  workloads::DerivePolicy policy;
  policy.gradient_element = Bytes(4);
  const auto wide = step_of({.data = 4}, options, policy);
  EXPECT_EQ(accumulated(narrow), 2 * parameters);
  EXPECT_EQ(accumulated(wide), 4 * parameters);
  EXPECT_EQ(bytes_of(narrow, workloads::CollectiveKind::all_reduce, {"data"}), 2 * parameters);
  EXPECT_EQ(bytes_of(wide, workloads::CollectiveKind::all_reduce, {"data"}), 4 * parameters);
  EXPECT_EQ(std::count_if(wide.buffers.begin(), wide.buffers.end(),
                          [](const auto& buffer) { return buffer.kind == workloads::MemoryKind::buffers; }),
            0);
}

// Kept in fp32 and sent in bf16: each bucket sends a copy of 2 bytes an element, gone with its collective.
TEST(GradientTest, SentInAnotherPrecisionAreCopied) {
  workloads::StepOptions options;
  options.gradient_element = Bytes(4);
  const auto graph = step_of({.data = 4}, options);
  EXPECT_EQ(accumulated(graph), 4 * parameters);
  EXPECT_EQ(bytes_of(graph, workloads::CollectiveKind::all_reduce, {"data"}), 2 * parameters);
  std::int64_t copies = 0;
  for (const auto& buffer : graph.buffers) {
    if (buffer.kind != workloads::MemoryKind::buffers) continue;
    copies += buffer.size.value();
    EXPECT_EQ(graph.op(buffer.producer)->collective, workloads::CollectiveKind::all_reduce);
    EXPECT_THAT(buffer.readers, ElementsAre(buffer.producer));
  }
  EXPECT_EQ(copies, 2 * parameters);
}

// The norm reads one rank's gradients, 2 x parameters / shards bytes, and is summed over the axes that split them: one
// number of 4 bytes. Every update waits for it.
TEST(GradientTest, TheNormIsSummedOverTheAxesThatSplitGradients) {
  struct Case {
    workloads::Parallel parallel;
    workloads::AxisNames axes;
    std::int64_t shards;
  };
  for (const auto& [parallel, axes, shards] :
       {Case{{.data = 4}, {}, 1}, Case{{.data = 4, .zero = 1}, {"data"}, 4}, Case{{.data = 2, .fsdp = 4}, {"fsdp"}, 4},
        Case{{.fsdp = 2, .tensor = 2}, {"fsdp", "tensor"}, 4},
        Case{{.data = 2, .fsdp = 2, .zero = 1}, {"data", "fsdp"}, 4}}) {
    const auto graph = step_of(parallel, {.gradient_clipping = true});
    const auto norms = all_of(graph, [](const auto& op) { return op->name == "gradient norm"; });
    ASSERT_EQ(norms.size(), 1U);
    EXPECT_EQ(graph.op(norms.front())->traffic.value(), 2 * parameters / shards);
    const auto sums = all_of(graph, [](const auto& op) {
      return op->kind == workloads::StepOp::Kind::collective && op.pass == workloads::StepPass::update &&
             op->name.ends_with("gradient norm");
    });
    if (axes.empty()) {
      EXPECT_TRUE(sums.empty());
    } else {
      ASSERT_EQ(sums.size(), 1U);
      EXPECT_EQ(graph.op(sums.front())->axes, axes);
      EXPECT_EQ(graph.op(sums.front())->full_size.value(), 4);
    }
    const auto last = sums.empty() ? norms.front() : sums.front();
    const auto updates = all_of(graph, [](const auto& op) { return op->name == "adam update"; });
    ASSERT_EQ(updates.size(), static_cast<std::size_t>(layers));
    for (const auto id : updates) EXPECT_TRUE(waits_for(graph, id, last));
  }
}

TEST(GradientTest, WithoutClippingNothingIsRead) {
  const auto graph = step_of({.fsdp = 4}, {});
  EXPECT_TRUE(all_of(graph, [](const auto& op) { return op->name.ends_with("gradient norm"); }).empty());
}

// Hybrid sharding, data outside and fsdp inside; P parameters, 2 bytes: weights are gathered over fsdp twice (4 P),
// gradients scattered over fsdp (2 P) and the shards summed over data (2 P / Y). Optimizer state: P / Y.
TEST(HybridShardingTest, MovesShardsAcrossAndWholeWeightsInside) {
  const auto graph = step_of({.data = 4, .fsdp = 2}, {});
  EXPECT_EQ(bytes_of(graph, workloads::CollectiveKind::all_gather, {"fsdp"}), 4 * parameters);
  EXPECT_EQ(bytes_of(graph, workloads::CollectiveKind::reduce_scatter, {"fsdp"}), 2 * parameters);
  EXPECT_EQ(bytes_of(graph, workloads::CollectiveKind::all_reduce, {"data"}), 2 * parameters / 2);
  EXPECT_EQ(graph.held[0].weights.value(), 2 * parameters / 2);
  EXPECT_EQ(graph.held[0].optimizer.value(), 8 * parameters / 2);
}

// With zero 1 on data the optimizer state is split over both, P / (X Y); the shards are scattered over data and the
// updated ones gathered: 2 P / Y each, as much as the all-reduce's two halves.
TEST(HybridShardingTest, ZeroOneSplitsTheStateOverBoth) {
  const auto graph = step_of({.data = 4, .fsdp = 2, .zero = 1}, {});
  EXPECT_EQ(bytes_of(graph, workloads::CollectiveKind::all_gather, {"fsdp"}), 4 * parameters);
  EXPECT_EQ(bytes_of(graph, workloads::CollectiveKind::reduce_scatter, {"fsdp"}), 2 * parameters);
  EXPECT_EQ(bytes_of(graph, workloads::CollectiveKind::all_reduce, {"data"}), 0);
  EXPECT_EQ(bytes_of(graph, workloads::CollectiveKind::reduce_scatter, {"data"}), 2 * parameters / 2);
  EXPECT_EQ(bytes_of(graph, workloads::CollectiveKind::all_gather, {"data"}), 2 * parameters / 2);
  EXPECT_EQ(graph.held[0].optimizer.value(), 8 * parameters / (4 * 2));
}

}  // namespace
}  // namespace lockstep::test
