// Gradients on a pipeline: every copy of a weight gets a contribution of each of its stage's microbatches, is reduced
// after the last of them, exchanged with its other copy if there is one, and used up by one update.
#include <gmock/gmock.h>

#include <map>
#include <set>
#include <sstream>
#include <tuple>

#include "tests/unit/step/pipelined.hpp"
#include "tests/unit/workloads/step_reach.hpp"

namespace lockstep::test {
namespace {

std::set<std::string> arrays_of(const workloads::StepOp& op) {
  std::istringstream words(op->name);
  std::string word;
  words >> word;  // "AllReduce_data"
  std::set<std::string> arrays;
  while (words >> word) arrays.insert(word);
  return arrays;
}

bool reduces(const workloads::StepOp& op) {
  return op->kind == workloads::StepOp::Kind::collective && op->role == workloads::CollectiveRole::gradient &&
         op->axes != workloads::AxisNames{"pipeline"};
}
bool exchanges(const workloads::StepOp& op) {
  return op->role == workloads::CollectiveRole::gradient && op->axes == workloads::AxisNames{"pipeline"};
}
bool updates(const workloads::StepOp& op) { return op->name == "adam update"; }

/// The backward steps of a block on a stage that make a weight's gradient.
std::vector<workloads::OpId> contributions(const workloads::StepGraph& graph, const Derived& model, int block,
                                           const workloads::WeightUpdate& update, std::int32_t stage) {
  std::set<std::string> names;
  for (const int step : update.gradient_steps)
    names.insert(kind_of_block(model, block).backward[static_cast<std::size_t>(step)].name);
  return all_of(graph, [&](const workloads::StepOp& op) {
    return op.block == block && op.stage == stage && op.pass == workloads::StepPass::backward &&
           names.contains(op->name);
  });
}

// Data parallelism: one all-reduce of each weight on each stage that has it, which waits for all of its microbatches.
TEST(GradientsOnStages, AreReducedOnceAfterTheLastMicrobatch) {
  const auto model = derived(two_matmuls(pipeline_layers), workloads::Parallel{.data = 4});
  for (const workloads::Schedule& schedule : workloads::schedules()) {
    SCOPED_TRACE(std::string(schedule.name));
    const auto pipeline = on_schedule(model, std::string(schedule.name), pipeline_ranks, pipeline_microbatches);
    const auto graph = build_step(model.kinds, model.order, pipeline, {});
    std::map<std::tuple<std::int32_t, int, std::string>, std::vector<workloads::OpId>>
        reductions;  // stage, block, array
    for (const auto id : all_of(graph, reduces)) {
      for (const auto& array : arrays_of(graph.op(id)))
        reductions[{graph.op(id).stage, graph.op(id).block, array}].push_back(id);
    }
    std::size_t copies = 0;
    for (int block = 0; block < blocks(model); ++block) {
      for (const auto stage : stages_of_block(pipeline, block)) {
        for (const auto& update : kind_of_block(model, block).weights) {
          ++copies;
          const auto& found = reductions[{stage, block, "d" + update.weight}];
          ASSERT_EQ(found.size(), 1U) << update.weight << " of block " << block;
          const auto waited = waited_for(graph, found[0]);
          const auto parts = contributions(graph, model, block, update, stage);
          const auto directions = std::ssize(stages_of_block(pipeline, block));
          ASSERT_EQ(std::ssize(parts), pipeline_microbatches / directions);
          for (const auto part : parts) ASSERT_TRUE(waited[static_cast<std::size_t>(part)]);
        }
      }
    }
    ASSERT_EQ(reductions.size(), copies) << "and nothing else is";
  }
}

// What a pass computes comes after all that its stage has computed before, so a reduction names the last microbatch
// alone: a step of twice as many microbatches has no reduction that waits for more operations.
TEST(GradientsOnStages, WaitForTheLastMicrobatchAlone) {
  const auto model = derived(two_matmuls(pipeline_layers), workloads::Parallel{.data = 4});
  const auto most = [&](std::int32_t microbatches) {
    const auto pipeline = on_schedule(model, "1f1b", pipeline_ranks, microbatches);
    const auto graph = build_step(model.kinds, model.order, pipeline, {});
    std::size_t waited = 0;
    for (const auto id : all_of(graph, reduces)) waited = std::max(waited, graph.waits_for(id).size());
    return waited;
  };
  EXPECT_GT(most(pipeline_microbatches), 0U);
  EXPECT_EQ(most(2 * pipeline_microbatches), most(pipeline_microbatches));
}

// One update of each block on each stage that has it. It waits for every gradient of the model, and without the barrier
// for its own block's alone.
TEST(GradientsOnStages, EndInOneUpdateOfEachCopy) {
  const auto model = derived(two_matmuls(pipeline_layers), workloads::Parallel{.data = 4});
  for (const auto* schedule : {"1f1b", "interleaved", "zb-v", "dualpipe"}) {
    for (const bool barrier : {true, false}) {
      SCOPED_TRACE(std::string(schedule) + (barrier ? " with" : " without"));
      const auto pipeline = on_schedule(model, schedule, pipeline_ranks, pipeline_microbatches);
      const auto graph = build_step(model.kinds, model.order, pipeline, {.optimizer_barrier = barrier});
      std::set<std::pair<std::int32_t, int>> updated;
      for (const auto id : all_of(graph, updates)) {
        const auto& op = graph.op(id);
        ASSERT_TRUE(updated.insert({op.stage, op.block}).second);
        const auto waited = waited_for(graph, id);
        for (const auto reduction : all_of(graph, reduces)) {
          const bool own = graph.op(reduction).block == op.block;
          ASSERT_EQ(waited[static_cast<std::size_t>(reduction)], barrier || own) << graph.op(reduction).block;
        }
      }
      std::size_t copies = 0;
      for (int block = 0; block < blocks(model); ++block) copies += stages_of_block(pipeline, block).size();
      ASSERT_EQ(updated.size(), copies);
    }
  }
}

// DualPipe: rank r and rank P - 1 - r have the same weights. One all-reduce between the two for each block: 4DF
// elements of 2 B with data parallelism alone, whose optimizer shard is whole.
TEST(GradientsOnStages, AreExchangedBetweenBothEnds) {
  const auto model = derived(two_matmuls(8), workloads::Parallel{.data = 4});
  const auto pipeline = on_schedule(model, "dualpipe", 4, 8);
  const auto graph = build_step(model.kinds, model.order, pipeline, {});
  std::map<int, workloads::OpId> of_block;
  for (const auto id : all_of(graph, exchanges)) {
    const auto& op = graph.op(id);
    EXPECT_TRUE(of_block.emplace(op.block, id).second);
    EXPECT_EQ(op.stage + op.other_stage, 3);
    EXPECT_LT(op.stage, op.other_stage);
    EXPECT_EQ(op->collective, workloads::CollectiveKind::all_reduce);
    EXPECT_EQ(op->name, "AllReduce_pipeline dWin dWout");
    EXPECT_EQ(op->full_size.value(), 2 * 2 * D * F);
    for (const auto reduction : all_of(graph, reduces)) {
      EXPECT_EQ(waits_for(graph, id, reduction), graph.op(reduction).block == op.block) << "those of both sides";
    }
  }
  EXPECT_EQ(of_block.size(), 8U);
  EXPECT_TRUE(all_of(build_step(model.kinds, model.order, on_schedule(model, "1f1b", 4, 8), {}), exchanges).empty());
}

// Tied embeddings on two stages: the first and the last hold V D each, and add up their gradients; on a V of two chunks
// both ends stand on rank 0, which holds one copy.
TEST(GradientsOnStages, OfTiedEmbeddingsAreAddedUp) {
  auto tied = transformer(4);
  tied.tied_embeddings = true;
  const auto model = derived(tied, workloads::Parallel{.data = 4});
  const auto graph = build_step(model.kinds, model.order, on_schedule(model, "1f1b", 2, 4), {});
  const auto between = all_of(graph, exchanges);
  ASSERT_EQ(between.size(), 1U);
  EXPECT_EQ(graph.op(between[0])->name, "AllReduce_pipeline dWembed");
  EXPECT_EQ(graph.op(between[0])->full_size.value(), 2 * 96 * D);
  for (int m = 0; m < 4; ++m) {
    EXPECT_TRUE(
        waits_for(graph, between[0], named(graph, "unembedding weight gradient", 5, workloads::StepPass::backward, m)));
  }
  const auto v = build_step(model.kinds, model.order, on_schedule(model, "zb-v", 2, 4), {});
  EXPECT_TRUE(all_of(v, exchanges).empty());
  std::int64_t weights = 0;
  for (const auto& held : v.held) weights += held.weights.value();
  EXPECT_EQ(weights, 2 * count_parameters(tied).total());
}

// The barrier on a pipeline: each stage knows its own gradients, 4 bytes go around the pipeline, and every update
// waits.
TEST(GradientsOnStages, TheNormGoesAroundThePipeline) {
  auto model = derived(two_matmuls(4), workloads::Parallel{.fsdp = 4});
  for (auto& update : model.kinds.front().weights) update.split_over = {"fsdp"};
  workloads::StepOptions options;
  options.gradient_clipping = true;
  const auto graph = build_step(model.kinds, model.order, on_schedule(model, "1f1b", 2, 2), options);
  const auto norms = all_of(graph, [](const workloads::StepOp& op) { return op->name == "gradient norm"; });
  ASSERT_EQ(norms.size(), 2U);
  // 2 layers of 2DF elements on a stage, a quarter of each on a rank, read in 2 B.
  for (const auto id : norms) EXPECT_EQ(graph.op(id)->traffic.value(), 2 * 2 * 2 * D * F / 4);
  const auto sums =
      all_of(graph, [](const workloads::StepOp& op) { return op->name == "AllReduce_fsdp gradient norm"; });
  ASSERT_EQ(sums.size(), 2U);
  const auto around =
      all_of(graph, [](const workloads::StepOp& op) { return op->name == "AllReduce_pipeline gradient norm"; });
  ASSERT_EQ(around.size(), 1U);
  EXPECT_EQ(graph.op(around[0]).stage, workloads::StepOp::every_stage);
  EXPECT_EQ(graph.op(around[0])->full_size, Bytes(4));
  EXPECT_THAT(graph.predecessors(around[0]), testing::UnorderedElementsAre(sums[0], sums[1]));
  for (const auto id : all_of(graph, updates)) EXPECT_THAT(graph.predecessors(id), testing::ElementsAre(around[0]));
}

// The step's overhead of s seconds follows the last operation of each stage and waits for no other stage.
TEST(GradientsOnStages, TheStepsOverheadEndsEachStage) {
  const auto model = derived(two_matmuls(4), workloads::Parallel{.data = 4, .zero = 1});
  workloads::StepOptions options;
  options.step_overhead = Seconds(0.25);
  const auto graph = build_step(model.kinds, model.order, on_schedule(model, "1f1b", 2, 2), options);
  const auto overheads = all_of(graph, [](const workloads::StepOp& op) { return op->given_time.has_value(); });
  ASSERT_EQ(overheads.size(), 2U);
  for (const auto id : overheads) {
    EXPECT_EQ(graph.op(id)->given_time, Seconds(0.25));
    EXPECT_EQ(graph.op(id)->given, workloads::GivenTime::overhead);
    for (const auto other :
         all_of(graph, [](const workloads::StepOp& op) { return op.pass == workloads::StepPass::update; })) {
      const auto& op = graph.op(other);
      if (other == id || op.stage != graph.op(id).stage) continue;
      EXPECT_TRUE(waits_for(graph, id, other)) << op->name;
    }
  }
}

// An offloaded optimizer on two stages: each block's gradients go down once they are reduced, 2 B of each element that
// the rank updates, and its weights come up after the host's update.
TEST(GradientsOnStages, AnOffloadedOptimizerWorksBlockByBlock) {
  const auto model = derived(two_matmuls(4), workloads::Parallel{.fsdp = 4});
  workloads::StepOptions options;
  options.offload.optimizer = true;
  options.offload.link = BytesPerSecond(1e9);
  const auto graph = build_step(model.kinds, model.order, on_schedule(model, "1f1b", 2, 2), options);
  constexpr std::int64_t shard = 2 * D * F / 4;
  for (int block = 0; block < 4; ++block) {
    const auto down = named(graph, "gradients to host", block, workloads::StepPass::backward, 1);
    const auto update = named(graph, "adam update on the host", block, workloads::StepPass::update, 1);
    const auto up = named(graph, "weights from host", block, workloads::StepPass::update, 1);
    ASSERT_GE(std::min({down, update, up}), 0);
    EXPECT_EQ(graph.op(down)->full_size.value(), 2 * shard);
    EXPECT_EQ(graph.op(up)->full_size.value(), 2 * shard);
    EXPECT_DOUBLE_EQ(graph.op(update)->given_time.value().value(), 22.0 * shard / 50e9);
    EXPECT_TRUE(waits_for(graph, update, down));
    EXPECT_TRUE(waits_for(graph, up, update));
    for (const auto& buffer : graph.buffers) {
      if (buffer.kind != workloads::MemoryKind::gradients || graph.op(buffer.producer).block != block) continue;
      EXPECT_LE(buffer.readers.back(), down) << "the chip lets go of it with the transfer";
    }
  }
  for (const auto& held : graph.held) {
    EXPECT_EQ(held.optimizer, Bytes(0));
    EXPECT_EQ(held.host.value(), 2 * 8 * shard) << "two layers' moments";
  }
}

// A stage's gathers are fetched ahead of the stage's own passes: with prefetch p the gather for its pass n waits for a
// product of pass n - p - 1 on the same stage, and for nothing of another stage.
TEST(GathersOnStages, WaitForRoomOnTheirOwnStage) {
  const auto model = derived(two_matmuls(6), workloads::Parallel{.fsdp = 4});
  const auto pipeline = on_schedule(model, "1f1b", 2, 4);
  for (const int prefetch : {0, 1, 3}) {
    workloads::StepOptions options;
    options.prefetch = prefetch;
    const auto graph = build_step(model.kinds, model.order, pipeline, options);
    for (std::int32_t stage = 0; stage < 2; ++stage) {
      const auto gathers = all_of(graph, [&](const workloads::StepOp& op) {
        return op.stage == stage &&
               is_collective(op, workloads::CollectiveKind::all_gather, workloads::CollectiveRole::weight);
      });
      ASSERT_EQ(gathers.size(), 2U * 3U * 4U) << "both passes of 3 blocks and 4 microbatches";
      for (std::size_t n = 0; n < gathers.size(); ++n) {
        const auto before = graph.predecessors(gathers[n]);
        ASSERT_EQ(before.empty(), n <= static_cast<std::size_t>(prefetch)) << n;
        for (const auto id : before) {
          const auto& reader = graph.op(id);
          const auto& freed = graph.op(gathers[n - static_cast<std::size_t>(prefetch) - 1]);
          EXPECT_EQ(reader.stage, stage);
          EXPECT_EQ(reader.block, freed.block);
          EXPECT_EQ(reader.pass, freed.pass);
          EXPECT_EQ(reader.microbatch, freed.microbatch);
          EXPECT_EQ(reader->kind, workloads::StepOp::Kind::compute);
        }
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::test
