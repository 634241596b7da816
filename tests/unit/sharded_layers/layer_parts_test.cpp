// The parts that layers under a plan are put together from: formats that arrays are kept in, passes that are written
// step by step, casts to 8 bits, rows and columns of weights; and the text that --dump=plan prints.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "sim/core/errors.hpp"
#include "tests/unit/sharded_layers/small_layers.hpp"
#include "workloads/sharded_layers/low_precision.hpp"
#include "workloads/sharded_layers/optimizer.hpp"
#include "workloads/sharded_layers/sharded_layer_pass_private.hpp"

namespace lockstep::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// n elements of b bits: ceil(n b / 8) bytes, and 4 for each group that shares a scale.
TEST(KeptFormat, PacksBitsAndAddsScales) {
  EXPECT_EQ((workloads::KeptFormat{8, 0}.size(100)), Bytes(100));
  EXPECT_EQ((workloads::KeptFormat{4, 0}.size(101)), Bytes(51)) << "404 bits";
  EXPECT_EQ((workloads::KeptFormat{12, 0}.size(3)), Bytes(5)) << "36 bits";
  EXPECT_EQ((workloads::KeptFormat{8, 128}.size(256)), Bytes(256 + 2 * 4));
  EXPECT_EQ((workloads::KeptFormat{8, 128}.size(257)), Bytes(257 + 3 * 4)) << "the last group is not full";
  EXPECT_EQ((workloads::KeptFormat{8, 128}.size(0)), Bytes(0));
  EXPECT_EQ((workloads::KeptFormat{12, 128}.element()), Bytes(2)) << "collectives carry whole bytes";
  EXPECT_EQ((workloads::KeptFormat{4, 0}.element()), Bytes(1));
}

TEST(MemoryKinds, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const auto kind : workloads::all_memory_kinds) names.insert(name(kind));
  EXPECT_EQ(names.size(), workloads::all_memory_kinds.size());
  EXPECT_FALSE(names.contains("?"));
}

class WrittenPass : public testing::Test {
 protected:
  static workloads::Sizes sizes() {
    workloads::Sizes all;
    all.dims = {{"B", {8, true}}, {"D", {16, false}}, {"C", {4, false}}};
    all.axes = {{"data", 2}, {"tensor", 4}};
    return all;
  }
  static workloads::ShardedTensor tensor(const std::string& text) {
    return workloads::parse_tensor(text, {"data", "tensor"});
  }
  int step(std::vector<int> after) {
    return pass.compute("step", "", {std::move(after), {}}, Flops(1), Bytes(2), Bytes(3));
  }

  const workloads::Sizes of_arrays = sizes();
  workloads::BlockSteps steps;
  workloads::Pass pass{steps, of_arrays};
};

// A partial sum of half the rows is summed over tensor, 4 x 16 elements of 2 B, and then gathered over data, 8 x 16.
// The second waits for the first alone; what the source read of the forward is read by the first.
TEST_F(WrittenPass, ChainsCollectivesOneAfterTheOther) {
  const int made = step({});
  const auto from = tensor("X[B_data, D] {U_tensor}"), to = tensor("X[B, D]");
  const auto collectives = settle(from, to, of_arrays, Bytes(2));
  ASSERT_EQ(collectives.size(), 2U);
  const auto whole =
      pass.chain({from, {made}, made, {7}}, collectives, to, workloads::CollectiveRole::activation, Bytes(2));
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_THAT(steps[1].after, ElementsAre(made));
  EXPECT_THAT(steps[1].saved, ElementsAre(7));
  EXPECT_EQ(steps[1].name, "AllReduce_tensor X");
  EXPECT_EQ(steps[1].output, Bytes(2 * 4 * 16));
  EXPECT_EQ(steps[2].name, "AllGather_data X");
  EXPECT_THAT(steps[2].after, ElementsAre(1));
  EXPECT_THAT(steps[2].saved, IsEmpty());
  EXPECT_EQ(steps[2].output, Bytes(2 * 8 * 16));
  EXPECT_EQ(steps[2].output_kind, workloads::MemoryKind::activations);
  EXPECT_THAT(whole.producers, ElementsAre(2));
  EXPECT_EQ(whole.buffer, 2);
  EXPECT_TRUE(whole.sharding.same_sharding(to));
}

