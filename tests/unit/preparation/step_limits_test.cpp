// Steps that are too large are refused at the numbers of limits.hpp, and not below them; and what a step takes from the
// chip: rates, the way to the host, the load of experts.
#include "sim/scenario/limits.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "sim/collectives/tried_groups.hpp"
#include "sim/preparation/placement_cost.hpp"
#include "sim/preparation/preparing_private.hpp"
#include "tests/unit/scenario/small_scenario.hpp"

namespace lockstep::test {
namespace {

using ::testing::HasSubstr;

/// One kind of layer with so many steps and weights, run `times` times.
preparation::ShardedModel model_of(std::size_t steps, std::size_t weights, std::size_t times) {
  preparation::ShardedModel model;
  model.layers.resize(1);
  model.layers[0].forward.resize(steps);
  model.layers[0].weights.resize(weights);
  model.order.assign(times, 0);
  return model;
}

class StepLimits : public testing::Test {
 protected:
  std::string checked(const preparation::ShardedModel& model, std::int64_t microbatches = 1) {
    scenario.batch.microbatches = microbatches;
    return refused([&] { check_size(scenario, model); });
  }
  std::string checked_operations(const preparation::ShardedModel& model, std::int64_t microbatches) {
    return refused([&] { preparation::check_step_size(scenario, {machine, model, {}}, microbatches); });
  }
  scenario::Scenario scenario = small_scenario();
  preparation::Machine machine = preparation::prepare(scenario).machine;
};

TEST_F(StepLimits, OperationsOfAllMicrobatches) {
  EXPECT_EQ(checked_operations(model_of(400, 100, 100), 100), "") << "5e6 operations";
  EXPECT_EQ(checked_operations(model_of(401, 100, 100), 100),
            "batch.microbatches: the step would have more than 5e6 operations [fewer microbatches or layers]");
}

// Every stage runs each microbatch forwards once.
TEST_F(StepLimits, PassesOfTheWholeStep) {
  scenario.batch.microbatches = 50'000;
  EXPECT_EQ(refused([&] { preparation::check_passes(scenario, 100); }), "");
  EXPECT_EQ(refused([&] { preparation::check_passes(scenario, 101); }),
            "batch.microbatches: the stages of the pipeline would run more than 5e6 forward passes "
            "[fewer microbatches or stages]");
}

TEST_F(StepLimits, WeightsOfAllLayers) {
  EXPECT_EQ(checked(model_of(1, 20, 1000)), "");
  EXPECT_EQ(checked(model_of(1, 20, 1001)), "model: the model has more than 2e4 weight tensors [fewer layers]");
}

// 16 B of state for each element that a rank keeps a gradient of or updates, whichever is more.
TEST_F(StepLimits, BytesOfAllArrays) {
  auto model = model_of(1, 1, 10);
  model.layers[0].forward[0].output = Bytes(200'000'000'000'000'000);
  model.layers[0].forward[0].workspace = Bytes(40'000'000'000'000'000);
  model.layers[0].weights[0].gradient_elements = 10'000'000'000'000'000;
  EXPECT_EQ(checked(model), "") << "10 x (0.24e18 + 0.16e18)";
  model.layers[0].weights[0].optimizer_elements = 10'001'000'000'000'000;
  EXPECT_EQ(checked(model),
            "batch: the arrays of a step have more than 4e18 bytes on one chip [fewer tokens, or a smaller model]");
  model.layers[0].weights[0].optimizer_elements = 0;
  EXPECT_NE(checked(model, 2), "");
}

TEST(StepLimitsOverRanks, CountEveryRankOfAStage) {
  auto scenario = small_scenario({{"cluster", "tpu-v5p:8x8x16"},
                                  {"parallel", "{data: 1024}"},
                                  {"batch", "{sequences: 1024, sequence_length: 16}"}});
  const auto machine = preparation::prepare(scenario).machine;
  const auto checked = [&](std::size_t steps) {
    return refused([&] { preparation::check_step_size(scenario, {machine, model_of(steps, 0, 100), {}}, 1000); });
  };
  EXPECT_EQ(checked(39), "") << "3.9e6 on 1024 ranks";
  EXPECT_EQ(checked(40),
            "batch.microbatches: the step would have more than 4e9 operations over all ranks "
            "[fewer microbatches, layers or chips]");
}

// Each stage may compute for 1e8 s, which are 1157 days; collectives have no part in it.
TEST(EndlessSteps, AreRefusedByStage) {
  const auto scenario = small_scenario();
  program::Program program;
  program.stage_of_rank = {0, 1};
  for (const std::int32_t stage : {0, 1}) {
    program::ProgramOp op;
    op.stage = stage;
    op.duration = Seconds(1e8);
    program.ops.push_back(op);
  }
  program::ProgramOp collective;
  collective.kind = program::ProgramOp::Kind::collective;
  collective.duration = Seconds(1e9);
  program.ops.push_back(collective);
  EXPECT_NO_THROW(preparation::refuse_endless_step(scenario, program));
  program.ops[0].stage = 1;
  EXPECT_EQ(refused([&] { preparation::refuse_endless_step(scenario, program); }),
            "batch: a step of so many tokens computes for at least 2314 days on these chips "
            "[at most 1157 days: fewer tokens, or more or faster chips]");
}

// TPU v5p: bf16 459e12, int8 918e12 FLOP/s, memory 2765e9 B/s; its kernels reach 0.93, 0.59 and 0.8 of these.
TEST(Rates, AreTheChipsOrWhatItsKernelsReach) {
  const auto rates = preparation::rates_of(small_scenario());
  EXPECT_EQ(rates.model, cost::TimeModel::ideal);
  EXPECT_EQ(rates.flops, FlopsPerSecond(459e12));
  EXPECT_EQ(rates.memory, BytesPerSecond(2765e9));
  EXPECT_FALSE(rates.kernels);
  const auto wide = preparation::rates_of(small_scenario({{"training", "{precision: int8}"}}));
  EXPECT_EQ(wide.flops, FlopsPerSecond(918e12));
  EXPECT_EQ(wide.in_16_bits, FlopsPerSecond(459e12));
  const auto calibrated =
      preparation::rates_of(small_scenario({{"training", "{precision: int8}"}, {"model_of_time", "calibrated"}}));
  ASSERT_TRUE(calibrated.kernels);
  EXPECT_DOUBLE_EQ(calibrated.kernels->products.value(), 918e12 * 0.59 * 0.91);
  EXPECT_DOUBLE_EQ(calibrated.kernels->in_16_bits.value(), 459e12 * 0.93 * 0.91);
  EXPECT_DOUBLE_EQ(calibrated.kernels->memory.value(), 2765e9 * 0.8);
  const auto forward_on = [](const std::string& cluster, const std::string& training) {
    const auto on_gpus = preparation::rates_of(
        small_scenario({{"cluster", cluster}, {"training", training}, {"model_of_time", "calibrated"}}));
    return on_gpus.kernels.value().chip.attention.forward;
  };
  const std::string flash = "{attention_kernel: flash-attention-2}";
  EXPECT_LT(forward_on("h100:1", flash), forward_on("h100:1", "{}")) << "cuDNN's are faster on Hopper";
  EXPECT_DOUBLE_EQ(forward_on("a100:1", flash), forward_on("a100:1", "{}")) << "they are its usual kernels";
  EXPECT_EQ(refused([] {
              (void)preparation::rates_of(small_scenario({{"training", "{precision: fp16, master_weights: true}"}}));
            }),
            "training.precision: chip tpu-v5p has no fp16 rate [one of bf16, fp8, int8]");
  EXPECT_EQ(refused([] {
              (void)preparation::rates_of(
                  small_scenario({{"training", "{precision: fp8}"}, {"model_of_time", "calibrated"}}));
            }),
            "model_of_time: kernels of chip tpu-v5p are not known in fp8 [a precision of its kernels.matrix]");
}

// FLOPs of a token's forward: L layers of 2 (4 D^2 + 3 D F), 2 D V of the unembedding, and L 2 T D of causal attention;
// the backward has twice as many. With a = attention's share of the time at one clock, clock = (a power + 1 -
// a)^(-1/1.57).
TEST(Rates, HaveTheAttentionThatTheScenarioNames) {
  const auto rates_of = [](const std::string& kernel) {
    return preparation::rates_of(small_scenario({{"model", "llama-2-7b"},
                                                 {"cluster", "h100:1"},
                                                 {"mesh", "{}"},
                                                 {"parallel", "{data: 8}"},
                                                 {"batch", "{sequences: 8, sequence_length: 65536}"},
                                                 {"training", "{attention_kernel: " + kernel + "}"},
                                                 {"model_of_time", "calibrated"}}));
  };
  Problems problems;
  const auto chip = topologies::load_chip(scenario::data_root() / "topologies/catalog", "h100", problems);
  const auto& named = *topologies::attention_called(*chip.kernels, "flash-attention-2");
  const auto rates = rates_of("flash-attention-2");
  const double others = 32 * (2 * 4 * 4096.0 * 4096 + 6 * 4096.0 * 11008) + 2 * 4096.0 * 32000;
  const double attention = 32 * 2 * 65536.0 * 4096;
  const double diagonal = 1 + named.block / 65536;
  const double time = attention * diagonal *
                      ((1 + named.softmax / 128) / named.forward + 2 * (1 + named.softmax / 256) / named.backward);
  const double share = time / (time + 3 * others);
  const double clock = std::pow(share * named.power + 1 - share, -1 / 1.57);
  EXPECT_NEAR(rates.kernels->chip.attention.forward / (named.forward * clock), 1, 1e-9);
  EXPECT_NEAR(rates.kernels->chip.attention.backward / (named.backward * clock), 1, 1e-9);
  EXPECT_EQ(refused([&] { (void)rates_of("flash-attention-9"); }),
            "training.attention_kernel: no kernels of attention 'flash-attention-9' are known on chip h100 [one of " +
                topologies::attention_names(*chip.kernels) + "]");
}

TEST(StepOptionsOfAScenario, TakeTheWayToTheHostFromTheChip) {
  const auto scenario = small_scenario({{"training", "{offload: {optimizer: true}}"}});
  EXPECT_EQ(preparation::step_options(scenario, {}).offload.link, BytesPerSecond(15e9));
  EXPECT_EQ(preparation::step_options(small_scenario(), {}).offload.link, BytesPerSecond(0)) << "nothing moves";
}

TEST(StepOptionsOfAScenario, SpreadTokensOverTheRanksOfExperts) {
  preparation::ShardedModel model;
  model.expert_ranks = 4;
  const auto load = [&](const std::string& routing) {
    return step_options(small_scenario({{"model", small_mixture}, {"routing", routing}}), model).expert_load;
  };
  const auto uneven = load("{variation: 0.5, seed: 9}");
  EXPECT_EQ(uneven.variation, 0.5);
  EXPECT_EQ(uneven.seed, 9U);
  EXPECT_EQ(uneven.experts, 8);
  EXPECT_EQ(uneven.ranks, 4);
  EXPECT_EQ(load("{capacity_factor: 1.25}").ranks, 1) << "with a capacity all compute as many slots";
}

// cost = M each + once: what a further microbatch costs is always the same; and the placement that prepare chooses
// costs no more than those that one would try by hand.
TEST(PlacementCost, IsLinearInMicrobatches) {
  auto scenario = small_scenario({{"parallel", "{data: 2, tensor: 2}"}});
  const auto prepared = preparation::prepare_step(scenario);
  const auto cost = [&](std::int64_t microbatches) {
    scenario.batch.microbatches = microbatches;
    collectives::TriedGroups groups(*prepared.machine.cluster, false);
    return placement_cost(scenario, prepared.model, *prepared.machine.mesh, groups).value();
  };
  EXPECT_GT(cost(2), cost(1));
  EXPECT_GT(cost(0), 0) << "the reduction after the last";
  EXPECT_NEAR(cost(5) - cost(4), cost(2) - cost(1), 1e-9 * cost(5));
}

// P stages of 1F1B wait (P - 1) / P of a microbatch's time through the whole model, T: cost = M T + (P - 1) T + once,
// on all P stages together; of V chunks (P - 1) T / V. So that with P = 2 and V = 2, of 2 layers each, M = 2 and 4:
//   1F1B:        cost(4) - cost(2) = 2 T,  cost(2) = 3 T + once
//   interleaved: the same difference,      cost(2) = 2.5 T + once'
// and once' < once + T / 2 as reductions of the second chunk hide.
TEST(PlacementCost, HasTheBubbleOfItsSchedule) {
  const auto cost = [](std::int64_t microbatches, const std::string& pipeline, double seconds_to_reduce) {
    auto scenario = small_scenario({{"model", "{layers: 4, d_model: 512, d_ff: 2048, heads: 8, vocabulary: 0}"},
                                    {"parallel", "{data: 2, pipeline: 2}"},
                                    {"pipeline", pipeline}});
    scenario.batch.microbatches = 4;
    const auto prepared = preparation::prepare(scenario);
    auto model = prepared.model;
    if (seconds_to_reduce == 0) {
      for (auto& layer : model.layers) layer.weights.clear();
    }
    scenario.batch.microbatches = microbatches;
    collectives::TriedGroups groups(*prepared.machine.cluster, false);
    return placement_cost(scenario, model, *prepared.machine.mesh, groups).value();
  };
  const std::string plain = "{schedule: 1f1b}", chunks = "{schedule: interleaved, chunks: 2}";
  const double through = (cost(4, plain, 0) - cost(2, plain, 0)) / 2;
  EXPECT_NEAR(cost(2, plain, 0), 3 * through, 1e-9 * through);
  EXPECT_NEAR(cost(2, chunks, 0), 2.5 * through, 1e-9 * through);
  EXPECT_LT(cost(2, chunks, 1) - cost(2, chunks, 0), cost(2, plain, 1) - cost(2, plain, 0))
      << "reductions of the second chunk hide behind passes of the first";
}

TEST(PlacementCost, OfTheChosenPlacementIsTheLeast) {
  const Keys keys{{"cluster", "tpu-v5p:4x4x4"},
                  {"parallel", "{tensor: 4, data: 16}"},
                  {"batch", "{sequences: 64, sequence_length: 512}"}};
  const auto cost = [&](const std::string& mesh) {
    auto all = keys;
    if (!mesh.empty()) all.emplace_back("mesh", mesh);
    const auto scenario = small_scenario(all);
    const auto prepared = preparation::prepare_step(scenario);
    collectives::TriedGroups groups(*prepared.machine.cluster, false);
    return placement_cost(scenario, prepared.model, *prepared.machine.mesh, groups).value();
  };
  const double chosen = cost("");
  bool any_is_worse = false;
  for (const auto* mesh : {"{tensor: [x], data: rest}", "{tensor: [z], data: rest}", "{tensor: [x/2, y/2], data: rest}",
                           "{data: [x, y], tensor: rest}"}) {
    EXPECT_LE(chosen, cost(mesh) * (1 + 1e-9)) << mesh;
    any_is_worse = any_is_worse || cost(mesh) > chosen * 1.001;
  }
  EXPECT_TRUE(any_is_worse) << "a choice among equals would prove nothing";
}

}  // namespace
}  // namespace lockstep::test
