// Attention to the tokens that an indexer chooses: 16 sequences of 8 tokens, N = 8 heads, ranks of 12 and 10, an
// indexer of 2 heads of 4 that chooses 4 tokens, 2 bytes an element.
#include <gmock/gmock.h>

#include "tests/unit/workloads/small_models.hpp"

namespace lockstep::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

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

// Forward and backward on one rank are what the model's equations say of training, layer by layer and in all.
TEST(SparseAttention, WorkIsThatOfTheEquations) {
  for (const std::int64_t top_k : {4, 8, 100}) {
    auto model = sparse();
    model.indexer->top_k = top_k;
    const auto all = derived(model, workloads::Parallel{});
    double sum = 0;
    for (const int kind : all.order) sum += flops(all.kinds[kind].forward) + flops(all.kinds[kind].backward);
    EXPECT_NEAR(sum / (128 * training_flops_per_token(model, 8, true)), 1, 1e-12) << top_k;
  }
}

// What the indexer reads of the layer gets no gradient: its projections have a weight gradient and no input gradient.
TEST(SparseAttention, TheIndexerIsDetached) {
  const auto layer = derived(sparse(), workloads::Parallel{}).layer();
  const auto backward = names(layer.backward);
  for (const std::string projection :
       {"indexer query projection", "indexer key projection", "indexer weights of heads"}) {
    EXPECT_THAT(backward, Contains(projection + " weight gradient"));
    EXPECT_THAT(backward, Not(Contains(projection + " input gradient")));
  }
  EXPECT_THAT(backward, Contains("index target"));
  EXPECT_THAT(backward, Contains("query projection input gradient"));
}

// All heads share the latents, so context parallelism gathers 128 tokens x (10 + 2) numbers, and x 4 of the indexer's
// keys, whatever the number of heads; gradients are scattered back.
TEST(SparseAttention, ContextParallelismGathersLatents) {
  const auto layer = derived(sparse(), workloads::Parallel{.context = 4}).layer();
  EXPECT_THAT(collectives(layer.forward), UnorderedElementsAre("AllGather_context KVn 2560", "AllGather_context Kr 512",
                                                               "AllGather_context Ik 1024"));
  EXPECT_THAT(collectives(layer.backward),
              UnorderedElementsAre("ReduceScatter_context dKVn 2560", "ReduceScatter_context dKr 512",
                                   "ReduceScatter_context dIk 1024"));
}

// Balanced pieces share the work out evenly; in contiguous pieces the last of n ranks sees more: tokens 7 and 8 of 8
// choose 4 each of 3.25 on average, and score 7.5 of 4.5.
TEST(SparseAttention, WorkIsSharedOutOverContextRanks) {
  const auto whole = derived(sparse(), workloads::Parallel{}).layer();
  for (const std::int64_t n : {2, 4}) {
    const auto layer = derived(sparse(), workloads::Parallel{.context = n}).layer();
    EXPECT_NEAR(flops(layer.forward) * static_cast<double>(n), flops(whole.forward), 1e-6) << n;
    EXPECT_NEAR(flops(layer.backward) * static_cast<double>(n), flops(whole.backward), 1e-6) << n;
  }
  workloads::DerivePolicy policy;
  policy.balanced_context = false;
  const auto uneven = derived(sparse(), workloads::Parallel{.context = 4}, policy).layer();
  EXPECT_NEAR(flops(uneven.forward, "attention") * 4 / flops(whole.forward, "attention"), 4 / 3.25, 1e-12);
  EXPECT_NEAR(flops(uneven.forward, "index scores") * 4 / flops(whole.forward, "index scores"), 7.5 / 4.5, 1e-12);
}

// A chosen token may lie on any rank, so neither travelling keys nor exchanged heads serve.
TEST(SparseAttention, OtherFormsOfContextParallelismAreRefused) {
  for (const auto form : {workloads::ContextAttention::ring, workloads::ContextAttention::all_to_all}) {
    workloads::DerivePolicy policy;
    policy.context_attention = form;
    EXPECT_THROW((void)derived(sparse(), workloads::Parallel{.context = 2}, policy), workloads::ShardingError);
  }
}

// Tensor parallelism splits the heads of attention and, as the stream's tokens are split, the indexer's queries. Ranks
// gather the choice, 128 x 4 numbers of 4 B, and scatter the sum of their heads' scores of it.
TEST(SparseAttention, TensorParallelismSplitsHeadsAndQueries) {
  const auto whole = derived(sparse(), workloads::Parallel{}).layer();
  const auto layer = derived(sparse(), workloads::Parallel{.tensor = 4}).layer();
  for (const std::string step : {"attention", "index scores"})
    EXPECT_NEAR(flops(layer.forward, step) * 4, flops(whole.forward, step), 1e-6) << step;
  EXPECT_NEAR(flops(layer.backward, "index target") * 4, flops(whole.backward, "index target"), 1e-6);
  EXPECT_THAT(collectives(layer.forward), Contains("AllGather_tensor Chosen 2048"));
  EXPECT_THAT(collectives(layer.backward), Contains(HasSubstr("ReduceScatter_tensor index target 2048")));
}

// A layer that takes over the choice of the layer before has no indexer, and attends to as many tokens.
TEST(SparseAttention, ASharedIndexCostsNothing) {
  auto model = sparse();
  model.layer_kinds = {workloads::LayerKind{}, workloads::LayerKind{.shared_index = true}};
  const auto all = derived(model, workloads::Parallel{});
  const auto& own = all.kinds[1];
  const auto& shared = all.kinds[2];
  EXPECT_EQ(flops(own.forward, "attention"), flops(shared.forward, "attention"));
  EXPECT_THAT(names(own.forward), Contains("index scores"));
  EXPECT_THAT(names(shared.forward), Not(Contains("index scores")));
  EXPECT_THAT(names(shared.backward), Not(Contains("index target")));
}

// Between its kernel and the choice, the scores of 128 tokens over 8 each lie in memory in fp32.
TEST(SparseAttention, ScoresAreHeldUntilTheChoice) {
  for (const std::int64_t context : {1, 4}) {
    const auto layer = derived(sparse(), workloads::Parallel{.context = context}).layer();
    for (const auto& step : layer.forward) {
      if (step.name == "index scores") EXPECT_EQ(step.output.value(), 128 * 8 * 4 / context);
    }
  }
}

}  // namespace
}  // namespace lockstep::test
