// MFU = model FLOPs / (chips x peak x step time); HFU the same with what was really computed.
#include <gtest/gtest.h>

#include "sim/metrics/metrics.hpp"

namespace lockstep {
namespace {

// 8 chips of 1e14 FLOP/s for 2 s could compute 1.6e15; 4e14 are 25 %, 6e14 with recomputation 37.5 %.
TEST(EfficiencyTest, IsOfAllChipsAtPeak) {
  metrics::Metrics metrics;
  metrics.step_time = Seconds(2);
  metrics.chips = 8;
  metrics.tokens = 5000;
  metrics.peak = FlopsPerSecond(1e14);
  metrics.model_flops = Flops(4e14);
  metrics.executed_flops = Flops(6e14);
  EXPECT_DOUBLE_EQ(metrics.mfu(), 0.25);
  EXPECT_DOUBLE_EQ(metrics.hfu(), 0.375);
  EXPECT_DOUBLE_EQ(metrics.tokens_per_second(), 2500);
}

}  // namespace
}  // namespace lockstep
