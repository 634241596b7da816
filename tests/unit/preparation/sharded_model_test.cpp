// The model under a scenario's plan: sizes of a microbatch, kinds that recompute beside those that keep, shardings that
// the user writes, and what every rank's optimizer needs to know.
#include <gmock/gmock.h>

#include "sim/preparation/preparation.hpp"
#include "tests/unit/scenario/small_scenario.hpp"

namespace lockstep::test {
namespace {

using ::testing::HasSubstr;

// 8 sequences of 16 tokens over 4 ranks and M microbatches: 2 B x 32 / M tokens x 64.
TEST(ShardedModel, IsOfOneMicrobatch) {
  for (const int microbatches : {1, 2}) {
    const auto model = preparation::sharded_model(small_scenario(
        {{"batch", "{sequences: 8, sequence_length: 16, microbatches: " + std::to_string(microbatches) + "}"}}));
    EXPECT_EQ(model.layers.at(0).input_bytes.value(), 2 * 32 / microbatches * 64);
    EXPECT_EQ(model.order, std::vector<int>(6, 0));
  }
}

// A weight's gradient that nothing reduces in each microbatch is added to the microbatches' before: it is read too, 2DF
// bytes more.
TEST(ShardedModel, AddsGradientsOfSeveralMicrobatches) {
  const auto traffic = [](const std::string& batch) {
    const auto model = preparation::sharded_model(small_scenario({{"batch", batch}, {"parallel", "{data: 1}"}}));
    std::int64_t bytes = 0;
    for (const auto& step : model.layers[0].backward) {
      if (step.name == "in projection weight gradient") bytes = step.traffic.value();
    }
    return bytes;
  };
  EXPECT_EQ(
      traffic("{sequences: 16, sequence_length: 16, microbatches: 2}") - traffic("{sequences: 8, sequence_length: 16}"),
      2 * 64 * 128);
}

// Flat: 30 numbers over 4 ranks are 8 each. Along D = 6: 2 rows of 5 each.
TEST(ShardedModel, SplitsWeightsFlatOrAlongADimension) {
  const auto stored = [](const std::string& shards) {
    return preparation::sharded_model(small_scenario({{"model", "{type: two-matmul, layers: 1, d_model: 6, d_ff: 5}"},
                                                      {"parallel", "{fsdp: 4}"},
                                                      {"training", "{zero_shards: " + shards + "}"}}))
        .layers[0]
        .weights[0]
        .stored.value();
  };
  EXPECT_EQ(stored("flat"), 2 * 8);
  EXPECT_EQ(stored("dimension"), 2 * 2 * 5);
}

// Two matrices a layer. Shards: what is scattered over the ranks of ZeRO-1 and gathered again, both matrices of a layer
// at a time. Owners: each matrix goes by itself, to its owner and back, with the bytes of a gather.
TEST(ShardedModel, GivesMatricesToOwners) {
  using Kind = workloads::CollectiveKind;
  const auto prepared = [](const std::string& shards) {
    return preparation::prepare_step(small_scenario({{"parallel", "{data: 4, zero: 1}"},
                                                     {"batch", "{sequences: 8, sequence_length: 16, microbatches: 2}"},
                                                     {"training", "{zero_shards: " + shards + "}"},
                                                     {"communication", "{gradient_buckets: 1 TB}"}}));
  };
  const auto count = [](const preparation::PreparedStep& whole, Kind kind, Bytes size) {
    int found = 0;
    for (workloads::OpId id = 0; id < whole.step.size(); ++id) {
      const auto& op = whole.step.op(id);
      found += op->kind == workloads::StepWork::Kind::collective && op->collective == kind && op->full_size == size;
    }
    return found;
  };
  const Bytes matrix(2 * 64 * 128);
  const auto shards = prepared("flat"), owners = prepared("matrices");
  EXPECT_EQ(count(shards, Kind::reduce_scatter, matrix * 12), 1);  // the whole model in one bucket
  EXPECT_EQ(count(shards, Kind::all_gather, matrix * 2), 6);
  EXPECT_EQ(count(owners, Kind::reduce_scatter, matrix * 12), 0);
  EXPECT_EQ(count(owners, Kind::reduce, matrix), 12);
  EXPECT_EQ(count(owners, Kind::broadcast, matrix), 12);
  EXPECT_EQ(owners.model.layers[0].weights[0].stored, shards.model.layers[0].weights[0].stored);
}

TEST(ShardedModel, KnowsTheRanksThatShareOutExperts) {
  const auto ranks = [&](const std::string& parallel) {
    return preparation::sharded_model(small_scenario({{"model", small_mixture}, {"parallel", parallel}})).expert_ranks;
  };
  EXPECT_EQ(ranks("{expert: 4}"), 4);
  EXPECT_EQ(ranks("{expert: 2, tensor: 2}"), 2);
  EXPECT_EQ(ranks("{expert: 2, tensor: 2, experts_over: [expert, tensor]}"), 4);
  EXPECT_EQ(ranks("{expert: 2, tensor: 2, experts_over: [expert, tensor], expert_tensor: 2}"), 2);
  EXPECT_EQ(ranks("{tensor: 4, experts_over: [expert, tensor], expert_tensor: 2}"), 2);
  EXPECT_EQ(ranks("{data: 4}"), 1);
}

// Where only some layers recompute there are two sets of kinds: those that keep, and those whose layers' backward also
// runs the forward, 4BDF FLOPs.
TEST(ShardedModel, KeepsKindsThatRecomputeApart) {
  const auto model = preparation::sharded_model(small_scenario({{"training", "{recompute: {mode: full, layers: 3}}"}}));
  ASSERT_EQ(model.layers.size(), 2U);
  const auto flops = [](const workloads::BlockSteps& steps) {
    double sum = 0;
    for (const auto& step : steps) sum += step.flops.value();
    return sum;
  };
  const double forward = 4.0 * 32 * 64 * 128;
  EXPECT_EQ(flops(model.layers[0].backward), 2 * forward);
  EXPECT_EQ(flops(model.layers[1].backward), 3 * forward);
  EXPECT_EQ(preparation::sharded_model(small_scenario({{"training", "{recompute: full}"}})).layers.size(), 1U);
}

TEST(ShardedModel, WeightsAloneAreTheSame) {
  const auto scenario =
      small_scenario({{"model", small_transformer},
                      {"parallel", "{fsdp: 2, tensor: 2, zero: 1}"},
                      {"training", "{precision: int8, low_precision_gather: true, low_precision_weights: kept}"}});
  const auto whole = preparation::sharded_model(scenario), weights = preparation::sharded_weights(scenario);
  EXPECT_EQ(weights.order, whole.order);
  ASSERT_EQ(weights.layers.size(), whole.layers.size());
  for (std::size_t kind = 0; kind < whole.layers.size(); ++kind) {
    const auto& some = weights.layers[kind].weights;
    const auto& all = whole.layers[kind].weights;
    ASSERT_EQ(some.size(), all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(some[i].weight, all[i].weight);
      EXPECT_EQ(some[i].stored, all[i].stored);
      EXPECT_EQ(some[i].split_over, all[i].split_over);
      EXPECT_EQ(some[i].factored_elements, all[i].factored_elements);
    }
  }
}

// The user's own sharding of the residual between the layers' two products, and what cannot be.
TEST(ShardedModel, TakesTheUsersShardings) {
  const auto model = preparation::sharded_model(
      small_scenario({{"parallel", "{tensor: 4}"}, {"plan", "{weights: ['Win[D_tensor, F]']}"}}));
  EXPECT_EQ(model.plan.weights.at("Win").to_string(), "Win[D_tensor, F]");
  EXPECT_EQ(model.plan.optimizer.at("Win").to_string(), "Win[D_tensor, F]");
  EXPECT_EQ(model.plan.weights.at("Wout").to_string(), "Wout[F_tensor, D]");
}

// A user writes the tensor axis also where experts are split over a part of it.
TEST(ShardedModel, TakesShardingsBesideSplitExperts) {
  const auto model = preparation::sharded_model(
      small_scenario({{"model", small_mixture},
                      {"parallel", "{tensor: 4, experts_over: [expert, tensor], expert_tensor: 2}"},
                      {"plan", "{weights: ['Wo[N, H, D_tensor]']}"}}));
  EXPECT_EQ(model.plan.weights.at("Wo").dims.back().axes, (workloads::AxisNames{"tensor//2", "tensor%2"}));
}

TEST(ShardedModel, EveryBadShardingIsToldAtOnce) {
  const auto problems = refused([] {
    (void)preparation::sharded_model(small_scenario(
        {{"plan",
          "{activations: ['Middle[B, F]', 'In[B, D_data]'], weights: ['Win[F, D]'], optimizer: ['W[D, F]']}"}}));
  });
  EXPECT_THAT(problems, HasSubstr("plan.activations.Middle: the model has no activation Middle [one of In, Out, Tmp]"));
  EXPECT_THAT(problems, HasSubstr("plan.weights.Win: Win[F, D] does not have the dimensions of Win [Win[D, F]]"));
  EXPECT_THAT(problems, HasSubstr("plan.optimizer.W: the model has no weight W [one of Win, Wout]"));
  EXPECT_EQ(std::count(problems.begin(), problems.end(), '\n'), 2) << problems;
}

TEST(ShardedModel, ALayerTakesWhatItsLikeLeaves) {
  EXPECT_EQ(refused([] {
              (void)preparation::sharded_model(small_scenario({{"plan", "{activations: ['Out[B, D_data]']}"}}));
            }),
            "plan: a layer leaves Out[B, D_data] but the next takes In[B_data, D] [In and Out sharded alike]");
}

TEST(ShardedModel, AxesFitTheModel) {
  EXPECT_THAT(refused([] {
                (void)preparation::sharded_model(small_scenario({{"parallel", "{expert: 4}"}}));
              }),
              HasSubstr("parallel.expert: the model has no experts"));
  EXPECT_THAT(refused([] {
                (void)preparation::sharded_model(small_scenario({{"parallel", "{tensor: 4, expert_tensor: 2}"}}));
              }),
              HasSubstr("parallel.expert_tensor: the model has no experts"));
  EXPECT_THAT(refused([] {
                (void)preparation::sharded_model(
                    small_scenario({{"model", small_mixture}, {"parallel", "{tensor: 4, expert_tensor: 3}"}}));
              }),
              HasSubstr("parallel.expert_tensor: 3 ranks to split an expert do not divide the 4 of the tensor axis [a "
                        "size that divides 4]"));
  EXPECT_THAT(refused([] {
                (void)preparation::sharded_model(small_scenario({{"parallel", "{context: 4}"}}));
              }),
              HasSubstr("parallel.context: the model has no sequence"));
  const Keys context{
      {"model", small_transformer}, {"parallel", "{context: 4}"}, {"batch", "{sequences: 8, sequence_length: 12}"}};
  EXPECT_THAT(refused([&] { (void)preparation::sharded_model(small_scenario(context)); }),
              HasSubstr("parallel.context: balanced causal attention needs 2 x 4 equal pieces of 12 tokens"));
  auto contiguous = context;
  contiguous[1].second = "{context: 4, context_order: contiguous}";
  EXPECT_NO_THROW((void)preparation::sharded_model(small_scenario(contiguous)));
}

}  // namespace
}  // namespace lockstep::test
