// The Transformer layer under tensor and fully sharded parallelism. B = 16 sequences of T = 8 tokens, D = 32:
// the residual stream X[B, T, D] has 2BTD = 8192 bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/unit/workloads/small_models.hpp"

namespace lockstep::test {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

std::vector<std::string> along(const std::vector<std::string>& collectives, const std::string& axis) {
  std::vector<std::string> result;
  for (const auto& text : collectives) {
    if (text.find("_" + axis + " ") != std::string::npos) result.push_back(text);
  }
  return result;
}

// Sequence parallel: the stream is split over T, so an all-gather enters and a reduce-scatter leaves each of the
// two tensor-parallel regions; backward the same by transposition. Q, K, V (gate, up) share one gather.
TEST(TransformerBlock, SequenceParallel) {
  const auto layer = derived(transformer(), workloads::Parallel{.tensor = 4}).layer();
  EXPECT_THAT(collectives(layer.forward), ElementsAre("AllGather_tensor A 8192", "ReduceScatter_tensor Y 8192",
                                                      "AllGather_tensor M 8192", "ReduceScatter_tensor E 8192"));
  EXPECT_THAT(collectives(layer.backward), ElementsAre("AllGather_tensor dE 8192", "ReduceScatter_tensor dM 8192",
                                                       "AllGather_tensor dY 8192", "ReduceScatter_tensor dA 8192"));
}

// Without it the stream is whole on every rank: 2 all-reduces forward, 2 backward, of the same bytes.
TEST(TransformerBlock, TensorParallelWithoutSequenceParallel) {
  const auto layer = derived(transformer(), workloads::Parallel{.tensor = 4, .sequence_parallel = false}).layer();
  EXPECT_THAT(collectives(layer.forward), ElementsAre("AllReduce_tensor Y 8192", "AllReduce_tensor E 8192"));
  EXPECT_THAT(collectives(layer.backward), ElementsAre("AllReduce_tensor dM 8192", "AllReduce_tensor dA 8192"));
}

// Gathered again instead of kept: A and M once more, each for all of its weight gradients.
TEST(TransformerBlock, SequenceParallelGatheringAgain) {
  const auto layer =
      derived(transformer(), workloads::Parallel{.tensor = 4}, {.share_activation_gathers = false}).layer();
  EXPECT_THAT(
      collectives(layer.backward),
      UnorderedElementsAre("AllGather_tensor dE 8192", "ReduceScatter_tensor dM 8192", "AllGather_tensor M 8192",
                           "AllGather_tensor dY 8192", "ReduceScatter_tensor dA 8192", "AllGather_tensor A 8192"));
}

// Operands that are cast before they are gathered travel in one byte an element, 8192 / 2; what products give keeps
// two.
TEST(TransformerBlock, OperandsMayBeGatheredInOneByte) {
  const auto kinds = derived(transformer(), workloads::Parallel{.tensor = 4}, {.operand_element = Bytes(1)});
  EXPECT_THAT(collectives(kinds.layer().forward),
              ElementsAre("AllGather_tensor A 4096", "ReduceScatter_tensor Y 8192", "AllGather_tensor M 4096",
                          "ReduceScatter_tensor E 8192"));
  EXPECT_THAT(collectives(kinds.layer().backward),
              ElementsAre("AllGather_tensor dE 4096", "ReduceScatter_tensor dM 8192", "AllGather_tensor dY 4096",
                          "ReduceScatter_tensor dA 8192"));
  const auto wide = derived(transformer(), workloads::Parallel{.tensor = 4});
  EXPECT_EQ(collectives(kinds.kinds.back().forward),
            collectives(wide.kinds.back().forward));  // the unembedding stays in 16 bits
}

// A weight's gradient reads B T D and B T F activations and writes D F elements; of several microbatches it also reads
// what those before left, unless each microbatch reduces its own (FSDP).
TEST(TransformerBlock, AccumulatedGradientsAreReadToo) {
  const auto moved = [](const workloads::Parallel& parallel, bool accumulates) {
    const auto layer =
        derived(transformer(), parallel, {.gradient_element = Bytes(4), .accumulates = accumulates}).layer();
    const auto step = std::find_if(layer.backward.begin(), layer.backward.end(),
                                   [](const auto& each) { return each.name == "down projection weight gradient"; });
    return step->traffic.value();
  };
  constexpr std::int64_t tokens = 16 * 8, operands = 2 * tokens * (D + F), gradient = 4 * D * F;
  EXPECT_EQ(moved({}, false), operands + gradient);
  EXPECT_EQ(moved({}, true), operands + 2 * gradient);
  EXPECT_EQ(moved({.fsdp = 2}, true), operands / 2 + gradient);
}

// Norm weights are whole on every rank but see only its tokens: their gradients are summed over tensor.
TEST(TransformerBlock, NormGradientsAreSummedOverTheSequenceSplit) {
  const auto layer = derived(transformer(), workloads::Parallel{.tensor = 4}).layer();
  for (const auto& update : layer.weights) {
    if (update.weight.starts_with("Wnorm")) {
      ASSERT_EQ(update.each_microbatch.size(), 1U);
      EXPECT_EQ(update.each_microbatch[0].to_string(),
                "AllReduce_tensor d" + update.weight + "[D] {U_tensor} -> d" + update.weight + "[D]");
    } else {
      EXPECT_TRUE(update.each_microbatch.empty()) << update.weight;
    }
  }
}

// Grouped queries: K and V have 4 of the 8 heads, so their weights and gathers are half of Wq's.
TEST(TransformerBlock, GroupedQueries) {
  const auto layer = derived(transformer(), workloads::Parallel{.fsdp = 4}).layer();
  EXPECT_THAT(collectives(layer.forward),
              ElementsAre("AllGather_fsdp Wnorm1 64", "AllGather_fsdp Wq 2048", "AllGather_fsdp Wk 1024",
                          "AllGather_fsdp Wv 1024", "AllGather_fsdp Wo 2048", "AllGather_fsdp Wnorm2 64",
                          "AllGather_fsdp Wgate 8192", "AllGather_fsdp Wup 8192", "AllGather_fsdp Wdown 8192"));
}

const workloads::WeightUpdate& update_of(const workloads::ShardedLayer& block, const std::string& weight) {
  return *std::find_if(block.weights.begin(), block.weights.end(),
                       [&](const auto& update) { return update.weight == weight; });
}

workloads::Model with_heads(std::int64_t heads, std::int64_t kv_heads) {
  auto model = transformer();
  model.heads = heads;
  model.kv_heads = kv_heads;
  return model;
}

// K = 2 heads on 4 tensor ranks, H = 4: each rank projects one head for its own queries, so that a step of a layer
// computes and moves what it would with 4 heads of their own: 2 BT D H = 2 x 128 x 32 x 4 FLOPs for keys, BT H x 2
// bytes left of them.
TEST(TransformerBlock, EveryTensorRankHasAKeyValueHeadOfItsOwn) {
  const workloads::Parallel parallel{.tensor = 4};
  const auto layer = derived(with_heads(8, 2), parallel).layer();
  const auto of_four = derived(with_heads(8, 4), parallel).layer();
  for (const auto& [pass, other] :
       {std::pair{&layer.forward, &of_four.forward}, {&layer.backward, &of_four.backward}}) {
    ASSERT_EQ(pass->size(), other->size());
    for (std::size_t i = 0; i < pass->size(); ++i) {
      const auto &step = (*pass)[i], &like = (*other)[i];
      EXPECT_EQ(step.name, like.name);
      EXPECT_EQ(step.flops.value(), like.flops.value()) << step.name;
      EXPECT_EQ(step.traffic.value(), like.traffic.value()) << step.name;
      EXPECT_EQ(step.output.value(), like.output.value()) << step.name;
      EXPECT_EQ(step.full_size.value(), like.full_size.value()) << step.name;
    }
  }
  const auto keys = std::find_if(layer.forward.begin(), layer.forward.end(),
                                 [](const auto& step) { return step.name == "key projection"; });
  EXPECT_EQ(keys->flops.value(), 2.0 * 128 * D * 4);
  EXPECT_EQ(keys->output.value(), 128 * 4 * 2);
}

// Wk has D K H = 32 x 2 x 4 = 256 parameters, of which each rank keeps and updates D H = 128, 256 bytes. Ranks 2i and
// 2i + 1 have the same head and add up their 256 bytes of gradient, once a step: after the shards of FSDP or ZeRO are
// reduced, 128 bytes over each 2, or together with the data axis.
TEST(TransformerBlock, GradientsOfCopiedHeadsAreAddedUp) {
  const auto model = with_heads(8, 2);
  const auto texts = [](const std::vector<workloads::DerivedCollective>& chain) {
    std::vector<std::string> result;
    for (const auto& one : chain) result.push_back(one.to_string() + " " + std::to_string(one.full_size.value()));
    return result;
  };
  const auto keys_of = [&](const workloads::Parallel& parallel) {
    return update_of(derived(model, parallel).layer(), "Wk");
  };
  auto keys = keys_of({.tensor = 4});
  EXPECT_EQ(keys.parameters, 256);
  EXPECT_EQ(keys.stored.value(), 256);
  EXPECT_EQ(keys.padding.value(), 0);
  EXPECT_EQ(keys.gradient_elements, 128);
  EXPECT_EQ(keys.optimizer_elements, 128);
  EXPECT_THAT(texts(keys.each_microbatch), ElementsAre());
  EXPECT_THAT(texts(keys.last_microbatch),
              ElementsAre("AllReduce_tensor/2 dWk[D, K_tensor, H] {U_tensor/2} -> dWk[D, K_tensor, H] 256"));

  keys = keys_of({.fsdp = 2, .tensor = 4});
  EXPECT_EQ(keys.stored.value(), 128);
  EXPECT_THAT(
      texts(keys.each_microbatch),
      ElementsAre(
          "ReduceScatter_fsdp dWk[D, K_tensor, H] {U_{fsdp,tensor/2}} -> dWk[D_fsdp, K_tensor, H] {U_tensor/2} 256"));
  EXPECT_THAT(texts(keys.last_microbatch),
              ElementsAre("AllReduce_tensor/2 dWk[D_fsdp, K_tensor, H] {U_tensor/2} -> dWk[D_fsdp, K_tensor, H] 128"));

  keys = keys_of({.data = 2, .tensor = 4});
  EXPECT_THAT(
      texts(keys.last_microbatch),
      ElementsAre("AllReduce_{data,tensor/2} dWk[D, K_tensor, H] {U_{data,tensor/2}} -> dWk[D, K_tensor, H] 256"));
  keys = keys_of({.data = 2, .tensor = 4, .zero = 1});
  EXPECT_THAT(
      texts(keys.last_microbatch),
      ElementsAre(
          "ReduceScatter_data dWk[D, K_tensor, H] {U_{data,tensor/2}} -> dWk[D_data, K_tensor, H] {U_tensor/2} 256",
          "AllReduce_tensor/2 dWk[D_data, K_tensor, H] {U_tensor/2} -> dWk[D_data, K_tensor, H] 128"));
  EXPECT_THAT(texts(keys.publish), ElementsAre("AllGather_data Wk[D_data, K_tensor, H] -> Wk[D, K_tensor, H] 256"));

  const auto queries = update_of(derived(model, {.tensor = 4}).layer(), "Wq");
  EXPECT_TRUE(queries.last_microbatch.empty());
}

// One head for all queries (multi-query) is on every rank; all of them add up.
TEST(TransformerBlock, TheOnlyKeyValueHeadIsOnEveryTensorRank) {
  const auto layer = derived(with_heads(8, 1), {.tensor = 4}).layer();
  const auto& values = update_of(layer, "Wv");
  EXPECT_EQ(values.parameters, 128);
  EXPECT_EQ(values.stored.value(), 256);
  ASSERT_EQ(values.last_microbatch.size(), 1U);
  EXPECT_EQ(values.last_microbatch[0].axes, workloads::AxisNames{"tensor/4"});
  EXPECT_EQ(values.last_microbatch[0].full_size.value(), 256);
}

// As many heads as ranks or more, or latent attention, whose keys have as many heads as its queries: nothing is copied.
TEST(TransformerBlock, HeadsThatAreEnoughHaveNoCopies) {
  for (const auto& model : {with_heads(8, 4), with_heads(8, 8), latent()}) {
    const auto layer = derived(model, workloads::Parallel{.tensor = 4}).layer();
    for (const auto& update : layer.weights) {
      for (const auto& one : update.last_microbatch)
        EXPECT_NE(one.axes, workloads::AxisNames{"tensor/2"}) << update.weight;
      for (const auto& one : update.each_microbatch)
        EXPECT_EQ(one.axes, workloads::AxisNames{"tensor"}) << update.weight;  // norms
    }
  }
}

// 24 query heads on 8 key-value heads over 12 ranks: two queries a rank, of which some would need two heads. Over 16
// ranks the queries do not divide.
TEST(TransformerBlock, RanksMustBeAMultipleOfTheKeyValueHeads) {
  const auto refused = [](const workloads::Parallel& parallel) {
    try {
      (void)derived(with_heads(24, 8), parallel);
    } catch (const workloads::ShardingError& error) {
      EXPECT_EQ(error.axis(), "tensor");
      return error.what_is_wrong() + "; expected " + error.expected();
    }
    return std::string("accepted");
  };
  EXPECT_THAT(refused({.tensor = 12, .sequence_parallel = false}),
              ::testing::AllOf(::testing::HasSubstr("of size 12 does not divide K = 8 of "),
                               ::testing::HasSubstr("; expected a size that divides 8, or a multiple of it")));
  EXPECT_THAT(refused({.tensor = 16, .sequence_parallel = false}), ::testing::HasSubstr("does not divide N = 24"));
  EXPECT_EQ(refused({.tensor = 24, .sequence_parallel = false}), "accepted");
}

// FSDP: every weight is gathered once forward and once backward and its gradient scattered once: 3 x its bytes.
TEST(TransformerBlock, EveryWeightIsGatheredOncePerPass) {
  for (const std::int64_t tensor : {1, 4}) {
    const auto model = transformer();
    const auto all = derived(model, workloads::Parallel{.fsdp = 2, .tensor = tensor});
    for (const auto& block : all.kinds) {
      std::map<std::string, std::int64_t> bytes;  // by weight, full_size of all of its collectives over fsdp
      for (const auto& update : block.weights) bytes[update.weight] = 0;
      for (const auto* pass : {&block.forward, &block.backward}) {
        std::map<std::string, int> times;
        for (const auto& step : *pass) {
          if (step.kind != workloads::BlockStep::Kind::collective || step.role != workloads::CollectiveRole::weight)
            continue;
          const auto weight = step.name.substr(step.name.find(' ') + 1);
          EXPECT_EQ(++times[weight], 1) << weight;
          bytes[weight] += step.full_size.value();
        }
      }
      for (const auto& update : block.weights) {
        std::int64_t scattered = 0;
        for (const auto& derived : update.each_microbatch) {
          if (derived.kind == workloads::CollectiveKind::reduce_scatter && derived.axes == workloads::AxisNames{"fsdp"})
            scattered += derived.full_size.value();
        }
        if (update.weight == "Wembed") continue;  // looked up, not multiplied
        EXPECT_EQ(bytes[update.weight], 2 * 2 * update.stored.value()) << update.weight;
        EXPECT_EQ(scattered, 2 * update.stored.value()) << update.weight;
      }
    }
  }
}

// FSDP and sequence-parallel tensor parallelism: the activation collectives of one, 1/X as large, and the weights' of
// the other, 1/Y.
TEST(TransformerBlock, BothAtOnce) {
  const auto layer = derived(transformer(), workloads::Parallel{.fsdp = 2, .tensor = 4}).layer();
  const auto forward = collectives(layer.forward);
  EXPECT_THAT(along(forward, "tensor"), ElementsAre("AllGather_tensor A 4096", "ReduceScatter_tensor Y 4096",
                                                    "AllGather_tensor M 4096", "ReduceScatter_tensor E 4096"));
  EXPECT_THAT(along(forward, "fsdp"), ::testing::Contains("AllGather_fsdp Wq 512"));
  EXPECT_EQ(along(forward, "tensor").size() + along(forward, "fsdp").size(), forward.size());
}

// Vocabulary parallel: the embedding's rows are summed onto the stream, the logits stay split, and the loss needs
// 3 fp32 statistics of every token: 4 x 3 x BT bytes.
TEST(TransformerBlock, VocabularyParallelEmbeddingAndLoss) {
  const auto all = derived(transformer(), workloads::Parallel{.tensor = 4});
  EXPECT_THAT(collectives(all.kinds[0].forward), ElementsAre("ReduceScatter_tensor X 8192"));
  EXPECT_THAT(collectives(all.kinds[2].forward),
              ElementsAre("AllGather_tensor Xf 8192", "AllReduce_tensor Logitsstat 1536"));
}

// Without a vocabulary there is nothing to look up and no loss: layers only.
TEST(TransformerBlock, WithoutVocabulary) {
  auto model = transformer(3);
  model.vocabulary = 0;
  const auto all = derived(model, workloads::Parallel{.fsdp = 4});
  ASSERT_EQ(all.kinds.size(), 1U);
  EXPECT_EQ(all.kinds[0].name, "layer");
  const auto graph = all.step();
  EXPECT_EQ(graph.block_names, (std::vector<std::string>{"layer 0", "layer 1", "layer 2"}));
  double flops = 0;
  for (workloads::OpId id = 0; id < graph.size(); ++id) flops += graph.op(id)->flops.value();
  EXPECT_EQ(flops * 4, 3 * forward_flops_per_token(model, 8, true) * 128);
}

// A tied unembedding's gradient belongs to the embedding, which owns the weight.
TEST(TransformerBlock, TiedEmbeddings) {
  auto model = transformer();
  model.tied_embeddings = true;
  const auto all = derived(model, workloads::Parallel{.fsdp = 4});
  ASSERT_EQ(all.kinds[2].tied_gradients.size(), 1U);
  EXPECT_EQ(all.kinds[2].tied_gradients[0].weight, "Wembed");
  EXPECT_EQ(all.kinds[2].backward[static_cast<std::size_t>(all.kinds[2].tied_gradients[0].step)].name,
            "unembedding weight gradient");
  for (const auto& update : all.kinds[2].weights) EXPECT_NE(update.weight, "Wembed");
}

// Context parallel: queries split over T need all keys and values, which are gathered; their gradients, of which every
// slice of the queries makes a part, are scattered back. Also where the keys cross whole.
TEST(TransformerBlock, KeysAndValuesAlongASplitSequence) {
  const workloads::Parallel parallel{.data = 4};
  auto plan = plan_for(blocks_of(transformer()), workloads::Parallel{});
  for (auto& [name, tensor] : plan.activations) {
    if (auto* t = tensor.find("T")) t->axes = {"data"};
  }
  auto layer = derived(transformer(), plan, parallel).layer();
  EXPECT_THAT(collectives(layer.forward), ElementsAre("AllGather_data K 4096", "AllGather_data V 4096"));
  EXPECT_THAT(collectives(layer.backward),
              UnorderedElementsAre("ReduceScatter_data dK 4096", "ReduceScatter_data dV 4096"));

  plan.activations["K"].find("T")->axes.clear();
  plan.activations["V"].find("T")->axes.clear();
  layer = derived(transformer(), plan, parallel).layer();
  EXPECT_THAT(collectives(layer.forward), UnorderedElementsAre("AllGather_data K 4096", "AllGather_data V 4096"));
  EXPECT_THAT(collectives(layer.backward),
              ::testing::IsSupersetOf({"AllReduce_data dK 4096", "AllReduce_data dV 4096"}));
}

// Multi-query: one key-value head on every tensor rank. Attention needs nothing of other ranks; the queries' heads on
// each rank make a part of dK and dV, B T K H elements of 2 bytes = 128 x 4 x 2 to be summed.
TEST(TransformerBlock, OneKeyValueHeadOnEveryTensorRank) {
  auto model = transformer();
  model.kv_heads = 1;
  const workloads::Parallel parallel{.tensor = 4, .sequence_parallel = false};
  auto plan = plan_for(blocks_of(model), parallel);
  for (const auto* name : {"Kp", "K", "V"}) plan.activations[name].find("K")->axes.clear();
  for (auto* shardings : {&plan.weights, &plan.gradients, &plan.optimizer}) {
    for (const auto* name : {"Wk", "Wv"}) (*shardings)[name].find("K")->axes.clear();
  }
  const auto layer = derived(model, plan, parallel).layer();
  EXPECT_THAT(collectives(layer.forward), ElementsAre("AllReduce_tensor Y 8192", "AllReduce_tensor E 8192"));
  EXPECT_THAT(collectives(layer.backward),
              ::testing::IsSupersetOf({"AllReduce_tensor dK 1024", "AllReduce_tensor dV 1024"}));
}

TEST(TransformerBlock, HeadsMustBeSplitAlike) {
  const workloads::Parallel parallel{.data = 2, .tensor = 4};
  auto plan = plan_for(blocks_of(transformer()), parallel);
  plan.activations["K"].find("K")->axes = {"data"};
  try {
    (void)derived(transformer(), plan, parallel);
    FAIL() << "accepted";
  } catch (const workloads::ShardingError& error) {
    EXPECT_EQ(error.axis(), "tensor");
    EXPECT_THAT(error.what_is_wrong(), ::testing::HasSubstr("split the heads differently"));
  }
}

// Collective matmul: the reduce-scatter of the sum dA over Q, K and V starts with the last of the three products, so it
// waits for the other two and for what the compute stream does before the last, but not for the last itself.
TEST(TransformerBlock, CollectiveMatmulStartsWithTheLastProduct) {
  const auto layer = derived(transformer(), workloads::Parallel{.tensor = 4}, {.collective_matmul = true}).layer();
  const auto step = [&](const std::string& name) {
    const auto found =
        std::find_if(layer.backward.begin(), layer.backward.end(), [&](const auto& s) { return s.name == name; });
    return static_cast<int>(found - layer.backward.begin());
  };
  const auto& after = layer.backward[static_cast<std::size_t>(step("ReduceScatter_tensor dA"))].after;
  EXPECT_THAT(after,
              ::testing::IsSupersetOf({step("value projection input gradient"), step("key projection input gradient"),
                                       step("key projection weight gradient")}));
  EXPECT_THAT(after, ::testing::Not(::testing::Contains(step("query projection input gradient"))));
}

// A norm over a split D reduces one fp32 number per token, 4BT bytes, forward and backward.
TEST(TransformerBlock, NormOverASplitDimension) {
  const workloads::Parallel parallel{.tensor = 4};
  auto plan = plan_for(blocks_of(transformer()), workloads::Parallel{});
  for (const auto* name : {"X", "Xnext", "R", "Y", "E"}) plan.activations[name].find("D")->axes = {"tensor"};
  const auto layer = derived(transformer(), plan, parallel).layer();
  EXPECT_THAT(along(collectives(layer.forward), "tensor"),
              ::testing::IsSupersetOf({"AllReduce_tensor Xstat 512", "AllReduce_tensor Rstat 512"}));
  EXPECT_THAT(along(collectives(layer.backward), "tensor"),
              ::testing::IsSupersetOf({"AllReduce_tensor dXstat 512", "AllReduce_tensor dRstat 512"}));
}

}  // namespace
}  // namespace lockstep::test
