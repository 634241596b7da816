// What is drawn for chips and links has its distribution, and the same seed draws the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/unit/program/perturbed_machine.hpp"

namespace lockstep::test {
namespace {

using testing::Each;

// 1 + u with u uniform in [0, 0.2) or exponential with mean 0.2. Over 4096 chips the mean of u is within 5 standard
// deviations: 0.2 / sqrt(12) / 64 = 0.0009, and 0.2 / 64 = 0.0031.
TEST(Perturb, JitterHasItsDistribution) {
  const auto draws = [](program::Jitter::Distribution distribution, std::uint64_t seed) {
    Machine machine(torus({64, 64}, never));
    EXPECT_EQ(machine.apply({program::Jitter{distribution, 0.2, seed}}), "");
    std::vector<double> result;
    for (const double slowdown : machine.program.slowdown_of_rank) result.push_back(slowdown - 1);
    return result;
  };
  const auto mean = [](const std::vector<double>& of) {
    return std::accumulate(of.begin(), of.end(), 0.0) / static_cast<double>(of.size());
  };
  const auto uniform = draws(program::Jitter::Distribution::uniform, 1);
  EXPECT_THAT(uniform, Each(testing::AllOf(testing::Ge(0), testing::Lt(0.2))));
  EXPECT_NEAR(mean(uniform), 0.1, 0.0045);
  const auto exponential = draws(program::Jitter::Distribution::exponential, 1);
  EXPECT_THAT(exponential, Each(testing::Ge(0)));
  EXPECT_NEAR(mean(exponential), 0.2, 0.0155);
  // A part of exp(-2) = 0.135 lies above twice the mean; 5 standard deviations are 0.027.
  const auto above = std::count_if(exponential.begin(), exponential.end(), [](double u) { return u > 0.4; });
  EXPECT_NEAR(static_cast<double>(above) / 4096, std::exp(-2.0), 0.027);
  EXPECT_EQ(uniform, draws(program::Jitter::Distribution::uniform, 1));
  EXPECT_NE(uniform, draws(program::Jitter::Distribution::uniform, 2));
}

// Mean m in all three; the log-normal has median m e^(-s^2/2), the Pareto F(x) = 1 - (1 + x / (m (a - 1)))^(-a).
TEST(Perturb, JitterWithATailHasItsMeanAndMedian) {
  using Distribution = program::Jitter::Distribution;
  const auto excesses = [](program::Jitter jitter) {
    std::vector<double> all;
    for (jitter.seed = 1; jitter.seed <= 2; ++jitter.seed) {
      Machine machine(torus({64, 64}, never));
      EXPECT_EQ(machine.apply({jitter}), "");
      for (const double slowdown : machine.program.slowdown_of_rank) all.push_back(slowdown - 1);
    }
    std::sort(all.begin(), all.end());
    return all;
  };
  const auto mean = [](const std::vector<double>& all) {
    return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
  };
  const auto lognormal = excesses({Distribution::lognormal, 0.1, 0, 0.5});
  EXPECT_NEAR(mean(lognormal), 0.1, 0.003);  // deviation 0.1 sqrt(e^0.25 - 1) / 90 = 0.0006
  EXPECT_NEAR(lognormal[4096], 0.1 * std::exp(-0.125), 0.004);
  EXPECT_GT(lognormal.front(), 0);
  const auto pareto = excesses({Distribution::pareto, 0.1, 0, 3});
  EXPECT_NEAR(mean(pareto), 0.1, 0.01);  // deviation 0.1 sqrt(3) / 90 = 0.002
  EXPECT_NEAR(pareto[4096], 0.2 * (std::cbrt(2.0) - 1), 0.004);
  EXPECT_NEAR(pareto[8110], 0.2 * (std::cbrt(100.0) - 1), 0.12);
}

// Each chip and link by itself: a share p of n, with deviation sqrt(n p (1 - p)).
TEST(Perturb, SharesOfChipsAndLinksAreDrawn) {
  double slow = 0, flaky = 0, chips = 0, links = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Machine machine(torus({16, 16}, never));
    const auto before = machine.program.links;
    EXPECT_EQ(machine.apply({program::Stragglers{0.1, seed, 1.5}, program::FlakyLinks{0.2, seed, 0.25}}), "");
    for (const double slowdown : machine.program.slowdown_of_rank) {
      chips += 1;
      slow += slowdown == 1.5 ? 1 : 0;
      EXPECT_TRUE(slowdown == 1 || slowdown == 1.5);
    }
    for (const auto link : before.ids()) {
      if (machine.cluster.link(link).kind != topologies::LinkKind::ici) {
        EXPECT_EQ(machine.program.links[link], before[link]);
        continue;
      }
      links += 1;
      flaky += machine.program.links[link] == before[link] * 0.25 ? 1 : 0;
      EXPECT_TRUE(machine.program.links[link] == before[link] || machine.program.links[link] == before[link] * 0.25);
    }
  }
  EXPECT_NEAR(slow / chips, 0.1, 4 * std::sqrt(0.09 / chips));
  EXPECT_NEAR(flaky / links, 0.2, 4 * std::sqrt(0.16 / links));
}

TEST(Perturb, JitterOfNothingChangesNothing) {
  Machine machine(torus({4, 2}, never));
  for (const auto distribution : {program::Jitter::Distribution::uniform, program::Jitter::Distribution::exponential})
    EXPECT_EQ(machine.apply({program::Jitter{distribution, 0, 3}}), "");
  EXPECT_THAT(machine.program.slowdown_of_rank, Each(1));
}

}  // namespace
}  // namespace lockstep::test
