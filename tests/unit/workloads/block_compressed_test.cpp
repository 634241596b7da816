// A window and compressed entries: 16 sequences of 8 tokens, N = 8 heads of 8, a window of 3, entries of 2 and of 4
// tokens, an indexer of 2 heads of 4 that chooses 2 entries, 2 bytes an element; and hyper-connections of 2 streams.
#include <gmock/gmock.h>

#include "tests/unit/workloads/small_models.hpp"

namespace lockstep::test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

enum Kind { embedding, window, chosen, all, head };

double flops(const workloads::BlockSteps& steps, const std::string& name = "") {
  double sum = 0;
  for (const auto& step : steps) {
    if (name.empty() || step.name == name) sum += step.flops.value();
  }
  return sum;
}

std::vector<std::string> names(const workloads::BlockSteps& steps) {
  std::vector<std::string> result;
  for (const auto& step : steps) result.push_back(step.name);
  return result;
}

std::int64_t parameters(const workloads::ShardedLayer& layer) {
  std::int64_t sum = 0;
  for (const auto& weight : layer.weights) sum += weight.parameters;
  return sum;
}

// Forward and backward on one rank are what the model's equations say of training, layer by layer and in all.
TEST(CompressedAttention, WorkIsThatOfTheEquations) {
  for (const std::int64_t top_k : {1, 2, 100}) {
    for (const std::int64_t streams : {1, 2}) {
      auto model = compressed(streams);
      model.indexer->top_k = top_k;
      const auto derivation = derived(model, workloads::Parallel{});
      double sum = 0;
      for (const int kind : derivation.order)
        sum += flops(derivation.kinds[kind].forward) + flops(derivation.kinds[kind].backward);
      EXPECT_NEAR(sum / (128 * training_flops_per_token(model, 8, true)), 1, 1e-12) << top_k << ", " << streams;
    }
  }
}

// The step holds all parameters but the sinks, a number for each head, and the offsets and scales of the streams'
// mixes.
TEST(CompressedAttention, ParametersAreThoseOfTheCount) {
  for (const std::int64_t streams : {1, 2}) {
    const auto model = compressed(streams);
    const auto derivation = derived(model, workloads::Parallel{});
    std::int64_t sum = 0;
    for (const int kind : derivation.order) sum += parameters(derivation.kinds[kind]);
    const auto mix = streams * (streams + 2);
    const auto left_out = streams == 1 ? 0 : 3 * 2 * (mix + 3) + streams + 1;
    EXPECT_EQ(sum, count_parameters(model).total() - left_out);
  }
}

// On 2 context ranks with an early and a late piece of 2 tokens each: entries of all tokens are gathered, 128 tokens x
// 4 numbers (chosen) or x 2 (all); of the keys only the 2 tokens before each piece; of what overlapping entries are
// made of, the 2 tokens before.
TEST(CompressedAttention, ContextParallelismGathersEntriesAndTheLastTokens) {
  const auto derivation = derived(compressed(), workloads::Parallel{.context = 2});
  // 16 sequences x 2 tokens x 2 pieces x 2 ranks x 8 numbers x 2 B
  const std::string of_keys = "AllGather_context Kw " + std::to_string(16 * 2 * 2 * 2 * 8 * 2);
  EXPECT_THAT(collectives(derivation.kinds[window].forward), UnorderedElementsAre(of_keys));
  EXPECT_THAT(collectives(derivation.kinds[all].forward),
              UnorderedElementsAre(of_keys, "AllGather_context Kl " + std::to_string(128 * 2 * 2)));
  const std::string wide = std::to_string(16 * 2 * 2 * 2 * 16 * 2), index = std::to_string(16 * 2 * 2 * 2 * 8 * 2);
  EXPECT_THAT(collectives(derivation.kinds[chosen].forward),
              UnorderedElementsAre(of_keys, "AllGather_context Ks " + std::to_string(128 * 4 * 2),
                                   "AllGather_context Ik " + std::to_string(128 * 2 * 2),
                                   "AllGather_context Ksv " + wide, "AllGather_context Ksw " + wide,
                                   "AllGather_context Ikv " + index, "AllGather_context Ikw " + index));
  EXPECT_THAT(collectives(derivation.kinds[all].backward),
              Contains("ReduceScatter_context dKl " + std::to_string(128 * 2 * 2)));
}

