// What one rank holds while the operations run one by one. B = 128 tokens on X = 4 ranks: 2BD/X = 2048, 2BF/X = 8192,
// 2DF = 8192 bytes.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/workloads/small_models.hpp"
#include "tests/unit/workloads/step_reach.hpp"
#include "workloads/sharded_layers/loss_elements.hpp"

namespace lockstep::test {
namespace {

constexpr int layers = 3;
constexpr std::int64_t bd = 2 * 128 * D / 4, bf = 2 * 128 * F / 4, df = 2 * D * F;

// Cross-entropy works on the logits in fp32, 4 B T V / (X Y) bytes for as long as it takes; nothing else needs a
// workspace.
TEST(StepMemoryTest, CrossEntropyWorksInFp32) {
  const auto graph = derived(transformer(layers), workloads::Parallel{.fsdp = 2, .tensor = 2}).step();
  for (workloads::OpId id = 0; id < graph.size(); ++id) {
    EXPECT_EQ(held(graph, id, workloads::MemoryKind::workspace),
              graph.op(id)->name == "cross-entropy" ? 4 * 128 * 96 / 4 : 0)
        << graph.op(id)->name;
  }
}

// Nothing but gradients is left when the first update starts, and they go with their updates.
TEST(StepMemoryTest, AllIsFreedByTheEnd) {
  for (const auto& parallel :
       {workloads::Parallel{.data = 4}, workloads::Parallel{.data = 4, .zero = 2}, workloads::Parallel{.fsdp = 4},
        workloads::Parallel{.tensor = 4}, workloads::Parallel{.fsdp = 2, .tensor = 2}}) {
    for (const auto& model : {two_matmuls(layers), transformer(layers)}) {
      const auto graph = derived(model, parallel).step({.microbatches = 2});
      const auto updates = all_of(graph, [](const auto& op) { return op.pass == workloads::StepPass::update; });
      EXPECT_EQ(held(graph, updates.front(), workloads::MemoryKind::activations), 0);
      EXPECT_EQ(held(graph, updates.front(), workloads::MemoryKind::gathered), 0);
      EXPECT_GT(held(graph, updates.front(), workloads::MemoryKind::gradients), 0);
      for (const auto kind :
           {workloads::MemoryKind::gradients, workloads::MemoryKind::activations, workloads::MemoryKind::weights,
            workloads::MemoryKind::optimizer, workloads::MemoryKind::gathered}) {
        EXPECT_EQ(held(graph, graph.size(), kind), 0);
      }
    }
  }
}

// Each layer keeps Tmp for its backward, and its input, which is the output of the layer before; the first layer's
// input comes from outside. Backward gives them back layer by layer.
TEST(StepMemoryTest, ActivationsRiseThroughForwardAndFallThroughBackward) {
  const auto graph = derived(two_matmuls(layers), workloads::Parallel{.data = 4}).step();
  for (int block = 0; block < layers; ++block) {
    const auto id = named(graph, "out projection", block, workloads::StepPass::forward);
    EXPECT_EQ(held(graph, id, workloads::MemoryKind::activations), (block + 1) * (bf + bd)) << block;
  }
  for (int block = layers - 1; block >= 0; --block) {
    // The layers below, own Tmp and input; dOut and, new, dTmp.
    const auto id = named(graph, "out projection input gradient", block, workloads::StepPass::backward);
    EXPECT_EQ(held(graph, id, workloads::MemoryKind::activations), block * (bf + bd) + bf + bd + bf) << block;
  }
}

// Partial gradients are whole on every rank and there from the layer's first backward to its update; with two
// microbatches the second adds to the same memory.
TEST(StepMemoryTest, AccumulatedGradients) {
  for (const int microbatches : {1, 2}) {
    const auto graph =
        derived(two_matmuls(layers), workloads::Parallel{.data = 4}).step({.microbatches = microbatches});
    const auto end = named(graph, "all gradients ready", 0, workloads::StepPass::update, microbatches - 1);
    EXPECT_EQ(held(graph, end, workloads::MemoryKind::gradients), layers * 2 * df);
    EXPECT_EQ(
        held(graph, named(graph, "in projection", 0, workloads::StepPass::forward), workloads::MemoryKind::gradients),
        0);
    const auto last = named(graph, "adam update", layers - 1, workloads::StepPass::update, microbatches - 1);
    EXPECT_EQ(held(graph, last, workloads::MemoryKind::gradients), 2 * df) << "only the last layer's";
  }
}

// FSDP: a whole gradient waits for its bucket to be scattered, beside the shards that are kept.
TEST(StepMemoryTest, UnreducedGradientsWaitForTheirBucket) {
  const auto all = derived(two_matmuls(layers), workloads::Parallel{.fsdp = 4});
  const auto graph = all.step();
  const auto scatter = all_of(graph, [](const auto& op) {
    return is_collective(op, workloads::CollectiveKind::reduce_scatter, workloads::CollectiveRole::gradient);
  });
  ASSERT_EQ(scatter.size(), 3U);
  for (std::size_t i = 0; i < scatter.size(); ++i) {
    EXPECT_EQ(held(graph, scatter[i], workloads::MemoryKind::gradients),
              2 * df + static_cast<std::int64_t>(i + 1) * 2 * df / 4);
  }
  // One bucket for all: all whole gradients are there at once.
  const auto once = all.step({.gradient_buckets = {workloads::Bucketing::Unit::size, Bytes(1 << 30)}});
  const auto last = all_of(once, [](const auto& op) {
    return is_collective(op, workloads::CollectiveKind::reduce_scatter, workloads::CollectiveRole::gradient);
  });
  ASSERT_EQ(last.size(), 1U);
  EXPECT_EQ(held(once, last[0], workloads::MemoryKind::gradients), layers * (2 * df + 2 * df / 4));
}

// Gathered weights live until the layer's products have read them: never more than prefetch + 1 layers.
TEST(StepMemoryTest, GatheredWeightsAreFreedAfterUse) {
  for (const int prefetch : {0, 1}) {
    const auto graph = derived(two_matmuls(layers), workloads::Parallel{.fsdp = 4}).step({.prefetch = prefetch});
    std::int64_t most = 0;
    for (workloads::OpId id = 0; id < graph.size(); ++id)
      most = std::max(most, held(graph, id, workloads::MemoryKind::gathered));
    EXPECT_EQ(most, 2 * df) << "one by one, in program order, a layer is gathered when it is next";
  }
  // Kept for the backward, all layers are there at its start.
  const auto kept = derived(two_matmuls(layers), workloads::Parallel{.fsdp = 4}, {.regather_weights = false}).step();
  EXPECT_EQ(held(kept, named(kept, "out projection input gradient", layers - 1, workloads::StepPass::backward),
                 workloads::MemoryKind::gathered),
            layers * 2 * df);
}

// TP: the gathered input (4 shards) is kept beside the split one, unless it is gathered again.
TEST(StepMemoryTest, GatheredActivations) {
  const auto at_end = [](bool share) {
    const auto graph =
        derived(two_matmuls(2), workloads::Parallel{.tensor = 4}, {.share_activation_gathers = share}).step();
    return held(graph, named(graph, "out projection weight gradient", 1, workloads::StepPass::backward),
                workloads::MemoryKind::activations);
  };
  // Both layers' gathered In; or the second's split In to gather again, and the split dOut that this gather waits for.
  EXPECT_EQ(at_end(true) - at_end(false), 2 * 4 * bd - 2 * bd);
}

// The loss leaves the gradient of the logits, as large as they are, until the unembedding's backward has read it.
TEST(StepMemoryTest, GradientOfTheLogits) {
  const auto graph = derived(transformer(), workloads::Parallel{.data = 4}).step();
  const auto loss = named(graph, "cross-entropy", 3, workloads::StepPass::forward);
  const std::int64_t logits = 2 * 128 * 96 / 4;
  const auto until = [&](workloads::OpId id) {
    std::int64_t sum = 0;
    for (const auto& buffer : graph.buffers) {
      if (buffer.producer == loss && buffer.kind == workloads::MemoryKind::activations &&
          *std::max_element(buffer.readers.begin(), buffer.readers.end()) >= id)
        sum += buffer.size.value();
    }
    return sum;
  };
  EXPECT_EQ(until(named(graph, "unembedding weight gradient", 3, workloads::StepPass::backward)), logits);
  EXPECT_EQ(until(named(graph, "final norm backward", 3, workloads::StepPass::backward)), 0);
}

// One kernel reads the logits and writes their gradient, 2 bytes each; kernels for each step of an unfused loss also
// pass three times over each of the 12 bytes that they hold for a logit: 4 + 36.
TEST(StepMemoryTest, AnUnfusedLossMovesWhatItHoldsThreeTimes) {
  const auto moved = [](Bytes held_for_a_logit) {
    const auto graph =
        derived(transformer(), workloads::Parallel{.data = 4}, {.loss_element = held_for_a_logit}).step();
    return graph.op(named(graph, "cross-entropy", 3, workloads::StepPass::forward))->traffic;
  };
  const std::int64_t logits = 128 * 96 / 4;
  EXPECT_EQ(moved(Bytes(0)), Bytes(4 * logits));
  EXPECT_EQ(moved(Bytes(4)), Bytes(4 * logits));
  EXPECT_EQ(moved(Bytes(12)), Bytes(40 * logits));
}

// Two metrics each copy the logits to fp32 (2 + 4 bytes) and take their logarithms (4 + 4). Counted are three passes
// over the 8 that one of them holds, beside the 4 of the loss itself. They run after the backward, so nothing is held
// beside activations.
TEST(StepMemoryTest, MetricsMoveLogitsAgainAndAddNothingToThePeak) {
  const auto graph =
      derived(transformer(), workloads::Parallel{.data = 4}, {.loss_element = workloads::loss_with_metrics}).step();
  const auto id = named(graph, "cross-entropy", 3, workloads::StepPass::forward);
  EXPECT_EQ(graph.op(id)->traffic, Bytes((4 + 3 * 8) * (128 * 96 / 4)));
  EXPECT_TRUE(std::none_of(graph.buffers.begin(), graph.buffers.end(), [&](const auto& buffer) {
    return buffer.producer == id && buffer.kind == workloads::MemoryKind::workspace && buffer.size > Bytes(0);
  }));
}

// Where the backward computes the loss again, metrics still come once, with the forward.
TEST(StepMemoryTest, MetricsComeOnceWhereTheLossIsComputedAgain) {
  const auto traffic = [](Bytes held, workloads::StepPass pass) {
    workloads::DerivePolicy policy{.loss_element = held};
    policy.loss_again = true;
    const auto graph = derived(transformer(), workloads::Parallel{.data = 4}, policy).step();
    return graph.op(named(graph, "cross-entropy", 3, pass))->traffic;
  };
  using workloads::StepPass;
  EXPECT_EQ(
      traffic(workloads::loss_with_metrics, StepPass::forward) - traffic(workloads::loss_in_place, StepPass::forward),
      Bytes(3 * 8 * (128 * 96 / 4)));
  EXPECT_EQ(traffic(workloads::loss_with_metrics, StepPass::backward),
            traffic(workloads::loss_in_place, StepPass::backward));
}

// 19 kernels compute the loss and 8 its gradient, each once for a tile; the gradient is left by the forward, or
// computed in the backward with logits that are computed again.
TEST(StepMemoryTest, AnUnfusedLossLaunchesItsKernelsOnce) {
  const auto kernels = [](bool again, workloads::StepPass pass) {
    workloads::DerivePolicy policy{.loss_element = Bytes(12), .loss_tiles = 2};
    policy.loss_again = again;
    const auto graph = derived(transformer(), workloads::Parallel{.data = 4}, policy).step();
    return graph.op(named(graph, "cross-entropy", 3, pass))->shape.kernels;
  };
  EXPECT_EQ(kernels(false, workloads::StepPass::forward), 2 * 27);
  EXPECT_EQ(kernels(true, workloads::StepPass::forward), 2 * 19);
  EXPECT_EQ(kernels(true, workloads::StepPass::backward), 2 * 8);
}

// In n tiles 1 / n of the logits, of their gradient and of the workspace exist at a time, and the products with logits
// run n times on 1 / n of the tokens: each further time reads the matrix, D V / Y numbers, once more.
TEST(StepMemoryTest, ALossInTilesHoldsOneTileOfTheLogits) {
  constexpr std::int64_t tiles = 8, logits = 128 * 96 / 4, matrix = 2 * D * 96;
  const auto whole = derived(transformer(), workloads::Parallel{.data = 4}).step();
  const auto tiled = derived(transformer(), workloads::Parallel{.data = 4}, {.loss_tiles = tiles}).step();
  const auto of = [](const workloads::StepGraph& graph, const char* name) {
    const auto id = named(graph, name, 3, workloads::StepPass::forward);
    std::int64_t activations = 0, workspace = 0;
    for (const auto& buffer : graph.buffers) {
      if (buffer.producer != id) continue;
      (buffer.kind == workloads::MemoryKind::workspace ? workspace : activations) += buffer.size.value();
    }
    return std::pair{activations, workspace};
  };
  EXPECT_EQ(of(whole, "unembedding"), (std::pair{2 * logits, std::int64_t{0}}));
  EXPECT_EQ(of(tiled, "unembedding"), (std::pair{2 * logits / tiles, std::int64_t{0}}));
  EXPECT_EQ(of(whole, "cross-entropy"), (std::pair{2 * logits, 4 * logits}));
  EXPECT_EQ(of(tiled, "cross-entropy"), (std::pair{2 * logits / tiles, 4 * logits / tiles}));
  const auto once = whole.op(named(whole, "unembedding", 3, workloads::StepPass::forward));
  const auto often = tiled.op(named(tiled, "unembedding", 3, workloads::StepPass::forward));
  EXPECT_EQ(often->flops, once->flops);
  EXPECT_EQ(often->traffic - once->traffic, Bytes((tiles - 1) * matrix));
  EXPECT_EQ(often->shape.m * tiles, once->shape.m);
  EXPECT_EQ(often->shape.batch, tiles * once->shape.batch);
}

// Logits that are computed again cost a third product, 2 B T D V FLOPs, and leave nothing for the backward: without
// them in the forward the gradient of the logits, 2 bytes each, exists in the backward alone.
TEST(StepMemoryTest, LogitsThatAreComputedAgainAreNotKept) {
  const auto graph = derived(transformer(), workloads::Parallel{.data = 4}, {.loss_again = true}).step();
  const auto loss = named(graph, "cross-entropy", 3, workloads::StepPass::forward);
  for (const auto& buffer : graph.buffers) {
    if (buffer.producer == loss && buffer.kind == workloads::MemoryKind::activations) {
      EXPECT_EQ(buffer.size, Bytes(0));
    }
  }
  const auto product = [&](workloads::StepPass pass) { return graph.op(named(graph, "unembedding", 3, pass))->flops; };
  EXPECT_EQ(product(workloads::StepPass::backward), product(workloads::StepPass::forward));
  const auto again = named(graph, "cross-entropy", 3, workloads::StepPass::backward);
  EXPECT_EQ(held(graph, again, workloads::MemoryKind::workspace), 4 * 128 * 96 / 4);
  EXPECT_LT(again, named(graph, "unembedding weight gradient", 3, workloads::StepPass::backward));
}

// Weights in fp32 alone take 4 P where a copy in 16 bits beside master weights takes 2 P + 4 P. The update moves the
// gradient, 2 P, weights read and written, and the state read and written: 2 + 2 x 2 + 2 x (8 + 4) = 30 bytes a
// parameter, or 2 + 2 x 4 + 2 x 8 = 26.
TEST(StepMemoryTest, WeightsInFp32AloneAreTheirOwnMasterCopy) {
  workloads::StepOptions options{.microbatches = 1};
  options.optimizer.master_weights = true;
  const auto copies = derived(transformer(), workloads::Parallel{.data = 4}).step(options);
  options.optimizer.master_weights = false;
  const auto alone = derived(transformer(), workloads::Parallel{.data = 4}, {.stored_element = Bytes(4)}).step(options);
  const auto& of_copies = copies.held.begin()[0];
  const auto& of_one = alone.held.begin()[0];
  EXPECT_EQ(of_one.weights, 2 * of_copies.weights);
  EXPECT_EQ(of_copies.optimizer - of_one.optimizer, 2 * of_copies.weights);
  const auto moved = [](const workloads::StepGraph& graph) {
    return graph.op(named(graph, "adam update", 0, workloads::StepPass::update))->traffic.value();
  };
  EXPECT_EQ(moved(copies) * 26, moved(alone) * 30);
}

// What ZeRO-1 gathers after the update are weights as they are stored: 4 bytes each in fp32, twice those of 16 bits.
TEST(StepMemoryTest, UpdatedWeightsTravelAsTheyAreStored) {
  const auto gathered = [](Bytes element) {
    const auto layers = derived(transformer(), workloads::Parallel{.data = 4, .zero = 1}, {.stored_element = element});
    std::int64_t sum = 0;
    for (const auto& layer : layers.kinds) {
      for (const auto& update : layer.weights) {
        for (const auto& gather : update.publish) sum += gather.full_size.value();
      }
    }
    return sum;
  };
  EXPECT_GT(gathered(Bytes(2)), 0);
  EXPECT_EQ(gathered(Bytes(4)), 2 * gathered(Bytes(2)));
}

// A tied head's gradient takes the embedding's memory from the start of the backward on.
TEST(StepMemoryTest, TiedGradientIsThereFromTheHeadOn) {
  auto model = transformer();
  model.tied_embeddings = true;
  const auto graph = derived(model, workloads::Parallel{.data = 4}).step();
  const auto head = named(graph, "unembedding weight gradient", 3, workloads::StepPass::backward);
  EXPECT_EQ(held(graph, head, workloads::MemoryKind::gradients), 2 * 96 * D);
}

// Searches ask for times alone: the operations are the same, and nothing is said of memory. Transfers to the host carry
// what is held, so with those it is.
TEST(StepMemoryTest, CanBeLeftOut) {
  const auto model = derived(transformer(), workloads::Parallel{.data = 2, .fsdp = 2, .tensor = 2});
  workloads::StepOptions options{.microbatches = 3, .gradient_reduce_element = Bytes(4)};
  const auto with = model.step(options);
  options.memory = false;
  const auto without = model.step(options);
  EXPECT_FALSE(with.buffers.empty());
  EXPECT_TRUE(without.buffers.empty());
  EXPECT_EQ(without.to_string(), with.to_string());

  options.offload.activation_layers = 1;
  options.offload.link = BytesPerSecond(1e9);
  const auto offloaded = model.step(options);
  options.memory = true;
  EXPECT_EQ(offloaded.to_string(), model.step(options).to_string());
}

}  // namespace
}  // namespace lockstep::test
