// An iteration of post-training (docs/howto/post_training.md):
//   synchronous      iteration = generation + learning + refit
//   one step off     iteration = max(generation, learning) + refit
//   learning = logprobs + training + overhead
// Training and log-probabilities are the policy's step and its forward passes, for as many tokens as the iteration has.
#include "sim/studies/rl/loop_study.hpp"

#include <gtest/gtest.h>
#include <spdlog/logger.h>

#include "sim/simulate.hpp"
#include "sim/studies/rl/forward_pass.hpp"
#include "tests/unit/scenario/small_scenario.hpp"

namespace lockstep::rl {
namespace {

using test::Keys;

const Keys on_nodes{{"model", test::small_transformer},
                    {"cluster", "{node: {like: dgx-h100, chips: 2}, nodes: 2}"},
                    {"parallel", "{fsdp: 4}"},
                    {"batch", "{sequences: 8, sequence_length: 64, microbatches: 2}"}};

LoopSpec small_loop(const Keys& keys = on_nodes) {
  LoopSpec loop;
  loop.policy = test::small_scenario(keys);
  loop.prompts = 4;
  loop.generations = 8;
  loop.prompt_tokens = 16;
  loop.responses.mean = 48;
  loop.responses.most = 48;  // all alike
  loop.generation.sequences = 4;
  loop.generation.tokens_per_s = 1000;
  loop.generation.tokens_per_s_alone = 400;
  return loop;
}

Loop studied(const LoopSpec& loop) {
  spdlog::logger silent("test");
  return study_loop(loop, silent);
}

Seconds step_of(const scenario::Scenario& scenario) {
  spdlog::logger silent("test");
  SimulateOptions options;
  options.engine = engine::EngineKind::max_min;
  return simulate(scenario, options, silent).metrics.step_time;
}

Seconds forward_of(const Keys& keys) {
  spdlog::logger silent("test");
  const auto scenario = test::small_scenario(keys);
  return forward_time(scenario, preparation::prepare(scenario), silent);
}

/// Two of three products of a step belong to the backward; nothing else takes time on one chip at ideal rates.
TEST(ForwardTime, IsAThirdOfAStepWithoutCommunication) {
  const Keys keys{{"cluster", "tpu-v5p:1x1x1"}, {"parallel", "{data: 1}"}};
  EXPECT_NEAR(forward_of(keys) / step_of(test::small_scenario(keys)), 1.0 / 3, 1e-9);
}

/// M microbatches pass P stages of a forward of f each in (M + P - 1) f, next to transfers; f from a single stage.
TEST(ForwardTime, FillsAndDrainsThePipeline) {
  const auto keys = [](const std::string& parallel, const std::string& cluster) {
    return Keys{{"model", "{type: two-matmul, layers: 4, d_model: 1024, d_ff: 4096}"},
                {"cluster", cluster},
                {"parallel", parallel},
                {"batch", "{sequences: 64, sequence_length: 512, microbatches: 8}"}};
  };
  const auto one = forward_of(keys("{data: 1}", "tpu-v5p:1x1x1"));
  const auto four = forward_of(keys("{pipeline: 4}", "tpu-v5p:4x1x1"));
  const auto of_stage = one / 8.0 / 4.0;
  EXPECT_GE(four / (of_stage * 11.0), 1 - 1e-9);
  EXPECT_LT(four / (of_stage * 11.0), 1.2);
}

TEST(Loop, SynchronousPhasesFollowOneAnother) {
  const auto spec = small_loop();
  const auto loop = studied(spec);
  // 32 responses of 48 tokens on four chips, each a replica of four sequences: two rounds.
  EXPECT_NEAR(loop.generation.value(), 2 * 48 * 4.0 / 1000, 1e-12);
  EXPECT_EQ(loop.tokens, 32 * (48 + 16));
  EXPECT_DOUBLE_EQ(loop.optimizer_steps, 32.0 * 64 / (8 * 64));
  EXPECT_NEAR(loop.training / (step_of(spec.policy) * 4.0), 1, 1e-12);
  EXPECT_NEAR(loop.logprobs / (loop.forward * 2.0 * 4.0), 1, 1e-12);
  EXPECT_NEAR(loop.iteration / (loop.generation + loop.logprobs + loop.training + loop.refit), 1, 1e-12);
  EXPECT_EQ(loop.training_bubble(), Seconds(0));
  EXPECT_EQ(loop.generation_bubble(), Seconds(0));
  EXPECT_NEAR(loop.tokens_per_s_per_chip(), loop.tokens / loop.iteration.value() / 4, 1e-9);
}

TEST(Loop, TwoPoolsWaitForEachOtherUnlessOneStepOff) {
  auto spec = small_loop();
  spec.generation.nodes = 1;
  spec.logprobs = Seconds(1), spec.training = Seconds(2.25), spec.overhead = Seconds(0.75), spec.refit = Seconds(0.5);
  for (const double generation : {2.0, 4.0, 7.0}) {
    spec.generation.time = Seconds(generation);
    spec.one_step_off = false;
    const auto in_turn = studied(spec);
    EXPECT_DOUBLE_EQ(in_turn.iteration.value(), generation + 4.5);
    EXPECT_DOUBLE_EQ(in_turn.training_bubble().value(), generation);
    EXPECT_DOUBLE_EQ(in_turn.generation_bubble().value(), 4);
    EXPECT_EQ(in_turn.chips(), 6);
    spec.one_step_off = true;
    const auto off = studied(spec);
    EXPECT_DOUBLE_EQ(off.iteration.value(), std::max(generation, 4.0) + 0.5);
    EXPECT_DOUBLE_EQ(off.training_bubble().value(), std::max(0.0, generation - 4));
    EXPECT_DOUBLE_EQ(off.generation_bubble().value(), std::max(0.0, 4 - generation));
  }
}

/// The weights in 16 bits, gathered over the axis that splits them; a pool of its own gets them by a broadcast, which
/// no chip receives faster than its NIC.
TEST(Loop, RefitSendsTheWeightsOverTheNetwork) {
  auto spec = small_loop();
  const auto prepared = preparation::prepare(spec.policy);
  const Bytes weights = Bytes(2) * count_parameters(spec.policy.model).total();
  const auto one_pool = studied(spec);
  EXPECT_EQ(one_pool.sent.weights, weights);
  EXPECT_EQ(one_pool.sent.gather,
            prepared.machine.collectives->cost(workloads::CollectiveKind::all_gather, {"fsdp"}, weights));
  EXPECT_EQ(one_pool.sent.broadcast, Seconds(0));
  spec.generation.nodes = 2;
  const auto two_pools = studied(spec);
  EXPECT_EQ(two_pools.sent.gather, one_pool.sent.gather);
  EXPECT_GT(two_pools.sent.broadcast, weights / BytesPerSecond(50e9));
  spec.refit_element = Bytes(1);
  EXPECT_EQ(studied(spec).sent.weights * 2, weights);
}

TEST(Loop, EverySplitIsTheLoopOfItsOwn) {
  auto spec = small_loop();
  spec.generation.nodes = 1;
  spec.one_step_off = true;
  spdlog::logger silent("test");
  const auto splits = study_splits(spec, 5, silent);
  ASSERT_EQ(splits.size(), 3u);  // on three nodes two microbatches do not become as many of the same size
  for (const auto& [training, generation, loop] : splits) {
    EXPECT_EQ(training + generation, 5);
    EXPECT_EQ(loop.training_chips, 2 * training);
    EXPECT_EQ(loop.generation_chips, 2 * generation);
  }
  const auto same =
      std::find_if(splits.begin(), splits.end(), [](const Split& one) { return one.training_nodes == 2; });
  spec.generation.nodes = 3;
  EXPECT_EQ(same->loop.iteration, studied(spec).iteration);
}

// The fastest of those that fit; the cause why no split can be is told.
TEST(Loop, ASplitThatDoesNotFitIsNotTheBest) {
  std::vector<Split> splits(3);
  for (std::size_t i = 0; i < splits.size(); ++i) {
    splits[i].loop.iteration = Seconds(static_cast<double>(i + 1));
    splits[i].loop.peak_memory = i == 0 ? Bytes(2) : Bytes(1);
    splits[i].loop.memory = Bytes(1);
  }
  EXPECT_EQ(fastest_that_fits(splits), &splits[1]);
  splits.resize(1);
  EXPECT_EQ(fastest_that_fits(splits), nullptr);
  auto spec = small_loop();
  spec.generation.nodes = 1;
  spec.generation.chips_of_replica = 64;
  spdlog::logger silent("test");
  EXPECT_EQ(test::refused([&] { (void)study_splits(spec, 5, silent); }),
            "generation.chips_of_replica: 64 chips of a replica do not divide the 8 of the pool [a divisor of 8]");
}

TEST(Loop, RefusesReplicasThatDoNotFit) {
  auto spec = small_loop();
  spec.generation.chips_of_replica = 3;
  EXPECT_EQ(test::refused([&] { (void)studied(spec); }),
            "generation.chips_of_replica: 3 chips of a replica do not divide the 4 of the pool [a divisor of 4]");
  auto keys = on_nodes;
  keys[0] = {"model", "llama-3-70b"};
  keys[2] = {"parallel", "{tensor: 2, fsdp: 2}"};
  spec = small_loop(keys);
  EXPECT_EQ(test::refused([&] { (void)studied(spec); }),
            "generation.chips_of_replica: 141 GB of weights in 16 bits do not fit into the 80.0 GB of a replica [more "
            "chips]");
}

}  // namespace
}  // namespace lockstep::rl