TEST_F(WrittenPass, ASliceIsFree) {
  const int made = step({});
  const auto from = tensor("X[B, D]"), to = tensor("X[B_data, D]");
  const auto slice = pass.chain({from, {made}, made, {}}, settle(from, to, of_arrays, Bytes(2)), to,
                                workloads::CollectiveRole::activation, Bytes(2));
  EXPECT_EQ(steps.size(), 1U);
  EXPECT_THAT(slice.producers, ElementsAre(made));
  EXPECT_EQ(slice.buffer, made) << "it lies in what it is cut from";
  EXPECT_TRUE(slice.sharding.same_sharding(to));
}

TEST_F(WrittenPass, GathersOfWeightsAreKeptApartAndSlotsAreRouted) {
  const auto gather = [&](const std::string& from, const std::string& to, workloads::CollectiveRole role) {
    const auto collectives = settle(tensor(from), tensor(to), of_arrays, Bytes(2));
    return steps[static_cast<std::size_t>(pass.collective(collectives.at(0), role, {}, Bytes(1)))];
  };
  const auto weight = gather("W[D_tensor]", "W[D]", workloads::CollectiveRole::weight);
  EXPECT_EQ(weight.name, "AllGather_tensor W");
  EXPECT_EQ(weight.output_kind, workloads::MemoryKind::gathered);
  EXPECT_EQ(weight.output, Bytes(16)) << "in the element that was asked for";
  EXPECT_FALSE(weight.routed);
  EXPECT_TRUE(gather("S[C_tensor, D]", "S[C, D]", workloads::CollectiveRole::activation).routed);
}

// Contributions 0, 1, 3 to one sum, of which 3 comes behind 0 (over 2): 3 adds to what 0 left and need be waited for,
// 0 not; 1 stands alone.
TEST_F(WrittenPass, ASumWaitsForThoseThatNoOtherFollows) {
  step({});
  step({});
  step({0});
  step({2});
  EXPECT_THAT(pass.accumulated({0, 1, 3}), ElementsAre(1, 3));
  EXPECT_THAT(steps[3].after, ElementsAre(2, 0)) << "it reads what 0 left";
  EXPECT_THAT(pass.accumulated({1}), ElementsAre(1));
  EXPECT_THAT(pass.accumulated({workloads::BlockStep::outside, 1}), ElementsAre(workloads::BlockStep::outside, 1));
}

TEST_F(WrittenPass, MarksTheWorkOfRoutedTokens) {
  EXPECT_FALSE(pass.routed(true));
  const int routed = step({});
  EXPECT_TRUE(pass.routed(false));
  EXPECT_TRUE(pass[routed].routed);
  EXPECT_FALSE(pass[step({})].routed);
}

// Rows come in, columns go out, what does both numbers the matrices: Adafactor keeps a sum for each row and each column
// of each. D = 32, N = 8, K = 4, H = 4, F = 128, V = 96; experts E = 8 of width 24.
TEST(CompletedUpdates, TellRowsFromColumns) {
  const auto model = mixture();
  const auto blocks = blocks_of(model);
  const auto factored = [&](const workloads::Parallel& parallel, const std::string& weight) {
    const auto plan = plan_for(blocks, parallel);
    const auto sizes = sizes_on(model, parallel, 16, 8);
    auto all = derived(model, parallel);
    for (std::size_t kind = 0; kind < all.kinds.size(); ++kind) {
      complete_updates(all.kinds[kind], blocks.kinds[kind], plan, sizes);
      for (const auto& update : all.kinds[kind].weights) {
        if (update.weight == weight) return std::pair(update.factored_elements, update.split_over);
      }
    }
    throw InternalError("no weight " + weight);
  };
  EXPECT_EQ(factored({}, "Wq").first, 32 + 8 * 4);
  EXPECT_EQ(factored({}, "Wk").first, 32 + 4 * 4);
  EXPECT_EQ(factored({}, "Wo").first, 8 * 4 + 32);
  EXPECT_EQ(factored({}, "Wembed").first, 96 + 32) << "tokens are one-hot rows";
  EXPECT_EQ(factored({}, "Weup").first, 8 * (32 + 24)) << "a matrix of each expert";
  EXPECT_EQ(factored({}, "Wnorm1").first, 32) << "a vector is kept whole";
  EXPECT_EQ(factored({.tensor = 2}, "Wq").first, 32 + 8 * 4 / 2);
  EXPECT_EQ(factored({.data = 2, .fsdp = 2, .tensor = 2, .zero = 1}, "Wq").second,
            (workloads::AxisNames{"fsdp", "data", "tensor"}));
  EXPECT_THAT(factored({.data = 2}, "Wq").second, IsEmpty());
}

