// Context parallelism on 2, 4 and 8 ranks: what moves in each of its forms, and that the work stays the same.
// 128 tokens, N = 8 heads on K = 4 of H = 4, D = 32, 2 bytes an element.
#include <gmock/gmock.h>

#include "tests/unit/workloads/small_models.hpp"

namespace lockstep::test {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

workloads::ShardedLayer layer_of(std::int64_t context, workloads::ContextAttention form,
                                 const workloads::Parallel& others = {}, bool balanced = true) {
  auto parallel = others;
  parallel.context = context;
  workloads::DerivePolicy policy;
  policy.context_attention = form;
  policy.balanced_context = balanced;
  return derived(transformer(), parallel, policy).layer();
}

double flops(const workloads::BlockSteps& steps) {
  double sum = 0;
  for (const auto& step : steps) sum += step.flops.value();
  return sum;
}

// Gathered: K and V of 128 tokens x 4 x 4 x 2 B = 4096 B each, and their gradients scattered back.
TEST(ContextParallel, GatheredKeysAndValues) {
  const auto layer = layer_of(4, workloads::ContextAttention::all_gather);
  EXPECT_THAT(collectives(layer.forward), UnorderedElementsAre("AllGather_context K 4096", "AllGather_context V 4096"));
  EXPECT_THAT(collectives(layer.backward),
              UnorderedElementsAre("ReduceScatter_context dK 4096", "ReduceScatter_context dV 4096"));
}

// Travelling: the same bytes, once more in the backward because nobody keeps them; a rank holds two pieces of each.
TEST(ContextParallel, TravellingKeysAndValues) {
  const auto layer = layer_of(4, workloads::ContextAttention::ring);
  EXPECT_THAT(collectives(layer.forward), UnorderedElementsAre("AllGather_context K 4096", "AllGather_context V 4096"));
  EXPECT_THAT(collectives(layer.backward),
              UnorderedElementsAre("AllGather_context K 4096", "AllGather_context V 4096",
                                   "ReduceScatter_context dK 4096", "ReduceScatter_context dV 4096"));
  for (const auto& step : layer.forward) {
    if (step.kind == workloads::BlockStep::Kind::compute) continue;
    EXPECT_EQ(step.output.value(), 2 * 4096 / 4);
  }
}

// A window of 3 of a sequence's 8 tokens: in 4 contiguous pieces of 2 it reaches one other piece of three, in 8
// balanced ones two before each of a rank's two: 4 of the other ranks' 6. Gradients come back likewise.
TEST(ContextParallel, AWindowShortensTheRing) {
  for (const auto& [balanced, bytes] : {std::pair{false, 4096 / 3}, std::pair{true, 4096 * 2 / 3}}) {
    auto model = transformer();
    model.layer_kinds.assign(static_cast<std::size_t>(model.layers),
                             workloads::LayerKind{.reach = workloads::AttentionReach::sliding, .span = 3});
    workloads::DerivePolicy policy;
    policy.context_attention = workloads::ContextAttention::ring;
    policy.balanced_context = balanced;
    const auto layer = derived(model, workloads::Parallel{.context = 4}, policy).layer();
    const auto size = std::to_string(bytes);
    EXPECT_THAT(collectives(layer.forward),
                UnorderedElementsAre("AllGather_context K " + size, "AllGather_context V " + size));
    EXPECT_THAT(collectives(layer.backward),
                UnorderedElementsAre("AllGather_context K " + size, "AllGather_context V " + size,
                                     "ReduceScatter_context dK " + size, "ReduceScatter_context dV " + size));
  }
}

// Only the last piece of attention waits for what travels, so that n pieces of C seconds of work and n - 1 hops of L
// take max(C (n - 1), L (n - 1)) + C: the ring of arXiv 2310.01889.
TEST(ContextParallel, AttentionRunsWhileKeysTravel) {
  for (const std::int64_t n : {2, 4, 8}) {
    const auto layer = layer_of(n, workloads::ContextAttention::ring);
    double before = 0, after = 0;
    for (const auto& step : layer.forward) {
      if (step.name.find("attention to") != 0) continue;
      const bool waits = std::any_of(step.after.begin(), step.after.end(), [&](int id) {
        return id != workloads::BlockStep::outside &&
               layer.forward[static_cast<std::size_t>(id)].kind == workloads::BlockStep::Kind::collective;
      });
      (waits ? after : before) += step.flops.value();
    }
    EXPECT_NEAR(before / after, static_cast<double>(n - 1), 1e-12) << n;
  }
}

// Exchanged (Ulysses): Q, K, V and the result go from split tokens to split heads and back: 128 tokens x (8, 4, 4, 8)
// heads x 4 x 2 B. With more ranks than key-value heads those are gathered instead.
TEST(ContextParallel, ExchangedHeads) {
  const auto layer = layer_of(4, workloads::ContextAttention::all_to_all);
  EXPECT_THAT(collectives(layer.forward), UnorderedElementsAre("AllToAll_context Q 8192", "AllToAll_context K 4096",
                                                               "AllToAll_context V 4096", "AllToAll_context O 8192"));
  EXPECT_THAT(collectives(layer.backward),
              UnorderedElementsAre("AllToAll_context dO 8192", "AllToAll_context dQ 8192", "AllToAll_context dK 4096",
                                   "AllToAll_context dV 4096"));
  const auto wide = layer_of(8, workloads::ContextAttention::all_to_all);
  EXPECT_THAT(collectives(wide.forward), UnorderedElementsAre("AllToAll_context Q 8192", "AllGather_context K 4096",
                                                              "AllGather_context V 4096", "AllToAll_context O 8192"));
  EXPECT_THROW((void)layer_of(8, workloads::ContextAttention::all_to_all, {.tensor = 2}),
               workloads::ShardingError);  // 16 ranks for 8 heads
}

// A rank does 1/n of the work, whatever the form; in contiguous pieces the last one does (2 n - 1) / n of the mean
// attention.
TEST(ContextParallel, WorkIsSharedOut) {
  const auto whole = layer_of(1, workloads::ContextAttention::ring);
  const double attention = 2.0 * 128 * 2 * 32 * 8 / 2;  // 2 x tokens x (Q + O) x T / 2
  for (const std::int64_t n : {2, 4}) {
    for (const auto form : {workloads::ContextAttention::ring, workloads::ContextAttention::all_gather,
                            workloads::ContextAttention::all_to_all}) {
      const auto layer = layer_of(n, form);
      EXPECT_NEAR(flops(layer.forward) * static_cast<double>(n), flops(whole.forward), 1e-6) << n;
      EXPECT_NEAR(flops(layer.backward) * static_cast<double>(n), flops(whole.backward), 1e-6) << n;
    }
    const auto uneven = layer_of(n, workloads::ContextAttention::ring, {}, false);
    const double more =
        attention * (static_cast<double>(2 * n - 1) / static_cast<double>(n) - 1) / static_cast<double>(n);
    EXPECT_NEAR(flops(uneven.forward), flops(whole.forward) / static_cast<double>(n) + more, 1e-6);
  }
}

// Weights meet other tokens on every context rank: their gradients are reduced over that axis with the data axis.
TEST(ContextParallel, GradientsAreReducedOverIt) {
  const auto layer = layer_of(4, workloads::ContextAttention::ring, {.data = 2, .zero = 1});
  for (const auto& update : layer.weights) {
    ASSERT_EQ(update.last_microbatch.size(), 1U) << update.weight;
    EXPECT_THAT(update.last_microbatch[0].axes, ElementsAre("data", "context"));
  }
}

// With tensor parallelism the stream is split over both axes, and what is gathered for the products is a context rank's
// part.
TEST(ContextParallel, BesideTensorParallelism) {
  const auto layer = layer_of(2, workloads::ContextAttention::ring, {.tensor = 2});
  // A and M: 128 / 2 tokens x 32 x 2 B; K and V: 128 tokens x 4 / 2 heads x 4 x 2 B.
  EXPECT_THAT(
      collectives(layer.forward),
      UnorderedElementsAre("AllGather_tensor A 4096", "AllGather_context K 2048", "AllGather_context V 2048",
                           "ReduceScatter_tensor Y 4096", "AllGather_tensor M 4096", "ReduceScatter_tensor E 4096"));
}

// Attention and MLP beside each other: one gather and one reduce-scatter of the layer's 128 x 32 x 2 B, not two of
// each.
TEST(ParallelResidual, OneReductionForBothBranches) {
  auto model = transformer();
  model.parallel_residual = true;
  model.norms_per_layer = 1;
  const auto layer = derived(model, workloads::Parallel{.tensor = 2}).layer();
  EXPECT_THAT(collectives(layer.forward),
              UnorderedElementsAre("AllGather_tensor A 8192", "ReduceScatter_tensor S 8192"));
  workloads::DerivePolicy again;
  again.share_activation_gathers = true;
  EXPECT_THAT(collectives(layer.backward),
              ::testing::IsSupersetOf({"AllGather_tensor dS 8192", "ReduceScatter_tensor dA 8192"}));
}

}  // namespace
}  // namespace lockstep::test
