// The choices of a step: weight prefetch, buckets, microbatches, the optimizer's barrier.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/workloads/small_models.hpp"
#include "tests/unit/workloads/step_reach.hpp"

namespace lockstep::test {
namespace {

using ::testing::ElementsAre;

constexpr int layers = 4;

std::vector<workloads::OpId> weight_gathers(const workloads::StepGraph& graph) {
  return all_of(graph, [](const auto& op) {
    return is_collective(op, workloads::CollectiveKind::all_gather, workloads::CollectiveRole::weight);
  });
}
std::vector<workloads::OpId> gradient_collectives(const workloads::StepGraph& graph) {
  return all_of(graph, [](const auto& op) {
    return op->kind == workloads::StepOp::Kind::collective && op->role == workloads::CollectiveRole::gradient;
  });
}
std::int64_t bytes_of(const workloads::StepGraph& graph, const std::vector<workloads::OpId>& ids) {
  std::int64_t sum = 0;
  for (const auto id : ids) sum += graph.op(id)->full_size.value();
  return sum;
}

/// Products that read gathered weights, by pass: forward blocks up, then backward blocks down.
std::vector<std::vector<workloads::OpId>> readers_by_pass(const workloads::StepGraph& graph) {
  std::vector<std::vector<workloads::OpId>> result(2 * layers);
  for (const auto id : all_of(graph, [](const auto& op) {
         return op->kind == workloads::StepOp::Kind::compute && op->name.find("projection") != std::string::npos;
       })) {
    const auto& op = graph.op(id);
    if (op->name.find("weight gradient") != std::string::npos) continue;
    const int pass = op.pass == workloads::StepPass::forward ? op.block : 2 * layers - 1 - op.block;
    result[static_cast<std::size_t>(pass)].push_back(id);
  }
  return result;
}

// With depth p, the weights of pass i + 1 + p may come as soon as pass i is done with its own, and no sooner.
TEST(StepOptionsTest, PrefetchDepth) {
  for (const int depth : {0, 1, 2}) {
    const auto graph = derived(two_matmuls(layers), workloads::Parallel{.fsdp = 4}).step({.prefetch = depth});
    const auto readers = readers_by_pass(graph);
    const auto gathers = weight_gathers(graph);
    ASSERT_EQ(gathers.size(), 2U * layers) << "one bucket a pass";
    for (int pass = 0; pass < 2 * layers; ++pass) {
      const auto waited = waited_for(graph, gathers[static_cast<std::size_t>(pass)]);
      for (int earlier = 0; earlier < 2 * layers; ++earlier) {
        ASSERT_EQ(readers[static_cast<std::size_t>(earlier)].size(), 2U);
        for (const auto reader : readers[static_cast<std::size_t>(earlier)]) {
          EXPECT_EQ(waited[static_cast<std::size_t>(reader)], earlier <= pass - 1 - depth)
              << "depth " << depth << ", gather of pass " << pass << ", pass " << earlier;
        }
      }
    }
  }
}

TEST(StepOptionsTest, WeightBucketsMoveTheSameBytes) {
  const auto all = derived(two_matmuls(layers), workloads::Parallel{.fsdp = 4});
  const auto by_layer = all.step({.weight_buckets = {workloads::Bucketing::Unit::layer, Bytes(0)}});
  const auto by_matrix = all.step({.weight_buckets = {workloads::Bucketing::Unit::matrix, Bytes(0)}});
  EXPECT_EQ(weight_gathers(by_layer).size(), 2U * layers);
  EXPECT_EQ(weight_gathers(by_matrix).size(), 4U * layers);
  EXPECT_EQ(bytes_of(by_layer, weight_gathers(by_layer)), 2 * layers * 4 * D * F);  // both passes, 4DF each
  EXPECT_EQ(bytes_of(by_matrix, weight_gathers(by_matrix)), 2 * layers * 4 * D * F);
  EXPECT_EQ(by_layer.op(weight_gathers(by_layer)[0])->name, "AllGather_fsdp Win Wout");
}

// Buckets of a matrix, a layer, or at least so many bytes (2DF = 8192 a matrix): as many collectives, the same bytes.
TEST(StepOptionsTest, GradientBucketsMoveTheSameBytes) {
  for (const auto& parallel : {workloads::Parallel{.data = 4}, workloads::Parallel{.fsdp = 4}}) {
    const auto all = derived(two_matmuls(layers), parallel);
    const auto count = [&](workloads::Bucketing bucketing) {
      const auto graph = all.step({.gradient_buckets = bucketing});
      const auto ids = gradient_collectives(graph);
      EXPECT_EQ(bytes_of(graph, ids), layers * 4 * D * F);
      return ids.size();
    };
    EXPECT_EQ(count({workloads::Bucketing::Unit::matrix, Bytes(0)}), 8U);
    EXPECT_EQ(count({workloads::Bucketing::Unit::layer, Bytes(0)}), 4U);
    EXPECT_EQ(count({workloads::Bucketing::Unit::size, Bytes(1)}), 8U);
    EXPECT_EQ(count({workloads::Bucketing::Unit::size, Bytes(8193)}), 4U);
    EXPECT_EQ(count({workloads::Bucketing::Unit::size, Bytes(3 * 8192)}), 3U);  // 3 + 3 + the 2 that are left
    EXPECT_EQ(count({workloads::Bucketing::Unit::size, Bytes(1 << 30)}), 1U);
  }
}

// A bucket waits for all of its gradients and for no other.
TEST(StepOptionsTest, ABucketWaitsForItsGradients) {
  const auto graph = derived(two_matmuls(layers), workloads::Parallel{.data = 4}).step();
  const auto reductions = gradient_collectives(graph);
  for (const auto id : reductions) {
    const int block = graph.op(id).block;
    for (int other = 0; other < layers; ++other) {
      for (const auto* product : {"in projection weight gradient", "out projection weight gradient"}) {
        const auto gradient = named(graph, product, other, workloads::StepPass::backward);
        EXPECT_EQ(waits_for(graph, id, gradient), other == block) << product;
      }
    }
  }
}

// A gradient kept split is reduced for every microbatch; one kept as a partial sum only after the last.
TEST(StepOptionsTest, MicrobatchesAndGradientAccumulation) {
  const auto reductions = [](const workloads::Parallel& parallel) {
    const auto graph = derived(two_matmuls(layers), parallel).step({.microbatches = 3});
    std::vector<int> by_microbatch(3, 0);
    for (const auto id : gradient_collectives(graph))
      ++by_microbatch[static_cast<std::size_t>(graph.op(id).microbatch)];
    return by_microbatch;
  };
  EXPECT_THAT(reductions({.data = 4}), ElementsAre(0, 0, layers));
  EXPECT_THAT(reductions({.data = 4, .zero = 1}), ElementsAre(0, 0, layers));
  EXPECT_THAT(reductions({.data = 4, .zero = 2}), ElementsAre(layers, layers, layers));
  EXPECT_THAT(reductions({.fsdp = 4}), ElementsAre(layers, layers, layers));
  // Hybrid: scattered over fsdp each time, all-reduced over data at the end.
  EXPECT_THAT(reductions({.data = 2, .fsdp = 2}), ElementsAre(layers, layers, 2 * layers));
}

// The last reduction waits for the gradients of all microbatches.
TEST(StepOptionsTest, AccumulatedGradientsWaitForEveryMicrobatch) {
  const auto graph = derived(two_matmuls(layers), workloads::Parallel{.data = 4}).step({.microbatches = 3});
  for (const auto id : gradient_collectives(graph)) {
    for (int microbatch = 0; microbatch < 3; ++microbatch) {
      EXPECT_TRUE(waits_for(graph, id,
                            named(graph, "in projection weight gradient", graph.op(id).block,
                                  workloads::StepPass::backward, microbatch)));
    }
  }
}

// With the barrier every update waits for every gradient; without, only for its own layer's.
TEST(StepOptionsTest, OptimizerBarrier) {
  for (const bool barrier : {true, false}) {
    const auto graph =
        derived(two_matmuls(layers), workloads::Parallel{.data = 4}).step({.optimizer_barrier = barrier});
    for (int block = 0; block < layers; ++block) {
      const auto update = named(graph, "adam update", block, workloads::StepPass::update);
      ASSERT_GE(update, 0);
      for (const auto gradient : gradient_collectives(graph)) {
        EXPECT_EQ(waits_for(graph, update, gradient), barrier || graph.op(gradient).block == block);
      }
    }
  }
}

// ZeRO-1: the gather of the new weights follows the update of their block.
TEST(StepOptionsTest, PublishedAfterTheUpdate) {
  const auto graph = derived(two_matmuls(layers), workloads::Parallel{.data = 4, .zero = 1}).step();
  const auto gathers = weight_gathers(graph);
  EXPECT_EQ(bytes_of(graph, gathers), layers * 4 * D * F);
  for (const auto id : gathers) {
    EXPECT_EQ(graph.op(id).pass, workloads::StepPass::update);
    EXPECT_TRUE(waits_for(graph, id, named(graph, "adam update", graph.op(id).block, workloads::StepPass::update)));
  }
}

// Ahead: the same gathers begin the step, each before its block's first forward and no other; nothing follows the
// update.
TEST(StepOptionsTest, PublishedBeforeTheNextForward) {
  workloads::StepOptions options;
  options.publish_ahead = true;
  options.microbatches = 2;
  const auto graph = derived(two_matmuls(layers), workloads::Parallel{.data = 4, .zero = 1}).step(options);
  const auto gathers = weight_gathers(graph);
  EXPECT_EQ(bytes_of(graph, gathers), layers * 4 * D * F);
  for (const auto id : gathers) {
    EXPECT_EQ(graph.op(id).pass, workloads::StepPass::forward);
    EXPECT_TRUE(graph.predecessors(id).empty());
    for (int block = 0; block < layers; ++block) {
      const auto first = named(graph, "in projection", block, workloads::StepPass::forward);
      EXPECT_EQ(waits_for(graph, first, id), graph.op(id).block <= block) << block;
    }
  }
  for (const auto id : all_of(graph, [](const auto& op) { return op.pass == workloads::StepPass::update; }))
    EXPECT_EQ(graph.op(id)->kind, workloads::StepOp::Kind::compute);
}

// An update reads the gradient (2 B), reads and writes the state (8 B) and the weight (2 B): 22 B a parameter it owns.
TEST(StepOptionsTest, UpdateTraffic) {
  const auto graph = derived(two_matmuls(1), workloads::Parallel{.fsdp = 4}).step();
  EXPECT_EQ(graph.op(named(graph, "adam update", 0, workloads::StepPass::update))->traffic.value(), 22 * 2 * D * F / 4);
}

// Shared gathers of activations are kept for the backward; otherwise they are made again there, one more a layer.
TEST(StepOptionsTest, ActivationGathersSharedWithTheBackward) {
  const auto gathers = [](bool share) {
    const auto graph =
        derived(two_matmuls(layers), workloads::Parallel{.tensor = 4}, {.share_activation_gathers = share}).step();
    return all_of(graph,
                  [](const auto& op) {
                    return is_collective(op, workloads::CollectiveKind::all_gather,
                                         workloads::CollectiveRole::activation);
                  })
        .size();
  };
  EXPECT_EQ(gathers(true), 2U * layers);
  EXPECT_EQ(gathers(false), 3U * layers);
}

// The tied embedding's gradient is complete only when the head's part is there too.
TEST(StepOptionsTest, TiedGradientsMeetAtTheOwner) {
  auto model = transformer();
  model.tied_embeddings = true;
  for (const auto& parallel : {workloads::Parallel{.data = 4}, workloads::Parallel{.fsdp = 4}}) {
    const auto graph = derived(model, parallel).step({.microbatches = 2});
    for (int microbatch = 0; microbatch < 2; ++microbatch) {
      const auto head = named(graph, "unembedding weight gradient", 3, workloads::StepPass::backward, microbatch);
      ASSERT_GE(head, 0);
      EXPECT_TRUE(waits_for(graph, named(graph, "adam update", 0, workloads::StepPass::update, 1), head));
      for (const auto id : gradient_collectives(graph)) {
        if (graph.op(id)->name.find("dWembed") == std::string::npos || graph.op(id).microbatch < microbatch) continue;
        EXPECT_TRUE(waits_for(graph, id, head));
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::test