// 8 bits: products of layers, their gathers and their operands, and nothing that another kernel reads too.
TEST(LowPrecision, HalvesGathersThatOnlyProductsRead) {
  const auto model = transformer();
  const auto blocks = blocks_of(model);
  const workloads::Parallel parallel{.fsdp = 4, .tensor = 2};
  const auto& block = blocks.kinds[1];
  const auto plain = derived(model, parallel).kinds[1];
  auto packed = plain;
  gather_quantised_weights(packed, block, 1);
  int halved = 0, whole = 0;
  const auto compare = [&](const workloads::BlockSteps& before, const workloads::BlockSteps& after) {
    for (std::size_t i = 0; i < before.size(); ++i) {
      const bool gathers = before[i].kind == workloads::BlockStep::Kind::collective &&
                           before[i].role == workloads::CollectiveRole::weight;
      const bool norm = before[i].name.find("Wnorm") != std::string::npos;
      const auto part = gathers && !norm ? 2 : 1;
      EXPECT_EQ(after[i].full_size.value() * part, before[i].full_size.value()) << before[i].name;
      EXPECT_EQ(after[i].output.value() * part, before[i].output.value()) << before[i].name;
      halved += part == 2 ? 1 : 0;
      whole += gathers && norm ? 1 : 0;
    }
  };
  compare(plain.forward, packed.forward);
  compare(plain.backward, packed.backward);
  EXPECT_EQ(halved, 2 * 7) << "Wq, Wk, Wv, Wo and the MLP's three, in both passes";
  EXPECT_EQ(whole, 2 * 2) << "both norms";
}

// Where each pass needs a cast of its own (MXFP8), a weight that is gathered for one pass travels in it, and one that
// is gathered for both (after the update, or kept for the backward) in 16 bits.
TEST(LowPrecision, OneGatherForTwoCastsStaysWide) {
  const auto model = transformer();
  const auto blocks = blocks_of(model);
  const auto& block = blocks.kinds[1];
  const auto narrow_bytes = [&](const workloads::Parallel& parallel, bool regather, bool one_cast) {
    workloads::DerivePolicy policy;
    policy.regather_weights = regather;
    auto packed = derived(model, parallel, policy).kinds[1];
    const auto plain = packed;
    gather_quantised_weights(packed, block, 1, one_cast);
    int narrow = 0;
    for (std::size_t i = 0; i < plain.forward.size(); ++i)
      narrow += packed.forward[i].full_size < plain.forward[i].full_size ? 1 : 0;
    for (std::size_t i = 0; i < plain.backward.size(); ++i)
      narrow += packed.backward[i].full_size < plain.backward[i].full_size ? 1 : 0;
    for (std::size_t i = 0; i < plain.weights.size(); ++i) {
      for (std::size_t j = 0; j < plain.weights[i].publish.size(); ++j)
        narrow += packed.weights[i].publish[j].full_size < plain.weights[i].publish[j].full_size ? 1 : 0;
    }
    return narrow;
  };
  EXPECT_EQ(narrow_bytes({.fsdp = 4}, true, false), 2 * 7);
  EXPECT_EQ(narrow_bytes({.fsdp = 4}, false, true), 7);
  EXPECT_EQ(narrow_bytes({.fsdp = 4}, false, false), 0);
  EXPECT_EQ(narrow_bytes({.data = 4, .zero = 1}, true, true), 7);
  EXPECT_EQ(narrow_bytes({.data = 4, .zero = 1}, true, false), 0);
}

TEST(LowPrecision, TheUnembeddingStaysWide) {
  const auto model = transformer();
  const auto blocks = blocks_of(model);
  auto head = derived(model, workloads::Parallel{.data = 4}).kinds[2];
  keep_unembedding_in_16_bits(head, blocks.kinds[2]);
  std::set<std::string> wide;
  for (const auto* pass : {&head.forward, &head.backward}) {
    for (const auto& step : *pass) {
      if (step.work == workloads::ComputeWork::head_product) wide.insert(step.name);
      EXPECT_NE(step.work, workloads::ComputeWork::product) << step.name;
    }
  }
  EXPECT_EQ(wide, (std::set<std::string>{"unembedding", "unembedding input gradient", "unembedding weight gradient"}));
}

