// What a layer keeps between its passes, and what recomputation makes of it. Korthikanti et al., arXiv 2205.05198, with
// s tokens, b sequences, h = D, a heads, t tensor ranks, F = 4 h, plain MLP, dropout, 2 bytes an element, unfused
// attention:
//   none: s b h (34 + 5 a s / h); tensor: s b h (10 + 24/t + 5 a s / (h t)); with sequence parallelism all over t;
//   with attention's core recomputed 34 s b h / t; with everything recomputed 2 s b h (/ t).
#include <gmock/gmock.h>

#include <set>

#include "tests/unit/workloads/small_models.hpp"
#include "workloads/step/step_pipeline.hpp"

namespace lockstep::test {
namespace {

constexpr std::int64_t s = 8, b = 16, h = 32, a = 8;
const workloads::BlockOptions gpt{.dropout = true, .fused_attention = false};

workloads::Model gpt_like() {
  auto model = transformer();
  model.kv_heads = a;
  model.gated = false;
  model.learned_positions = 1024;  // and no rotary ones
  return model;
}

workloads::DerivePolicy policy_of(const workloads::Recompute& recompute) {
  workloads::DerivePolicy policy;
  policy.share_activation_gathers = false;  // as Megatron: the sharded input is kept and gathered again
  policy.recompute = recompute;
  return policy;
}

workloads::ShardedLayer layer_of(const workloads::Model& model, const workloads::Parallel& parallel,
                                 const workloads::Recompute& recompute, const workloads::BlockOptions& options = gpt) {
  return derived(model, plan_for(blocks_of(model, options), parallel), parallel, policy_of(recompute), b, s, options)
      .layer();
}

/// Bytes of the forward that the backward reads.
std::int64_t kept(const workloads::ShardedLayer& layer) {
  std::set<int> read;
  for (const auto& step : layer.backward) read.insert(step.saved.begin(), step.saved.end());
  std::int64_t sum = 0;
  for (const int step : read)
    sum += (step == workloads::BlockStep::outside ? layer.input_bytes
                                                  : layer.forward[static_cast<std::size_t>(step)].output)
               .value();
  return sum;
}

double flops(const workloads::BlockSteps& steps) {
  double sum = 0;
  for (const auto& step : steps) sum += step.flops.value();
  return sum;
}

TEST(Recompute, KeepsWhatThePaperSays) {
  constexpr std::int64_t sbh = s * b * h;
  EXPECT_EQ(kept(layer_of(gpt_like(), {}, {})), sbh * 34 + 5 * a * s * s * b);
  for (const std::int64_t t : {2, 4, 8}) {
    const workloads::Parallel tensor{.tensor = t, .sequence_parallel = false};
    const workloads::Parallel sequence{.tensor = t};
    EXPECT_EQ(kept(layer_of(gpt_like(), tensor, {})), sbh * 10 + (sbh * 24 + 5 * a * s * s * b) / t) << t;
    EXPECT_EQ(kept(layer_of(gpt_like(), sequence, {})), (sbh * 34 + 5 * a * s * s * b) / t) << t;
    EXPECT_EQ(kept(layer_of(gpt_like(), sequence, {.parts = {workloads::OpPart::core_attention}})), sbh * 34 / t) << t;
    EXPECT_EQ(kept(layer_of(gpt_like(), tensor, {.parts = {workloads::OpPart::core_attention}})),
              sbh * 10 + sbh * 24 / t)
        << t;
    EXPECT_EQ(kept(layer_of(gpt_like(), tensor, {.all = true})), 2 * sbh) << t;
    EXPECT_EQ(kept(layer_of(gpt_like(), sequence, {.all = true})), 2 * sbh / t) << t;
  }
}

// All recomputed: one more forward, its collectives too. Attention's core: its FLOPs 4 b s^2 h / 2 (causal) once more.
TEST(Recompute, RunsAgainWhatItDropped) {
  const workloads::Parallel parallel{.tensor = 2};
  const auto none = layer_of(gpt_like(), parallel, {});
  const auto all = layer_of(gpt_like(), parallel, {.all = true});
  const auto core = layer_of(gpt_like(), parallel, {.parts = {workloads::OpPart::core_attention}});
  EXPECT_DOUBLE_EQ(flops(all.forward), flops(none.forward));
  EXPECT_DOUBLE_EQ(flops(all.backward), flops(none.backward) + flops(none.forward));
  EXPECT_DOUBLE_EQ(flops(core.backward), flops(none.backward) + 4.0 * b * s * s * h / 2 / 2);
  // Megatron's layer with sequence parallelism: two all-gathers and two reduce-scatters per pass. Kept sharded, A and M
  // are gathered once more in the backward; run again, that gather serves the products' gradients too.
  EXPECT_EQ(collectives(none.forward).size(), 4U);
  EXPECT_EQ(collectives(all.backward).size(), collectives(none.backward).size() + 4 - 2);
}

// Norms and activation functions dropped: their outputs A, M (2 sbh each) and Z (2 s b F) are made again from what is
// kept, without a FLOP of a product.
TEST(Recompute, PartsByName) {
  const auto none = layer_of(gpt_like(), {}, {});
  const auto some = layer_of(gpt_like(), {}, {.parts = {workloads::OpPart::norm, workloads::OpPart::mlp_activation}});
  EXPECT_EQ(kept(none) - kept(some), 2 * 2 * s * b * h + 2 * s * b * F);
  EXPECT_DOUBLE_EQ(flops(some.backward), flops(none.backward));
  // The MLP: Up and Z dropped, up projection again (2 s b D F FLOPs); the down projection's result is nobody's input.
  const auto mlp = layer_of(gpt_like(), {}, {.parts = {workloads::OpPart::mlp, workloads::OpPart::mlp_activation}});
  EXPECT_EQ(kept(none) - kept(mlp), 2 * 2 * s * b * F);
  EXPECT_DOUBLE_EQ(flops(mlp.backward), flops(none.backward) + 2.0 * s * b * h * F);
}

// Latent attention: dropping what is projected up keeps the latents: N (H + H + Hv) numbers a token less, Rq + Rk were
// kept anyway, and the two projections run again.
TEST(Recompute, LatentProjections) {
  const auto none = layer_of(latent(), {}, {}, {});
  const auto up = layer_of(latent(), {}, {.parts = {workloads::OpPart::latent_projection}}, {});
  EXPECT_EQ(kept(none) - kept(up), 2 * s * b * 8 * (6 + 6 + 4) - 2 * s * b * 2);  // Kr, of Hr = 2, is kept instead
  EXPECT_DOUBLE_EQ(flops(up.backward), flops(none.backward) + 2.0 * s * b * 8 * (12 * 6 + 10 * 4 + 10 * 4));
}

// Experts: what travelled and what the experts made is made again; the tokens travel once more.
TEST(Recompute, Experts) {
  const workloads::Parallel parallel{.expert = 4};
  const auto none = layer_of(mixture(), parallel, {}, {});
  const auto some =
      layer_of(mixture(), parallel, {.parts = {workloads::OpPart::experts, workloads::OpPart::expert_activation}}, {});
  // Routed (D) and gate, up, activation (Fe = 24 each) of 2 x 128 / 4 slots a rank; the scores, E = 8 of 32 tokens, are
  // kept to route by.
  EXPECT_EQ(kept(none) - kept(some), 2 * 64 * (32 + 3 * 24) - 2 * 32 * 8);
  EXPECT_EQ(collectives(some.backward).size(), collectives(none.backward).size() + 1);
}

// Kept by name: the layer's input, Q, V, attention's result (2 s b h each) and Up (8); the down projection's result
// nobody reads again. K and the attention's projection, which the second norm's input needs, are 2 s b h^2 FLOPs each.
TEST(Recompute, AllButNamedOperations) {
  const auto none = layer_of(gpt_like(), {}, {}, {});
  const auto some =
      layer_of(gpt_like(), {},
               {.kept = {"query projection", "value projection", "attention", "up projection", "down projection"}}, {});
  EXPECT_EQ(kept(some), (2 + 3 * 2 + 8) * s * b * h);
  EXPECT_DOUBLE_EQ(flops(some.backward), flops(none.backward) + 2 * 2.0 * s * b * h * h);
}

workloads::ShardedLayer kept_in(const workloads::KeptFormat& format, const workloads::Recompute& recompute = {},
                                const std::optional<workloads::KeptFormat>& attention = {}) {
  auto policy = policy_of(recompute);
  policy.kept = format;
  policy.kept_attention = attention;
  return derived(gpt_like(), plan_for(blocks_of(gpt_like(), {}), {}), {}, policy, b, s, workloads::BlockOptions{})
      .layer();
}

// Kept in 8 bits: what only weight gradients and activation functions read, here A, M, Up and Z (2 + 2 + 8 + 8 s b h
// before). Attention's backward reads O as it is; O lies once, and its product's weight gradient reads that too.
TEST(Recompute, KeptInFewerBytes) {
  const auto plain = layer_of(gpt_like(), {}, {}, {});
  const auto compact = kept_in({8});
  constexpr std::int64_t sbh = s * b * h;
  EXPECT_EQ(kept(plain), 32 * sbh);
  EXPECT_EQ(kept(compact), (32 - 20 + 10) * sbh);
  EXPECT_DOUBLE_EQ(flops(compact.backward), flops(plain.backward));
}

// The inputs of activation functions, here Up of 4 s b h numbers, may stay in 2 bytes where products read 1.
TEST(Recompute, InputsOfFunctionsMayBeKeptAsTheyAre) {
  auto policy = policy_of({});
  policy.kept = workloads::KeptFormat{8};
  policy.kept_for_functions = false;
  const auto layer =
      derived(gpt_like(), plan_for(blocks_of(gpt_like(), {}), {}), {}, policy, b, s, workloads::BlockOptions{}).layer();
  EXPECT_EQ(kept(layer) - kept(kept_in({8})), 4 * s * b * h);
}

// Attention's result in 12 bits for all that read it: 2 s b h become 1.5.
TEST(Recompute, AttentionsResultHasAFormatOfItsOwn) {
  EXPECT_EQ(kept(kept_in({8})) - kept(kept_in({8}, {}, workloads::KeptFormat{12})), s * b * h / 2);
}

// A scale of 4 bytes for each 32 numbers of A, M, Up and Z: 10 s b h numbers.
TEST(Recompute, ScalesAreKeptBesideTheNumbers) {
  EXPECT_EQ(kept(kept_in({8, 32})) - kept(kept_in({8})), 10 * s * b * h / 32 * 4);
  EXPECT_EQ((workloads::KeptFormat{12, 128}.size(1000).value()), 1500 + 8 * 4);
}

// What runs again starts from the copy in fewer bytes: with activation functions dropped Up stays in 8 bits (4 s b h)
// and nothing of it in 16, Z not at all; with norms dropped too, A and M come again from X and R, which norms read as
// they are.
TEST(Recompute, RunsAgainFromFewerBytes) {
  constexpr std::int64_t sbh = s * b * h;
  EXPECT_EQ(kept(kept_in({8}, {.parts = {workloads::OpPart::mlp_activation}})), (32 - 20 + 10 - 4) * sbh);
  EXPECT_EQ(kept(kept_in({8}, {.parts = {workloads::OpPart::norm, workloads::OpPart::mlp_activation}})),
            (32 - 20 + 10 - 4 - 2) * sbh);
  // The MLP: M alone stays, in 8 bits, and the up projection runs again on that.
  EXPECT_EQ(kept(kept_in({8}, {.parts = {workloads::OpPart::mlp, workloads::OpPart::mlp_activation}})),
            (32 - 20 + 10 - 4 - 4) * sbh);
}

// A weight gradient that is put off reads what it needs of the input gradient's part in one byte an element: A copies
// of the gradients of Q, K, V, of the attention's and of the MLP's output, and of Up, made with them.
TEST(Recompute, GradientsOfAPutOffWeightGradientInFewerBytes) {
  const auto layer = kept_in({8});
  const auto of_input = steps_of_input_gradient(layer);
  std::int64_t copies = 0;
  for (std::size_t i = 0; i < layer.backward.size(); ++i) {
    if (of_input[i]) continue;
    for (const int before : layer.backward[i].after) {
      ASSERT_NE(before, workloads::BlockStep::outside) << layer.backward[i].name;
      const auto& read = layer.backward[static_cast<std::size_t>(before)];
      if (!of_input[static_cast<std::size_t>(before)]) continue;
      EXPECT_THAT(read.name, ::testing::EndsWith("kept in 8 bits")) << layer.backward[i].name;
      copies += read.output.value();
    }
  }
  EXPECT_EQ(copies, s * b * h * (1 + 1 + 1 + 1 + 4 + 1));
}

// What was computed again for the input gradient waits for the weight gradient in 8 bits too: here the latents after
// their norms, from which queries, keys and values are projected again.
TEST(Recompute, WhatRanAgainWaitsForAPutOffWeightGradientInFewerBytes) {
  auto policy = policy_of({.all = false, .parts = {workloads::OpPart::norm, workloads::OpPart::latent_projection}});
  policy.kept = workloads::KeptFormat{8};
  const auto layer =
      derived(latent(), plan_for(blocks_of(latent(), {}), {}), {}, policy, b, s, workloads::BlockOptions{}).layer();
  const auto of_input = steps_of_input_gradient(layer);
  std::int64_t waiting = 0;
  for (std::size_t i = 0; i < layer.backward.size(); ++i) {
    const auto& name = layer.backward[i].name;
    if (of_input[i] && (name == "Qn kept in 8 bits" || name == "KVn kept in 8 bits"))
      waiting += layer.backward[i].output.value();
  }
  const auto model = latent();
  EXPECT_EQ(waiting, s * b * (model.latent->q_rank + model.latent->kv_rank));
}

// Every step of a backward that runs again reads what exists: its own pass' earlier steps, or what the forward keeps.
TEST(Recompute, StepsAreInOrder) {
  for (const auto& recompute : {workloads::Recompute{.all = true},
                                workloads::Recompute{.all = false,
                                .parts = {workloads::OpPart::norm, workloads::OpPart::mlp,
                                          workloads::OpPart::mlp_activation, workloads::OpPart::latent_projection}}}) {
    int models = 0;
    for (const auto& model : {gpt_like(), latent(), mixture(), gpt_like(), latent(), mixture()}) {
      auto policy = policy_of(recompute);
      if (models++ >= 3) policy.kept = workloads::KeptFormat{8};
      const workloads::Parallel parallel{.data = 2, .tensor = 2};
      const auto layer =
          derived(model, plan_for(blocks_of(model, {}), parallel), parallel, policy, b, s, workloads::BlockOptions{})
              .layer();
      for (std::size_t i = 0; i < layer.forward.size(); ++i) {
        for (const int before : layer.forward[i].after) EXPECT_LT(before, static_cast<int>(i));
      }
      for (std::size_t i = 0; i < layer.backward.size(); ++i) {
        for (const int before : layer.backward[i].after) EXPECT_LT(before, static_cast<int>(i));
        for (const int saved : layer.backward[i].saved) EXPECT_LT(saved, static_cast<int>(layer.forward.size()));
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::test
