// Recurrences: 16 sequences of 8 tokens, 8 heads with states of 4 x 6, queries and keys of 4 heads, a convolution over
// 4 tokens, chunks of 2; 2 bytes an element, 4 of a state.
#include <gmock/gmock.h>

#include "tests/unit/workloads/small_models.hpp"

namespace lockstep::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using Rule = workloads::Recurrence::Rule;

double flops(const workloads::BlockSteps& steps) {
  double sum = 0;
  for (const auto& step : steps) sum += step.flops.value();
  return sum;
}

double scan(const workloads::BlockSteps& steps) {
  double sum = 0;
  for (const auto& step : steps) {
    if (step.name.starts_with("scan")) sum += step.flops.value();
  }
  return sum;
}

// Of 128 tokens. mamba2, a head: 2 (C P + 2 S P), a key head 2 C S; delta rules: 2 (3 C S + 2 C P + C^2 / 3 + 3 S P).
// The backward does twice that and the states again, 2 S P or 2 (C S + C P + 2 S P).
TEST(Recurrence, WorkOfTheScanByHand) {
  const double C = 2, S = 4, P = 6;
  const double mamba = 128 * (8 * 2 * (C * P + 2 * S * P) + 4 * 2 * C * S);
  const double delta = 128 * 8 * 2 * (3 * C * S + 2 * C * P + C * C / 3 + 3 * S * P);
  const auto one = derived(recurrent(Rule::mamba2), workloads::Parallel{}).layer();
  EXPECT_NEAR(scan(one.forward), mamba, 1e-6);
  EXPECT_NEAR(scan(one.backward), 2 * mamba + 128 * 8 * 2 * S * P, 1e-6);
  for (const Rule rule : {Rule::gated_delta, Rule::kimi_delta}) {
    const auto layer = derived(recurrent(rule), workloads::Parallel{}).layer();
    EXPECT_NEAR(scan(layer.forward), delta, 1e-6);
    EXPECT_NEAR(scan(layer.backward), 2 * delta + 128 * 8 * 2 * (C * S + C * P + 2 * S * P), 1e-6);
  }
}

// Everything but the scan is 2 x the matrices a token forward and 4 x backward.
TEST(Recurrence, ProductsAreTheMatrices) {
  for (const Rule rule : {Rule::mamba2, Rule::gated_delta, Rule::kimi_delta}) {
    auto model = recurrent(rule);
    if (rule == Rule::kimi_delta) model.recurrence->gate_rank = model.recurrence->decay_rank = 6;
    const auto layer = derived(model, workloads::Parallel{}).layer();
    const double mlp = 3.0 * D * F;
    const double weights = static_cast<double>(recurrence_matrices(*model.recurrence, D)) + mlp;
    EXPECT_NEAR(flops(layer.forward) - scan(layer.forward), 2 * 128 * weights, 1e-6);
    EXPECT_NEAR(flops(layer.backward) - scan(layer.backward), 4 * 128 * weights, 1e-6);
  }
}

// Four ranks of 2 tokens in two pieces each. States of 16 sequences x 8 heads x 4 x 6 numbers of 4 B, one for each
// piece of each rank: 8 x 12288 B; with a delta rule 4 x 4 besides for each head, 8 x 8192 B. The convolution reads 3
// tokens before a piece, of which a rank has 2: 8 x 2 x 16 x 16 x 2 B of queries and of keys, 8 x 2 x 16 x 48 x 2 B of
// values. No keys or values of all tokens move.
TEST(Recurrence, ContextParallelismPassesTheStateAlong) {
  for (const Rule rule : {Rule::mamba2, Rule::gated_delta}) {
    const auto layer = derived(recurrent(rule), workloads::Parallel{.context = 4}).layer();
    const std::string state = std::to_string(8 * 12288 + (rule == Rule::mamba2 ? 0 : 8 * 8192));
    EXPECT_THAT(collectives(layer.forward),
                ::testing::UnorderedElementsAre("AllGather_context Mqp 8192", "AllGather_context Mkp 8192",
                                                "AllGather_context Mvp 24576", "AllGather_context Mo state " + state));
    EXPECT_THAT(
        collectives(layer.backward),
        ::testing::UnorderedElementsAre("AllGather_context dMqp 8192", "AllGather_context dMkp 8192",
                                        "AllGather_context dMvp 24576", "AllGather_context dMo state " + state));
  }
}