// A cast reads 2 B and writes 1 B twice of each element of m x k. Of the inputs, those that no norm makes: attention's
// result and the MLP's hidden units; of the gradients, every product's.
TEST(LowPrecision, OperandsAreCastOnce) {
  const auto model = transformer();
  const auto blocks = blocks_of(model);
  auto layer = derived(model, workloads::Parallel{.data = 4}).kinds[1];
  cast_operands(layer, blocks.kinds[1], 2 + 1 + 1);
  constexpr std::int64_t tokens = 128 / 4;
  std::map<std::string, std::int64_t> casts;
  for (const auto* pass : {&layer.forward, &layer.backward}) {
    for (const auto& step : *pass) {
      if (step.casts > Bytes(0)) casts[step.name] = step.casts.value();
    }
  }
  EXPECT_EQ(casts, (std::map<std::string, std::int64_t>{{"attention output", 4 * tokens * 32},
                                                        {"down projection", 4 * tokens * 128},
                                                        {"query projection input gradient", 4 * tokens * 32},
                                                        {"key projection input gradient", 4 * tokens * 16},
                                                        {"value projection input gradient", 4 * tokens * 16},
                                                        {"attention output input gradient", 4 * tokens * 32},
                                                        {"gate projection input gradient", 4 * tokens * 128},
                                                        {"up projection input gradient", 4 * tokens * 128},
                                                        {"down projection input gradient", 4 * tokens * 32}}));
}

// Where norms do not write the narrow array themselves, it is made once for all products that read it, at 2 B a value
// here: attention's for the query projection, the MLP's for the gate projection.
TEST(LowPrecision, WhatNormsMakeIsCastWhereTheyDoNot) {
  const auto model = transformer();
  const auto blocks = blocks_of(model);
  auto layer = derived(model, workloads::Parallel{.data = 4}).kinds[1];
  cast_operands(layer, blocks.kinds[1], 0, 2);
  std::map<std::string, std::int64_t> casts;
  for (const auto& step : layer.forward) {
    if (step.casts > Bytes(0)) casts[step.name] = step.casts.value();
  }
  constexpr std::int64_t tokens = 128 / 4;
  EXPECT_EQ(casts, (std::map<std::string, std::int64_t>{{"query projection", 2 * tokens * 32},
                                                        {"gate projection", 2 * tokens * 32}}));
}

// Gathers of 4,096 values over 4 tensor ranks in 4 bits with a scale of 8 bits for 16: 4096 x 9/16 = 2304 B for a
// product's operand, twice that for gradients, which two products read along other dimensions. Results are reduced in
// 16 bits. Kept in 16 bits, operands are gathered again in 16.
TEST(LowPrecision, ActivationsAreGatheredInFourBits) {
  const auto gathers = [](bool kept_narrow) {
    workloads::DerivePolicy policy;
    policy.operand_element = Bytes(1);
    policy.share_activation_gathers = false;
    if (kept_narrow) policy.kept = workloads::KeptFormat{8};
    auto layer = derived(transformer(), workloads::Parallel{.tensor = 4}, policy).kinds[1];
    narrow_activation_gathers(layer, 9.0 / 16, kept_narrow);
    std::map<std::string, std::vector<std::int64_t>> sizes;
    for (const auto* pass : {&layer.forward, &layer.backward}) {
      for (const auto& step : *pass) {
        if (step.kind == workloads::BlockStep::Kind::collective) sizes[step.name].push_back(step.full_size.value());
      }
    }
    for (auto& [name, all] : sizes) std::sort(all.begin(), all.end());
    return sizes;
  };
  using Sizes = std::map<std::string, std::vector<std::int64_t>>;
  const auto expected = [](std::int64_t again) {
    Sizes sizes{{"AllGather_tensor dE", {4608}}, {"AllGather_tensor dY", {4608}}};
    for (const std::string operand : {"A", "M"}) sizes["AllGather_tensor " + operand] = {2304, again};
    for (const std::string result : {"E", "Y", "dA", "dM"}) sizes["ReduceScatter_tensor " + result] = {8192};
    return sizes;
  };
  EXPECT_EQ(gathers(true), expected(2304));
  EXPECT_EQ(gathers(false), expected(8192));
}

