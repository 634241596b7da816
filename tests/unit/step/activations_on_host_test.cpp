// Activations on the host: those of the first so many layers of each stage, but not of the model's last block, whose
// backward follows at once. b bytes go down in one transfer of b / link seconds when all of them are there, and come
// back in one when the backward has room; in between only the host holds them.
#include <gmock/gmock.h>

#include <set>

#include "tests/unit/step/pipelined.hpp"
#include "tests/unit/workloads/step_reach.hpp"

namespace lockstep::test {
namespace {

workloads::StepOptions with_layers_on_host(std::int32_t layers) {
  workloads::StepOptions options;
  options.offload.activation_layers = layers;
  options.offload.link = BytesPerSecond(1e9);
  return options;
}

std::vector<workloads::OpId> transfers(const workloads::StepGraph& graph, const std::string& name) {
  return all_of(graph, [&](const workloads::StepOp& op) { return op->name == "activations " + name; });
}

std::set<int> blocks_of_ops(const workloads::StepGraph& graph, const std::vector<workloads::OpId>& ids) {
  std::set<int> blocks;
  for (const auto id : ids) blocks.insert(graph.op(id).block);
  return blocks;
}

TEST(ActivationsOnHost, AreOfTheFirstLayersOfEachStage) {
  const auto model =
      derived(transformer(6), workloads::Parallel{.data = 4});  // blocks 1 to 6 are layers, 0 and 7 are not
  const auto chosen = [&](const std::string& schedule, std::int32_t layers) {
    const auto graph =
        build_step(model.kinds, model.order, on_schedule(model, schedule, 2, 4), with_layers_on_host(layers));
    const auto down = transfers(graph, "to host"), up = transfers(graph, "from host");
    EXPECT_EQ(blocks_of_ops(graph, down), blocks_of_ops(graph, up));
    EXPECT_EQ(down.size(), 4 * blocks_of_ops(graph, down).size()) << "each microbatch by itself";
    EXPECT_EQ(up.size(), down.size());
    return blocks_of_ops(graph, down);
  };
  EXPECT_EQ(chosen("1f1b", 0), std::set<int>{});
  EXPECT_EQ(chosen("1f1b", 1), (std::set<int>{1, 4}));
  EXPECT_EQ(chosen("1f1b", 2), (std::set<int>{1, 2, 4, 5}));
  EXPECT_EQ(chosen("1f1b", 9), (std::set<int>{1, 2, 3, 4, 5, 6}));
  // Four stages of 1, 2, 2 and 1 layers: blocks 0-1, 2-3, 4-5, 6-7. Rank 0 has the first and the third.
  EXPECT_EQ(chosen("interleaved", 1), (std::set<int>{1, 2}));
  EXPECT_EQ(chosen("interleaved", 2), (std::set<int>{1, 4, 2, 3}));
}

TEST(ActivationsOnHost, NotOfTheModelsLastBlock) {
  const auto model = derived(two_matmuls(3), workloads::Parallel{.data = 4});
  const auto graph = model.step(with_layers_on_host(3));
  EXPECT_EQ(blocks_of_ops(graph, transfers(graph, "to host")), (std::set<int>{0, 1}));
}

// Sizes: what the backward reads of the forward and is an activation. The buffer on the chip ends with the transfer.
TEST(ActivationsOnHost, AreAllThatTheBackwardReadsOfTheForward) {
  const auto model = derived(transformer(3), workloads::Parallel{.data = 2, .tensor = 2});
  const auto graph = model.step(with_layers_on_host(1));
  const auto plain = model.step();
  const auto down = transfers(graph, "to host");
  ASSERT_EQ(down.size(), 1U);
  std::int64_t saved = 0;
  for (const auto& buffer : plain.buffers) {
    if (buffer.kind != workloads::MemoryKind::activations) continue;
    // Read by the layer's backward and made before: a forward's output, or what it received.
    const bool for_backward = std::any_of(buffer.readers.begin(), buffer.readers.end(), [&](workloads::OpId reader) {
      return plain.op(reader).block == 1 && plain.op(reader).pass == workloads::StepPass::backward;
    });
    if (for_backward && plain.op(buffer.producer).pass == workloads::StepPass::forward) saved += buffer.size.value();
  }
  EXPECT_EQ(graph.op(down[0])->full_size.value(), saved);
  EXPECT_GT(saved, 0);
  EXPECT_DOUBLE_EQ(graph.op(down[0])->given_time.value().value(), static_cast<double>(saved) / 1e9);
  EXPECT_EQ(graph.op(down[0])->given, workloads::GivenTime::host_link);
  EXPECT_EQ(graph.op(down[0])->stream, "to host");
}

// In between nothing of it is on the chip: every activation that went down has no reader after the transfer, the host's
// buffer is read by the way back alone, and what came back by the block's backward alone.
TEST(ActivationsOnHost, AreOnlyThereInBetween) {
  const auto model = derived(transformer(3), workloads::Parallel{.data = 2});
  const auto pipeline = on_schedule(model, "zb-h1", 2, 4);
  const auto graph = build_step(model.kinds, model.order, pipeline, with_layers_on_host(2));
  const auto down = transfers(graph, "to host");
  std::size_t on_host = 0, came_back = 0;
  for (const auto& buffer : graph.buffers) {
    const auto& made = graph.op(buffer.producer);
    if (made->stream == "to host") {
      ++on_host;
      EXPECT_EQ(buffer.kind, workloads::MemoryKind::host);
      EXPECT_EQ(buffer.size, made->full_size);
      ASSERT_EQ(buffer.readers.size(), 1U);
      EXPECT_EQ(graph.op(buffer.readers[0])->stream, "from host");
      EXPECT_EQ(graph.op(buffer.readers[0]).block, made.block);
      EXPECT_EQ(graph.op(buffer.readers[0]).microbatch, made.microbatch);
    } else if (made->stream == "from host") {
      ++came_back;
      EXPECT_EQ(buffer.kind, workloads::MemoryKind::activations);
      EXPECT_FALSE(buffer.readers.empty());
      for (const auto reader : buffer.readers) {
        EXPECT_EQ(graph.op(reader).pass, workloads::StepPass::backward);
        EXPECT_EQ(graph.op(reader).block, made.block);
        EXPECT_TRUE(waits_for(graph, reader, buffer.producer));
      }
    } else {
      for (const auto id : down) {
        if (std::find(buffer.readers.begin(), buffer.readers.end(), id) == buffer.readers.end()) continue;
        for (const auto reader : buffer.readers) {
          const auto& op = graph.op(reader);
          EXPECT_FALSE(op.block == graph.op(id).block && op.pass == workloads::StepPass::backward) << op->name;
        }
      }
    }
  }
  EXPECT_EQ(on_host, down.size());
  EXPECT_EQ(came_back, down.size());
}

// A way back is fetched ahead like weights are: with prefetch p it waits for the last operation of the block that
// computed p + 1 passes of a block ago, and for its own way down.
TEST(ActivationsOnHost, ComeBackWhenThereIsRoom) {
  const auto model = derived(two_matmuls(6), workloads::Parallel{.data = 4});
  for (const int prefetch : {0, 1, 2}) {
    auto options = with_layers_on_host(5);
    options.prefetch = prefetch;
    const auto graph = model.step(options);
    const auto up = transfers(graph, "from host");
    ASSERT_EQ(up.size(), 5U);
    for (const auto id : up) {
      const int block = graph.op(id).block;
      // Passes go through blocks 0 to 5 and back down: that of block b in the backward is number 6 + 5 - b.
      const int pass = 6 + 5 - block - 1 - prefetch;
      const auto freed = pass < 6
                             ? named(graph, "out projection", pass, workloads::StepPass::forward)
                             : named(graph, "in projection weight gradient", 11 - pass, workloads::StepPass::backward);
      const auto down = named(graph, "activations to host", block, workloads::StepPass::forward);
      EXPECT_THAT(graph.predecessors(id), testing::UnorderedElementsAre(down, freed)) << block;
    }
  }
}

}  // namespace
}  // namespace lockstep::test
