// LLaMA-3 405B over 54 days (arXiv 2407.21783, section 3.3.4): 466 interruptions, 419 of them unexpected, more than 90
// % effective training time.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace lockstep
