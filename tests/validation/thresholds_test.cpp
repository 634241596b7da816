// The book's thresholds, found by simulating deep models with contention instead of by formula.
#include <gtest/gtest.h>

#include "sim/studies/roofline/threshold_search.hpp"
#include "tests/validation/validated.hpp"

namespace lockstep {
namespace {

constexpr double alpha = 2550;  // C / W of a v5p

struct Group {
  std::string name, cluster;
  double chips;
  int axes;
};

class FsdpThresholdBySimulation : public testing::TestWithParam<Group> {
 protected:
  /// Bisected tokens per chip at which a layer stops exposing communication.
  static double bisected(const std::string& parallel, const std::string& mesh) {
    const auto& group = GetParam();
    const auto chips = std::to_string(static_cast<int>(group.chips));
    const auto scenario = test::validation(
        "validation_fsdp_threshold.yaml",
        {{"cluster", group.cluster}, {"mesh", mesh}, {"parallel", parallel}, {"batch.sequences", chips}});
    return roofline::simulated_token_threshold(scenario, 300, 6000, 1e-3, [](const scenario::Scenario& trial) {
      return Seconds(test::contended(trial).exposed_comm_s);
    });
  }
  /// B/X > C / (W M) in the limit of large rings; N chips move V (N-1)/N of every array.
  static double expected() { return alpha / GetParam().axes * (GetParam().chips - 1) / GetParam().chips; }
  static std::string chips() { return std::to_string(static_cast<int>(GetParam().chips)); }
};

TEST_P(FsdpThresholdBySimulation, IsTheBooksWithExactRings) {
  EXPECT_NEAR(bisected("{fsdp: " + chips() + "}", "{fsdp: rest}") / expected(), 1, 0.01);
}

// Gradients of DP are summed during the backward: 8 D F bytes beside 8 B D F FLOPs, the same threshold.
TEST_P(FsdpThresholdBySimulation, HoldsForDataParallelismToo) {
  EXPECT_NEAR(bisected("{data: " + chips() + ", zero: 0}", "{data: rest}") / expected(), 1, 0.01);
}

INSTANTIATE_TEST_SUITE_P(Tori, FsdpThresholdBySimulation,
                         testing::Values(Group{"OneAxis", "tpu-v5p:8", 8, 1}, Group{"TwoAxes", "tpu-v5p:8x8", 64, 2},
                                         Group{"ThreeAxes", "tpu-v5p:4x4x4", 64, 3},
                                         Group{"ThreeLongerAxes", "tpu-v5p:8x8x8", 512, 3}),
                         [](const auto& group) { return group.param.name; });

// Y < F / alpha = 28800 / 2550 = 11.3 for large rings; a ring of Y moves (Y-1)/Y, so Y - 1 < 11.3: of the rings of
// 4, 8, 12 and 16 the first three hide, whatever the batch.
TEST(TensorLimitBySimulation, IsTheBooksToOneStepOfTheRing) {
  for (const char* tokens : {"16384", "65536"}) {
    for (const int size : {4, 8, 12, 16}) {
      const auto text = std::to_string(size);
      const auto scenario = test::validation(
          "validation_tensor_limit.yaml",
          {{"cluster", "tpu-v5p:" + text}, {"parallel", "{tensor: " + text + "}"}, {"batch.sequences", tokens}});
      const auto exposed = roofline::exposed_per_layer(
          scenario, [](const scenario::Scenario& trial) { return Seconds(test::contended(trial).exposed_comm_s); });
      const double compute = test::contended(scenario).compute_s / 6;
      if (size - 1 < 28800 / alpha) {
        EXPECT_LT(exposed.value(), 1e-6 * compute) << size << " of " << tokens;
      } else {
        EXPECT_GT(exposed.value(), 0.1 * compute) << size << " of " << tokens;
      }
    }
  }
}

// Without overlap inside the product the gathers stand on the critical path at any size.
TEST(TensorLimitBySimulation, NeedsOverlappedProducts) {
  const auto scenario = test::validation("validation_tensor_limit.yaml",
                                         {{"parallel", "{tensor: 8}"}, {"communication.collective_matmul", "false"}});
  const auto exposed = roofline::exposed_per_layer(
      scenario, [](const scenario::Scenario& trial) { return Seconds(test::contended(trial).exposed_comm_s); });
  EXPECT_GT(exposed.value(), 0.1 * test::contended(scenario).compute_s / 6);
}

}  // namespace
}  // namespace lockstep
