// LLaMA-2 13B, 4096 sequences of 732 tokens (3e6) on 16x16x16 v5p: L 40, D 5120, F 13824, N = K = 40, H 128, V 32000.
#include <gtest/gtest.h>

#include "sim/studies/roofline/study.hpp"
#include "tests/validation/validated.hpp"

namespace lockstep {
namespace {

constexpr double chips = 4096;
constexpr double peak = 4.59e14;
constexpr double tokens = 4096 * 732;

// Every matmul weight costs 6 FLOPs a token: L (4 D^2 + 3 D F) + V D = 12.85e9 of them. Causal attention adds
// 3 x 4 T D L / 2 a token. 6 x 3e6 x 13e9 / (4096 x 4.59e14) = 0.124 s.
TEST(Llama2, ComputesForAnEighthOfASecond) {
  const double weights = 40 * (4.0 * 5120 * 5120 + 3.0 * 5120 * 13824) + 32000.0 * 5120;
  const double attention = 3 * 4 * 732.0 * 5120 * 40 / 2;
  const auto outcome = test::contended(test::shipped("llama2-13b-fsdp.yaml"));
  EXPECT_NEAR(outcome.compute_s, tokens * (6 * weights + attention) / (chips * peak), 1e-9);
  EXPECT_NEAR(outcome.compute_s, 0.124, 0.002);
}

// 732 tokens a chip are below the 850 that FSDP needs on three axes: communication shows.
TEST(Llama2, FsdpAloneExposesCommunication) {
  const auto outcome = test::contended(test::shipped("llama2-13b-fsdp.yaml"));
  EXPECT_GT(outcome.exposed_comm_s, 0.15 * outcome.step_s);
}

// And that is no matter of padding: 5120 does not divide by 4096, but with D = 4096 (and F, N in proportion) the
// shards are even, and the layer still gathers longer than it computes: 850 x 4095/4096 against 732.
TEST(Llama2, FsdpAloneExposesCommunicationWithEvenShards) {
  const scenario::KeyOverride even{"model", "{layers: 8, d_model: 4096, d_ff: 11059, heads: 32, vocabulary: 32000}"};
  const auto outcome = test::contended(test::shipped("llama2-13b-fsdp.yaml", {even}));
  EXPECT_GT(outcome.exposed_comm_s, 0.10 * outcome.step_s);
}

TEST(Llama2, DataParallelismAloneDoesNotFit) {
  const auto outcome = test::contended(test::shipped("llama2-13b-dp.yaml"));
  EXPECT_GT(outcome.peak_bytes, outcome.capacity_bytes);
}

// X_opt = sqrt(3e6/13824 x 2 x 4096) = 1333, so the closed forms name 1024 x 4, from the scenario itself too.
TEST(Llama2, TheStudyNames1024By4) {
  spdlog::logger silent("test");
  const auto scenario =
      test::shipped("llama2-13b-fsdp-tp-block.yaml",
                    {{"model", "{layers: 2, d_model: 5120, d_ff: 13824, heads: 40, vocabulary: 32000}"}});
  const auto study = roofline::study_roofline(scenario, silent, [](std::string_view, double) {});
  EXPECT_FALSE(study.fsdp_alone_hides);
  EXPECT_NEAR(study.best_fsdp, 1333, 1);
  EXPECT_EQ(study.named.fsdp, 1024);
  EXPECT_EQ(study.named.tensor, 4);
  EXPECT_NEAR(study.tokens_per_chip, 732, 1e-9);
  EXPECT_NEAR(study.mixed_need, 235, 0.5);
}

/// Steps of the scenarios at a tenth of the depth.
struct Placements {
  static studies::Outcome run(const std::string& file) {
    return test::contended(
        test::shipped(file, {{"model", "{layers: 4, d_model: 5120, d_ff: 13824, heads: 40, vocabulary: 32000}"}}));
  }
  studies::Outcome fsdp = run("llama2-13b-fsdp.yaml");
  studies::Outcome block = run("llama2-13b-fsdp-tp-block.yaml");
  studies::Outcome line = run("llama2-13b-fsdp-tp-line.yaml");
};

// With contention the block, a true ring of four, beats the line of four (half the bandwidth); all compute alike.
TEST(Llama2, TheBlockBeatsTheLine) {
  const Placements placed;
  EXPECT_LT(placed.block.step_s, placed.line.step_s);
  EXPECT_LT(placed.block.step_s, placed.fsdp.step_s);
  EXPECT_NEAR(placed.block.compute_s, placed.line.compute_s, 1e-12);
  EXPECT_NEAR(placed.block.compute_s, placed.fsdp.compute_s, 1e-12);
}

// The line's cost is TP's; the block pays for sharing links between TP and FSDP, which no closed form shows.
TEST(Llama2, ContentionCostsTheBlockAFifth) {
  spdlog::logger silent("test");
  const scenario::KeyOverride shallow{"model", "{layers: 4, d_model: 5120, d_ff: 13824, heads: 40, vocabulary: 32000}"};
  const auto scenario = test::shipped("llama2-13b-fsdp-tp-block.yaml", {shallow});
  const double alone =
      roofline::estimate_one_rank(scenario, preparation::prepare_step(scenario), silent).step_time.value();
  const double together = test::contended(scenario).step_s;
  EXPECT_GT(together, 1.1 * alone);
  EXPECT_LT(together, 1.4 * alone);
}

}  // namespace
}  // namespace lockstep
