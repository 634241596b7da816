// LLaMA-3 405B over 54 days (arXiv 2407.21783, section 3.3.4): 466 interruptions, 419 of them unexpected, more than 90
// % effective training time.
#include <gtest/gtest.h>

#include <map>

#include "sim/studies/goodput/beside_published.hpp"
#include "sim/studies/goodput/renewal.hpp"
#include "sim/studies/goodput/run_model.hpp"
#include "tests/source_dir.hpp"

namespace lockstep {
namespace {

constexpr double days = 54 * 86400.0;

/// 405.85e9 parameters, a replica of 8 x 16 GPUs, a step as published: 16.8e6 tokens at 400 TFLOP/s a GPU take
/// about 6.5 s.
goodput::RunModel published(const std::vector<scenario::KeyOverride>& overrides = {}) {
  return goodput::run_model(
      load_scenario(std::filesystem::path(source_dir) / "scenarios" / "published" / "llama3-405b-54-days.yaml",
                    overrides),
      {405'853'388'800, 128, Seconds(6.5)});
}

TEST(PublishedRun, HasItsInterruptions) {
  const auto model = published();
  double planned = 0, gpus = 0;
  for (const auto& cause : model.causes) {
    if (cause.planned) planned += cause.rate * days;
    if (cause.of == scenario::Component::chip) gpus += cause.rate * days;
  }
  EXPECT_NEAR(model.failure_rate() * days, 419, 1e-9);
  EXPECT_NEAR(planned, 47, 1e-9);
  EXPECT_NEAR(gpus, 148 + 72 + 19 + 17 + 6 + 6, 1e-9);
}

// 14 bytes a parameter at 2 TB/s: C = 2.84 s; M = 54 days / 419 = 3.09 h; sqrt(2 C M) = 251 s. 419 cost 2 + 8 min,
// half an interval and reading, 12.1 min, and 47 planned ones 8 min: 7.0 % of the time; checkpoints C/tau are 1.1 %.
TEST(PublishedRun, MoreThanNinetyPercentOfItsTimeIsUseful) {
  const auto model = published();
  const auto shares = expected_shares(model);
  EXPECT_NEAR(first_order_interval(model).value(), 251, 1);
  EXPECT_NEAR(shares.useful, 1 - 0.070 - 0.011, 0.004);
  EXPECT_GT(shares.useful, 0.9);
}

// What is left for an interruption at 90 %: a tenth of 54 days over 466 is 16.7 min.
TEST(PublishedRun, BoundsDetectionAndRestart) {
  EXPECT_GT(expected_shares(published({{"reliability.restart", "10 min"}})).useful, 0.9);
  EXPECT_LT(expected_shares(published({{"reliability.restart", "15 min"}})).useful, 0.9);
}

// Rates of other clusters, without this run's table: 1.5 GPU failures a week of 400 on 16,384 are 474 in 54 days, hosts
// 10 in 122 days of 200 on 2,048 are 45, cables 0.057 % in 30 days of 49,152 are 50, switches 0.051 % of them 2. The
// run had 419 that were unexpected; the source has 1 to 2 GPU failures a week, so 414 to 730 in all.
TEST(PublishedRun, IsPredictedFromRatesOfOtherClusters) {
  const auto model = published({{"reliability.failures", "published"}});
  std::map<scenario::Component, double> predicted;
  for (const auto& cause : model.causes) predicted[cause.of] += cause.rate * days;
  EXPECT_NEAR(predicted[scenario::Component::chip], 1.5 / 7 / 400 * 16384 * 54, 1e-6);
  EXPECT_NEAR(predicted[scenario::Component::host], 10 / 122.0 / 200 * 2048 * 54, 1e-6);
  EXPECT_NEAR(predicted[scenario::Component::link], 0.00057 / 30 * 49152 * 54, 1e-6);
  EXPECT_NEAR(model.failure_rate() * days, 572, 1);
  const double gpus = predicted[scenario::Component::chip];
  EXPECT_LT(model.failure_rate() * days - gpus / 3, 419);
  EXPECT_GT(model.failure_rate() * days + gpus / 3, 419);
}

// The same two beside each other, by kind of part; planned stops are no failures, and nobody publishes a rate of NICs
// or software.
TEST(PublishedRun, BesideThePrediction) {
  const std::string file = std::string(source_dir) + "/scenarios/published/llama3-405b-54-days.yaml";
  const auto scenario = scenario::load_scenario(file, {});
  const goodput::RunFacts facts{405'853'388'800, 128, Seconds(6.5)};
  const auto beside = beside_published(scenario, run_model(scenario, facts), facts);
  EXPECT_NEAR(beside.own * days, 419, 1e-9);
  EXPECT_NEAR(beside.published * days, 572, 1);
  EXPECT_EQ(beside.shares.useful, expected_shares(published({{"reliability.failures", "published"}})).useful);
  std::map<scenario::Component, goodput::FailuresOfKind> kinds;
  for (const auto& kind : beside.kinds) kinds[kind.of] = kind;
  using enum scenario::Component;
  EXPECT_NEAR(kinds[chip].own.value() * days, 268, 1e-9);
  EXPECT_NEAR(kinds[chip].published.value() * days, 474, 1);
  EXPECT_NEAR(kinds[job].own.value() * days, 54 + 7 + 2, 1e-9);
  EXPECT_FALSE(kinds[job].published || kinds[nic].published || kinds[network_switch].own);
}

}  // namespace
}  // namespace lockstep