// Twice the tokens pass the same state: what attention would gather doubles.
TEST(Recurrence, TheStateDoesNotGrowWithTheSequence) {
  const auto bytes = [](std::int64_t length, const std::string& what) {
    const auto model = recurrent(Rule::mamba2);
    const workloads::Parallel parallel{.context = 2};
    const auto layer = derived(model, plan_for(blocks_of(model), parallel), parallel, {}, 16, length).layer();
    std::int64_t sum = 0;
    for (const auto& step : layer.forward) {
      if (step.name.find(what) != std::string::npos) sum += step.full_size.value();
    }
    return sum;
  };
  EXPECT_EQ(bytes(8, "Mo state"), bytes(64, "Mo state"));
  EXPECT_EQ(bytes(64, "Mvp"), bytes(128, "Mvp")) << "three tokens of each piece";
}

// On context ranks the states of a rank's own tokens are computed first, once more than without.
TEST(Recurrence, WorkOnContextRanks) {
  const auto model = recurrent(Rule::gated_delta);
  const auto whole = derived(model, workloads::Parallel{}).layer();
  const double states = 128 * 8 * chunk_flops_of_head(*model.recurrence).states;
  for (const std::int64_t n : {2, 4}) {
    const auto layer = derived(model, workloads::Parallel{.context = n}).layer();
    const auto ranks = static_cast<double>(n);
    EXPECT_NEAR(scan(layer.forward) * ranks, scan(whole.forward) + states, 1e-6);
    EXPECT_NEAR(scan(layer.backward) * ranks, scan(whole.backward) + states, 1e-6);
  }
}

// Exchanged heads: every rank has 8 / 2 heads of all tokens, and no state moves. More ranks than key heads cannot.
TEST(Recurrence, ExchangedHeadsPassNoState) {
  workloads::DerivePolicy policy;
  policy.context_attention = workloads::ContextAttention::all_to_all;
  const auto model = recurrent(Rule::mamba2);
  const auto layer = derived(model, workloads::Parallel{.context = 2}, policy).layer();
  const auto moved = collectives(layer.forward);
  for (const std::string array : {"Mq 4096", "Mk 4096", "Mv 12288", "Md 2048", "Mo 12288"})
    EXPECT_THAT(moved, Contains("AllToAll_context " + array));
  EXPECT_THAT(moved, Not(Contains(HasSubstr("state"))));
  EXPECT_NEAR(scan(layer.forward) * 2, scan(derived(model, workloads::Parallel{}).layer().forward), 1e-6);
  EXPECT_THROW((void)derived(model, workloads::Parallel{.context = 8}, policy), workloads::ShardingError);
}

// Tensor parallelism splits heads and key heads: half the scan, the states of half the heads.
TEST(Recurrence, TensorParallelismSplitsHeads) {
  const auto model = recurrent(Rule::gated_delta);
  const auto whole = derived(model, workloads::Parallel{}).layer();
  const auto half = derived(model, workloads::Parallel{.tensor = 2}).layer();
  EXPECT_NEAR(scan(half.forward) * 2, scan(whole.forward), 1e-6);
  EXPECT_NEAR(flops(half.forward) * 2, flops(whole.forward), 1e-6);
  const auto both = derived(model, workloads::Parallel{.tensor = 2, .context = 2}).layer();
  EXPECT_THAT(collectives(both.forward),
              Contains("AllGather_context Mo state " + std::to_string(4 * (12288 + 8192) / 2)));
  EXPECT_THROW((void)derived(model, workloads::Parallel{.tensor = 8}), workloads::ShardingError) << "4 key heads";
}

// Layers of one part: a mixer or an MLP with its norm and its residual add.
TEST(Recurrence, LayersOfOnePart) {
  auto model = recurrent(Rule::mamba2, 4);
  model.layer_kinds = {workloads::LayerKind{.mixer = workloads::Mixer::recurrence, .mlp = false},
                       workloads::LayerKind{.mixer = workloads::Mixer::none}, workloads::LayerKind{.mlp = false},
                       workloads::LayerKind{.mixer = workloads::Mixer::none}};
  const auto all = derived(model, workloads::Parallel{});
  ASSERT_EQ(all.order.size(), 6U);
  std::vector<std::string> names;
  for (const auto& kind : all.kinds) names.push_back(kind.name);
  EXPECT_THAT(names, ::testing::ElementsAre("embedding", "recurrent layer", "dense layer", "attention layer", "head"));
  double sum = 0;
  for (const int kind : all.order) sum += flops(all.kinds[kind].forward);
  const auto& recurrence = *model.recurrence;
  const double beyond = 8 * chunk_flops_of_head(recurrence).forward + 4 * chunk_flops_of_key_head(recurrence).forward -
                        counted_state_flops(recurrence);
  EXPECT_NEAR(sum, 128 * (forward_flops_per_token(model, 8, true) + beyond), 1e-6);
}

}  // namespace
}  // namespace lockstep::test
