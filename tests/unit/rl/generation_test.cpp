// Generation (docs/howto/post_training.md). One token for each of b sequences takes decode(b) = t0 + t1 (b - 1), with
// t0 = 1 / (rate alone), t0 + t1 (s - 1) = s / (rate with all s sequences). A replica decodes s sequences at once and
// takes up the next when one ends; the phase ends with its slowest replica.
#include "sim/studies/rl/generation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lockstep::rl {
namespace {

GenerationSpec engine(std::int64_t sequences, double together, double alone) {
  GenerationSpec spec;
  spec.sequences = sequences;
  spec.tokens_per_s = together;
  spec.tokens_per_s_alone = alone;
  return spec;
}

TEST(Generation, DecodesAtTheStatedRates) {
  const auto spec = engine(4, 200, 80);
  EXPECT_DOUBLE_EQ(spec.decode(1).value(), 1.0 / 80);
  EXPECT_DOUBLE_EQ(spec.decode(4).value(), 4.0 / 200);
  EXPECT_DOUBLE_EQ(spec.decode(2).value(), 1.0 / 80 + (4.0 / 200 - 1.0 / 80) / 3);
}

/// Equal lengths keep a replica full: n / s rounds of L tokens for each of s sequences.
TEST(Generation, EqualResponsesTakeFullRounds) {
  const auto spec = engine(4, 200, 80);
  const auto phase = generation_of(spec, 2, 0, std::vector<std::int64_t>(24, 100));
  EXPECT_NEAR(phase.time.value(), 3 * 100 * 4.0 / 200, 1e-12);
  EXPECT_NEAR(phase.running_share, 1, 1e-12);
  EXPECT_EQ(phase.tokens, 2400);
}

/// Lengths 10, 10, 10, 110 at once: 10 tokens of four, then 100 of one alone.
TEST(Generation, TheLongestResponseEndsThePhase) {
  const auto spec = engine(4, 200, 80);
  const auto phase = generation_of(spec, 1, 0, {10, 10, 110, 10});
  EXPECT_NEAR(phase.time.value(), 10 * 4.0 / 200 + 100.0 / 80, 1e-12);
  EXPECT_NEAR(phase.running_share, (4 * 10 * 4.0 / 200 + 100.0 / 80) / (4 * phase.time.value()), 1e-12);
}

/// Three at a time: 10 tokens of three, then the fourth beside the two that are left: 10 of three, then it alone.
TEST(Generation, TheNextResponseTakesTheFreePlace) {
  const auto spec = engine(3, 150, 60);
  const auto phase = generation_of(spec, 1, 0, {10, 20, 20, 30});
  EXPECT_NEAR(phase.time.value(), 20 * 3.0 / 150 + 20.0 / 60, 1e-12);
}

TEST(Generation, PromptsAreReadFirst) {
  auto spec = engine(4, 200, 80);
  spec.prompt_tokens_per_s = 1000;
  const auto without = generation_of(engine(4, 200, 80), 2, 50, std::vector<std::int64_t>(24, 100));
  const auto with = generation_of(spec, 2, 50, std::vector<std::int64_t>(24, 100));
  EXPECT_NEAR((with.time - without.time).value(), 12 * 50 / 1000.0, 1e-12);
}

/// No phase beats its tokens at full rate, or its longest response alone; more replicas never make it longer.
TEST(Generation, StaysAboveItsBounds) {
  ResponseLengths lengths;
  lengths.mean = 800;
  lengths.deviation = 700;
  lengths.most = 4000;
  const auto spec = engine(32, 1600, 90);
  const auto drawn = lengths.drawn(1000, 7);
  double before = 1e9;
  for (const std::int64_t replicas : {1, 2, 4, 8, 16}) {
    const auto phase = generation_of(spec, replicas, 0, drawn);
    EXPECT_GE(phase.time.value(), phase.tokens / (1600.0 * static_cast<double>(replicas)) * (1 - 1e-12));
    EXPECT_GE(phase.time.value(), static_cast<double>(*std::max_element(drawn.begin(), drawn.end())) / 90);
    EXPECT_LT(phase.time.value(), before);
    EXPECT_LE(phase.running_share, 1 + 1e-12);
    before = phase.time.value();
  }
}

TEST(ResponseLengths, FollowTheirDistribution) {
  ResponseLengths normal;
  normal.mean = 1000;
  normal.deviation = 500;
  normal.most = 1'000'000;
  const auto drawn = normal.drawn(40'000, 3);
  const double count = static_cast<double>(drawn.size());
  const double mean = std::accumulate(drawn.begin(), drawn.end(), 0.0) / count;
  double squares = 0;
  for (const auto one : drawn) squares += (static_cast<double>(one) - mean) * (static_cast<double>(one) - mean);
  EXPECT_NEAR(mean, 1000, 4 * 500 / std::sqrt(count));
  EXPECT_NEAR(std::sqrt(squares / count), 500, 25);
  normal.most = 1200;
  const auto cut = normal.drawn(1000, 3);
  EXPECT_EQ(*std::max_element(cut.begin(), cut.end()), 1200);
  ResponseLengths shares;
  shares.shares = {{10, 0.25}, {20, 0.75}};
  const auto of_two = shares.drawn(10'000, 5);
  EXPECT_NEAR(static_cast<double>(std::count(of_two.begin(), of_two.end(), 10)), 2500,
              4 * std::sqrt(10'000 * 0.25 * 0.75));
  EXPECT_EQ(shares.drawn(100, 5), shares.drawn(100, 5));
  EXPECT_NE(shares.drawn(100, 5), shares.drawn(100, 6));
}

}  // namespace
}  // namespace lockstep::rl