// What the ranks of an axis do together is what one rank does, and with contiguous pieces the last does more.
TEST(CompressedAttention, WorkIsSharedOutOverRanks) {
  const auto whole = derived(compressed(2), workloads::Parallel{});
  for (const auto& parallel : {workloads::Parallel{.context = 2}, workloads::Parallel{.tensor = 4}}) {
    const auto parts = derived(compressed(2), parallel);
    const auto ranks = static_cast<double>(parallel.context * parallel.tensor);
    for (const int kind : {window, chosen, all}) {
      EXPECT_NEAR(flops(parts.kinds[kind].forward) * ranks, flops(whole.kinds[kind].forward), 1e-6);
      EXPECT_NEAR(flops(parts.kinds[kind].backward) * ranks, flops(whole.kinds[kind].backward), 1e-6);
    }
  }
  workloads::DerivePolicy policy;
  policy.balanced_context = false;
  const auto uneven = derived(compressed(), workloads::Parallel{.context = 2}, policy);
  // The last 4 of 8 tokens see 3 of the window and 1, 1, 1, 2 entries, the first 4 half of the window's first 3 tokens,
  // as equations have it, and 0, 0, 0, 1 entries.
  EXPECT_NEAR(flops(uneven.kinds[all].forward, "attention") / flops(whole.kinds[all].forward, "attention"),
              (3 * 4 + 5) / (3 * 4 + 5 + 3 * 4 - 4.5 + 1), 1e-12);
}

TEST(CompressedAttention, OtherFormsOfContextParallelismAreRefused) {
  for (const auto form : {workloads::ContextAttention::ring, workloads::ContextAttention::all_to_all}) {
    workloads::DerivePolicy policy;
    policy.context_attention = form;
    EXPECT_THROW((void)derived(compressed(), workloads::Parallel{.context = 2}, policy), workloads::ShardingError);
  }
}

// Its input gets no gradient from the indexer, whose keys are entries of their own.
TEST(CompressedAttention, TheIndexerIsDetached) {
  const auto backward = names(derived(compressed(), workloads::Parallel{}).kinds[chosen].backward);
  for (const std::string projection : {"indexer query projection", "indexer key values", "indexer key weights"}) {
    EXPECT_THAT(backward, Contains(projection + " weight gradient"));
    EXPECT_THAT(backward, Not(Contains(projection + " input gradient")));
  }
  EXPECT_THAT(backward, AllOf(Contains("entry values input gradient"), Contains("index target")));
}

// A block hands on all streams: twice the bytes, for the stage behind too; recomputing them keeps none of those inside.
TEST(HyperConnections, StreamsCrossBlocksAndCanBeComputedAgain) {
  const auto one = derived(compressed(1), workloads::Parallel{});
  const auto two = derived(compressed(2), workloads::Parallel{});
  EXPECT_EQ(two.kinds[window].input_bytes, one.kinds[window].input_bytes * 2);
  EXPECT_THAT(names(two.kinds[window].forward),
              AllOf(Contains("attention input mix"), Contains("attention input of streams"),
                    Contains("mlp result to streams"), Not(Contains("residual add"))));
  workloads::DerivePolicy policy;
  policy.recompute.parts = {workloads::OpPart::streams};
  const auto again = derived(compressed(2), plan_for(blocks_of(compressed(2)), {}), {}, policy);
  EXPECT_THAT(names(again.kinds[window].backward), Contains("attention result to streams"));
}

}  // namespace
}  // namespace lockstep::test
