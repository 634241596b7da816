// The DAG of one step: its size, its FLOPs, and what waits for what.
#include <gtest/gtest.h>

#include <set>

#include "sim/core/errors.hpp"
#include "tests/unit/workloads/small_models.hpp"
#include "tests/unit/workloads/step_reach.hpp"

namespace lockstep::test {
namespace {

std::vector<workloads::Parallel> many_plans() {
  return {{},
          {.data = 4},
          {.data = 4, .zero = 1},
          {.data = 4, .zero = 2},
          {.data = 4, .zero = 3},
          {.fsdp = 4},
          {.tensor = 4},
          {.tensor = 4, .sequence_parallel = false},
          {.fsdp = 2, .tensor = 2},
          {.data = 2, .fsdp = 2, .tensor = 2, .zero = 1}};
}

TEST(StepGraphTest, ADependencyMustPointBack) {
  workloads::StepGraph graph;
  const auto first = graph.add({});
  const auto second = graph.add({});
  graph.depend(second, first);
  graph.depend(second, first);
  EXPECT_EQ(graph.dependencies(), 1) << "kept once";
  EXPECT_THROW(graph.depend(first, second), InternalError);
  EXPECT_THROW(graph.depend(first, first), InternalError);
  EXPECT_THROW(graph.depend(first, -1), InternalError);
}

// Every operation waits only for earlier ones, so there is no cycle, and every buffer is read after it is made.
TEST(StepGraphTest, ProgramOrderIsTopologicalAndBuffersAreReadLater) {
  for (const auto& model : {two_matmuls(3), transformer(3)}) {
    for (const auto& parallel : many_plans()) {
      const auto graph = derived(model, parallel).step({.microbatches = 2});
      for (workloads::OpId id = 0; id < graph.size(); ++id) {
        for (const auto before : graph.predecessors(id)) ASSERT_LT(before, id);
      }
      for (const auto& buffer : graph.buffers) {
        ASSERT_GE(buffer.producer, 0);
        ASSERT_GE(buffer.size, Bytes(0));
        for (const auto reader : buffer.readers) ASSERT_GT(reader, buffer.producer);
        EXPECT_EQ(std::set<workloads::OpId>(buffer.readers.begin(), buffer.readers.end()).size(),
                  buffer.readers.size());
      }
    }
  }
}

// Whoever reads an activation must also wait for it: memory that is read is memory that was written.
TEST(StepGraphTest, ReadersWaitForWhatTheyRead) {
  for (const auto& parallel : many_plans()) {
    const auto graph = derived(transformer(), parallel).step();
    for (const auto& buffer : graph.buffers) {
      for (const auto reader : buffer.readers) {
        ASSERT_TRUE(waits_for(graph, reader, buffer.producer))
            << graph.op(reader)->name << " reads " << graph.op(buffer.producer)->name;
      }
    }
  }
}

// One vertex stands for all ranks: twice the ranks, the same graph.
TEST(StepGraphTest, SizeDoesNotDependOnTheAxes) {
  const auto small = derived(transformer(), workloads::Parallel{.data = 2, .fsdp = 2, .tensor = 2}).step();
  const auto large = derived(transformer(), workloads::Parallel{.data = 4, .fsdp = 4, .tensor = 4}).step();
  EXPECT_EQ(small.size(), large.size());
  EXPECT_EQ(small.dependencies(), large.dependencies());
}

// ... and with the layers it grows in proportion: no operation waits for ever more others.
TEST(StepGraphTest, DependenciesGrowWithTheLayersOnly) {
  for (const auto& parallel : many_plans()) {
    const auto at = [&](std::int64_t layers) { return derived(transformer(layers), parallel).step().dependencies(); };
    const auto four = at(4);
    const auto eight = at(8);
    const auto sixteen = at(16);
    EXPECT_EQ(sixteen - eight, 2 * (eight - four));
  }
}

// All matrix products of all ranks: 3 x the forward FLOPs of every token, however they are split.
TEST(StepGraphTest, FlopsOfTheTransformerAreConserved) {
  const auto model = transformer(3);
  for (const bool causal : {true, false}) {
    for (const auto& parallel : many_plans()) {
      const auto all = derived(model, parallel, {.causal = causal});
      const auto graph = all.step({.microbatches = 3});
      double flops = 0;
      for (workloads::OpId id = 0; id < graph.size(); ++id) flops += graph.op(id)->flops.value();
      EXPECT_EQ(flops * static_cast<double>(all.ranks),
                3 * forward_flops_per_token(model, 8, causal) * static_cast<double>(3 * all.tokens));
    }
  }
}

// 4BDF forward and 8BDF backward on every layer of two matmuls.
TEST(StepGraphTest, FlopsOfTwoMatmulsAreConserved) {
  for (const auto& parallel : many_plans()) {
    const auto all = derived(two_matmuls(5), parallel);
    const auto graph = all.step();
    double flops = 0;
    for (workloads::OpId id = 0; id < graph.size(); ++id) flops += graph.op(id)->flops.value();
    EXPECT_EQ(flops * static_cast<double>(all.ranks), 5 * 12.0 * static_cast<double>(all.tokens * D * F));
  }
}

TEST(StepGraphTest, ParametersAreTheModels) {
  auto model = transformer(3);
  EXPECT_EQ(derived(model, workloads::Parallel{.fsdp = 4}).step().parameters, count_parameters(model).total());
  model.tied_embeddings = true;
  EXPECT_EQ(derived(model, workloads::Parallel{.fsdp = 4}).step().parameters, count_parameters(model).total());
}

// The book's ZeRO example in small: 2 B weights and 8 B state a parameter, split or not.
TEST(StepGraphTest, PersistentMemoryFollowsTheStage) {
  const std::int64_t parameters = 2 * 2 * D * F;
  const auto memory = [](const workloads::Parallel& parallel) {
    const auto graph = derived(two_matmuls(), parallel).step();
    return std::pair(graph.held[0].weights.value(), graph.held[0].optimizer.value());
  };
  EXPECT_EQ(memory({.data = 4}), std::pair(2 * parameters, 8 * parameters));
  EXPECT_EQ(memory({.data = 4, .zero = 1}), std::pair(2 * parameters, 8 * parameters / 4));
  EXPECT_EQ(memory({.data = 4, .zero = 2}), std::pair(2 * parameters, 8 * parameters / 4));
  EXPECT_EQ(memory({.data = 4, .zero = 3}), std::pair(2 * parameters / 4, 8 * parameters / 4));
  EXPECT_EQ(memory({.fsdp = 2, .tensor = 2}), std::pair(2 * parameters / 4, 8 * parameters / 4));
}

// Forward goes up the layers, backward down: a layer waits for its neighbour's computation.
TEST(StepGraphTest, LayersFollowEachOther) {
  const auto graph = derived(two_matmuls(3), workloads::Parallel{.fsdp = 4}).step();
  const auto up = [&](int block) { return named(graph, "out projection", block, workloads::StepPass::forward); };
  const auto down = [&](int block) {
    return named(graph, "in projection input gradient", block, workloads::StepPass::backward);
  };
  EXPECT_TRUE(waits_for(graph, up(1), up(0)));
  EXPECT_TRUE(waits_for(graph, down(2), up(2)));
  EXPECT_TRUE(waits_for(graph, down(0), down(1)));
  // The weight gradient is off the critical path.
  const auto weight_gradient = named(graph, "in projection weight gradient", 1, workloads::StepPass::backward);
  EXPECT_FALSE(waits_for(graph, down(0), weight_gradient));
  EXPECT_EQ(graph.block_names, (std::vector<std::string>{"layer 0", "layer 1", "layer 2"}));
}

}  // namespace
}  // namespace lockstep::test
