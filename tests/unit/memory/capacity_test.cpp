// How many parameters fit: bytes of memory / bytes a parameter.
#include <gtest/gtest.h>
#include <spdlog/logger.h>

#include "sim/studies/roofline/study.hpp"
#include "tests/source_dir.hpp"
#include "tests/unit/memory/memory_over_time.hpp"

namespace lockstep {
namespace {

using test::OneRank;

// bf16 weights and fp32 Adam moments are 2 + 8 = 10 B a parameter; 96e9 / 10 = 9.6e9 parameters on a v5p.
TEST(CapacityTest, AV5pHolds9600MillionParametersWithAdam) {
  const OneRank rank("validation_zero.yaml", {{"training.master_weights", "false"}});
  const double per_parameter =
      static_cast<double>((rank.step().held[0].weights + rank.step().held[0].optimizer).value()) / 7.5e9;
  EXPECT_DOUBLE_EQ(per_parameter, 10);
  EXPECT_DOUBLE_EQ(static_cast<double>(rank.memory.capacity.value()) / per_parameter, 9.6e9);
}

// Gradients in bf16 too: 12 B a parameter. 80 GB hold 6.7e9 unsplit, and 8 x 80 GB 53e9 at ZeRO-3.
TEST(CapacityTest, EightTimes80GBHoldSixOrFiftyBillionParameters) {
  auto per_parameter = [](const char* zero) {
    const OneRank rank("validation_zero.yaml", {{"training.master_weights", "false"},
                                                {"cluster", "tpu-v5p:8"},
                                                {"parallel", std::string("{data: 8, zero: ") + zero + "}"}});
    return static_cast<double>(
               (rank.step().held[0].weights + rank.step().held[0].optimizer + rank.accumulated_gradients()).value()) /
           7.5e9;
  };
  EXPECT_NEAR(80e9 / per_parameter("0"), 6e9, 1e9);
  EXPECT_NEAR(80e9 / per_parameter("3"), 50e9, 4e9);
}

// LLaMA-2 13B under pure data parallelism: 13.0e9 x 10 B = 130 GB on a chip of 95.74 GiB.
TEST(CapacityTest, Llama2DoesNotFitOnAChipByDataParallelismAlone) {
  const auto scenario = scenario::load_scenario(std::filesystem::path(source_dir) / "scenarios/llama2-13b-dp.yaml");
  spdlog::logger silent("test");
  const auto memory = roofline::estimate_one_rank(scenario, preparation::prepare_step(scenario), silent).memory;
  EXPECT_NEAR(static_cast<double>((memory.weights + memory.optimizer).value()), 130e9, 0.5e9);
  EXPECT_EQ(memory.capacity.value(), 102'800'042'230);
  EXPECT_EQ(studies::fit_of(memory.peak, memory.capacity), studies::Fit::does_not_fit);
}

TEST(CapacityTest, Llama2FitsByFsdp) {
  const auto scenario = scenario::load_scenario(std::filesystem::path(source_dir) / "scenarios/llama2-13b-fsdp.yaml");
  spdlog::logger silent("test");
  const auto memory = roofline::estimate_one_rank(scenario, preparation::prepare_step(scenario), silent).memory;
  EXPECT_EQ(studies::fit_of(memory.peak, memory.capacity), studies::Fit::fits);
}

// SGD keeps no moments: 2 B a parameter, and 4 more with fp32 master weights.
TEST(CapacityTest, FollowsTheOptimizer) {
  const OneRank sgd("validation_zero.yaml", {{"training", "{optimizer: sgd}"}});
  EXPECT_EQ(sgd.step().held[0].optimizer.value(), 0);
  const OneRank master("validation_zero.yaml", {{"training", "{optimizer: sgd, master_weights: true}"}});
  EXPECT_DOUBLE_EQ(static_cast<double>(master.step().held[0].optimizer.value()), 4 * 7.5e9);
}

}  // namespace
}  // namespace lockstep