TEST(LowPrecision, KeptCopiesLieBesideTheStoredWeights) {
  const auto model = transformer();
  const auto blocks = blocks_of(model);
  const auto plain = derived(model, workloads::Parallel{.fsdp = 4}).kinds[1];
  for (const int copies : {0, 1, 2}) {
    auto layer = plain;
    keep_quantised_weights(layer, blocks.kinds[1], copies, 1);
    for (std::size_t i = 0; i < layer.weights.size(); ++i) {
      const bool norm = layer.weights[i].weight.starts_with("Wnorm");
      const auto stored = plain.weights[i].stored.value();
      EXPECT_EQ(layer.weights[i].stored.value(), norm ? stored : stored + copies * stored / 2)
          << layer.weights[i].weight;
    }
  }
}

TEST(LayerText, NamesStepsCollectivesAndUpdates) {
  const auto text = derived(two_matmuls(), workloads::Parallel{.data = 2, .fsdp = 4}).layer().to_string();
  EXPECT_THAT(text, testing::StartsWith("block layer\n  forward\n"));
  EXPECT_THAT(text, testing::HasSubstr("    AllGather_fsdp: Win[D_fsdp, F] -> Win[D, F]  (8192 B; "));
  EXPECT_THAT(text, testing::HasSubstr("    Win each microbatch: ReduceScatter_fsdp dWin[D, F] {U_{data,fsdp}} -> "));
  EXPECT_THAT(text, testing::HasSubstr("    Wout after the last microbatch: AllReduce_data dWout["));
  workloads::ShardedLayer replayed;
  replayed.name = "replayed";
  workloads::BlockStep given;
  given.name = "attention";
  given.given_time = Seconds(0.004);
  given.stream = "network";
  replayed.forward = {given};
  EXPECT_EQ(replayed.to_string(),
            "block replayed\n  forward\n    attention: 4.00 ms on network\n  backward\n  gradients and update\n");
}

std::string refused(const std::string& tensor, const workloads::AxisNames& axes) {
  const workloads::Parallel parallel{.data = 2, .tensor = 2};
  auto plan = plan_for(blocks_of(transformer()), parallel);
  workloads::PlanOverrides overrides;
  overrides.activations = {workloads::parse_tensor(tensor, axes)};
  apply(overrides, plan);
  try {
    (void)derived(transformer(), plan, parallel);
  } catch (const workloads::ShardingError& error) {
    return error.axis() + ": " + error.what_is_wrong();
  }
  return "";
}

TEST(AttentionShardings, MustFitTogether) {
  const workloads::AxisNames axes{"data", "tensor"};
  EXPECT_EQ(refused("K[B, T, K_tensor, H]", axes),
            ": Q[B_data, T, N_tensor, H] and K[B, T, K_tensor, H] split the batch differently");
  EXPECT_EQ(refused("V[B_data, T, K, H_tensor]", axes), "tensor: V[B_data, T, K, H_tensor] splits the head size");
  EXPECT_EQ(refused("Q[B_data, T, N, H]", axes),
            "tensor: Q[B_data, T, N, H] and K[B_data, T, K_tensor, H] split the heads differently");
}

// Unfused attention of 16 sequences, 8 heads, 8 x 8 scores of 2 B: written, read and kept for the backward; over 4
// ranks of data a quarter each.
TEST(UnfusedAttention, KeepsScoresForItsBackward) {
  workloads::BlockOptions options;
  options.fused_attention = false;
  const workloads::Parallel parallel{.data = 4};
  const auto plan = plan_for(blocks_of(transformer(), options), parallel);
  const auto layer = derived(transformer(), plan, parallel, {}, 16, 8, options).layer();
  const auto fused = derived(transformer(), parallel).layer();
  constexpr std::int64_t scores = 16 / 4 * 8 * 8 * 8 * 2;
  const auto find = [](const workloads::BlockSteps& steps, const std::string& name) {
    return std::find_if(steps.begin(), steps.end(), [&](const auto& step) { return step.name == name; });
  };
  const auto kept = find(layer.forward, "attention kept for the backward");
  ASSERT_NE(kept, layer.forward.end());
  EXPECT_EQ(kept->output.value(), scores);
  EXPECT_EQ(kept->flops, Flops(0));
  const auto backward = find(layer.backward, "attention backward");
  EXPECT_THAT(backward->saved, testing::Contains(static_cast<int>(kept - layer.forward.begin())));
  EXPECT_EQ(find(layer.forward, "attention")->traffic.value() - find(fused.forward, "attention")->traffic.value(),
            2 * scores);
  EXPECT_FALSE(find(layer.forward, "attention")->shape.fused);
  EXPECT_EQ(find(fused.forward, "attention kept for the backward"), fused.forward.end());
}

}  // namespace
}  // namespace lockstep::test
