// A stage sends the next one its input. A rank sends its own input of the next block, b bytes. Where n ranks of a stage
// hold the same, each may send a part, ceil(b / n), and the receivers gather the parts.
#include <gmock/gmock.h>

#include "tests/unit/step/pipelined.hpp"
#include "tests/unit/workloads/step_reach.hpp"

namespace lockstep::test {
namespace {

constexpr std::int64_t tokens = 128;  ///< of a microbatch: 16 sequences of 8
constexpr std::int64_t whole_input = 2 * tokens * D;

std::vector<workloads::OpId> sends_of(const workloads::StepGraph& graph) { return all_of(graph, is_send); }

workloads::StepGraph two_stages(const Derived& model, const std::string& schedule,
                                const workloads::StepOptions& options = {}) {
  return build_step(model.kinds, model.order, on_schedule(model, schedule, 2, 2), options);
}

// 2 B an element of [B, T, D], split over data (4) and, with sequence parallelism, over tensor (2) too.
TEST(StageTransfers, CarryARanksShareOfTheInput) {
  for (const auto& [parallel, size] :
       {std::pair{workloads::Parallel{.data = 4}, whole_input / 4},
        {workloads::Parallel{.data = 4, .tensor = 2}, whole_input / 8},
        {workloads::Parallel{.data = 4, .tensor = 2, .sequence_parallel = false}, whole_input / 4}}) {
    const auto graph = two_stages(derived(transformer(2), parallel), "1f1b");
    const auto sends = sends_of(graph);
    ASSERT_EQ(sends.size(), 4U) << "two microbatches, forth and back";
    for (const auto id : sends) {
      const auto& op = graph.op(id);
      EXPECT_EQ(op->full_size.value(), size);
      EXPECT_EQ(op->axes, workloads::AxisNames{"pipeline"});
      EXPECT_EQ(op.stage, op.pass == workloads::StepPass::forward ? 0 : 1);
      EXPECT_EQ(op.other_stage, 1 - op.stage);
      EXPECT_EQ(op->name,
                op.pass == workloads::StepPass::forward ? "Send_pipeline activations" : "Send_pipeline gradients");
    }
    EXPECT_EQ(graph.op(sends[0])->detail, "stage 0 -> stage 1, virtual stage 0 -> 1");
  }
}

// A send reads what the block left on the sender, and lands in a buffer of the receiver, which the next block reads.
TEST(StageTransfers, LandInTheReceiversMemory) {
  const auto graph = two_stages(derived(transformer(2), workloads::Parallel{.data = 4}), "1f1b");
  for (const auto id : sends_of(graph)) {
    const auto& op = graph.op(id);
    int read = 0, landed = 0;
    for (const auto& buffer : graph.buffers) {
      if (buffer.producer == id) {
        ++landed;
        EXPECT_EQ(buffer.stage, op.other_stage);
        EXPECT_EQ(buffer.size, op->full_size);
        EXPECT_EQ(buffer.kind, workloads::MemoryKind::activations);
        ASSERT_FALSE(buffer.readers.empty());
        for (const auto reader : buffer.readers) EXPECT_EQ(graph.op(reader).stage, op.other_stage);
      }
      if (std::find(buffer.readers.begin(), buffer.readers.end(), id) != buffer.readers.end()) {
        ++read;
        EXPECT_EQ(buffer.stage, op.stage);
      }
    }
    EXPECT_EQ(landed, 1);
    EXPECT_GE(read, 1);
  }
}

// tensor = 4 without sequence parallelism: 4 ranks have the same input. A quarter each is sent and gathered over
// tensor.
TEST(StageTransfers, InPartsAreGatheredByTheReceivers) {
  const workloads::Parallel parallel{.data = 2, .tensor = 4, .sequence_parallel = false};
  const auto model = derived(transformer(2), parallel);
  workloads::StepOptions options;
  options.scatter_sends = true;
  const auto graph = two_stages(model, "1f1b", options);
  EXPECT_EQ(model.layer().input_copies, 4);
  EXPECT_EQ(model.layer().input_copied_over, workloads::AxisNames{"tensor"});
  for (const auto id : sends_of(graph)) {
    const auto& op = graph.op(id);
    EXPECT_EQ(op->full_size.value(), whole_input / 2 / 4);
    const auto gathers = all_of(graph, [&](const workloads::StepOp& other) {
      return other.stage == op.other_stage && other.pass == op.pass && other.microbatch == op.microbatch &&
             other->name == (op.pass == workloads::StepPass::forward ? "AllGather_tensor activations"
                                                                     : "AllGather_tensor gradients");
    });
    ASSERT_EQ(gathers.size(), 1U);
    EXPECT_THAT(graph.predecessors(gathers[0]), testing::ElementsAre(id));
    EXPECT_EQ(graph.op(gathers[0])->full_size.value(), whole_input / 2);
    EXPECT_EQ(graph.op(gathers[0])->detail, "from stage " + std::to_string(op.stage) + " in 4 parts");
    for (const auto& buffer : graph.buffers) {
      if (buffer.producer != id) continue;
      EXPECT_THAT(buffer.readers, testing::ElementsAre(gathers[0])) << "the part itself";
    }
  }
}

TEST(StageTransfers, InPartsAreWholeWhereNobodyHasTheSame) {
  const auto model = derived(transformer(2), workloads::Parallel{.data = 2, .tensor = 4});
  workloads::StepOptions options;
  options.scatter_sends = true;
  EXPECT_EQ(model.layer().input_copies, 1) << "the sequence is split over tensor";
  EXPECT_EQ(two_stages(model, "1f1b", options).to_string(), two_stages(model, "1f1b").to_string());
}

// 3 parts of an input that 3 does not divide are rounded up. 128 tokens x 32 x 2 B = 8192 B.
TEST(StageTransfers, PartsAreRoundedUp) {
  auto model = derived(two_matmuls(2), workloads::Parallel{});
  for (auto& kind : model.kinds) {
    kind.input_copies = 3;
    kind.input_copied_over = {"tensor"};
  }
  workloads::StepOptions options;
  options.scatter_sends = true;
  const auto graph = two_stages(model, "1f1b", options);
  for (const auto id : sends_of(graph)) EXPECT_EQ(graph.op(id)->full_size.value(), (whole_input + 2) / 3);
}

// A whole backward hands its gradient on when its last operation has ended, here the gradient of a weight; split,
// before that runs.
TEST(StageTransfers, SplittingTheBackwardSendsSooner) {
  const auto model = derived(two_matmuls(2), workloads::Parallel{.data = 4});
  for (const bool splits : {false, true}) {
    const auto graph = two_stages(model, splits ? "zb-h1" : "1f1b");
    for (const auto id : sends_of(graph)) {
      const auto& op = graph.op(id);
      if (op.pass != workloads::StepPass::backward) continue;
      const auto input = named(graph, "in projection input gradient", 1, workloads::StepPass::backward, op.microbatch);
      const auto weight =
          named(graph, "in projection weight gradient", 1, workloads::StepPass::backward, op.microbatch);
      ASSERT_GT(weight, input);
      EXPECT_TRUE(waits_for(graph, id, input));
      EXPECT_EQ(waits_for(graph, id, weight), !splits);
    }
  }
}

// On a V the two chunks in the middle of the way stand on one rank: nothing is sent there, and the next chunk reads
// what the one before it left.
TEST(StageTransfers, AVHandsOnWithoutSendingAtItsTurn) {
  const auto model = derived(transformer(4), workloads::Parallel{.data = 2});
  const auto pipeline = on_schedule(model, "zb-v", 2, 4);
  const auto graph = build_step(model.kinds, model.order, pipeline, {});
  for (const auto id : sends_of(graph))
    EXPECT_THAT(graph.op(id)->detail, testing::Not(testing::HasSubstr("part 1 -> 2")));
  const int last_of_first_arm = pipeline.first_block[2] - 1;
  const auto left = named(graph, "down projection", last_of_first_arm, workloads::StepPass::forward, 1);
  const auto next = named(graph, "query projection", last_of_first_arm + 1, workloads::StepPass::forward, 1);
  ASSERT_GE(std::min(left, next), 0);
  EXPECT_EQ(graph.op(left).stage, 1);
  EXPECT_EQ(graph.op(next).stage, 1);
  EXPECT_TRUE(waits_for(graph, next, left));
}

}  // namespace
}  // namespace lockstep::test
