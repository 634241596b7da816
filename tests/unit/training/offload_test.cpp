// Optimizer state and activations in the host's memory. One v5p: C = 4.59e14 FLOP/s, 15e9 B/s to and from its host;
// L = 3 layers In[B, D] Win[D, F] Wout[F, D], B = 65536, D = 1024, F = 4096. One product takes t = 2 B D F / C = 1.198
// ms.
#include <gtest/gtest.h>

#include "tests/unit/memory/memory_over_time.hpp"

namespace lockstep {
namespace {

using test::OneRank;

constexpr double B = 65536, D = 1024, F = 4096, C = 4.59e14, link = 15e9;
constexpr std::int64_t layers = 3;
constexpr double t = 2 * B * D * F / C;
constexpr double layer_parameters = 2 * D * F;

OneRank with(const std::string& offload) {
  return OneRank("small_two_matmul.yaml", {{"model", "{type: two-matmul, layers: 3, d_model: 1024, d_ff: 4096}"},
                                           {"cluster", "tpu-v5p:1"},
                                           {"mesh", "{}"},
                                           {"parallel", "{}"},
                                           {"batch", "{sequences: 16, sequence_length: 4096}"},
                                           {"training", "{offload: " + offload + "}"}});
}

// 6 products a layer, and the updates are free (ideal).
TEST(OffloadTest, WithoutItTheStepIsItsProducts) {
  EXPECT_NEAR(with("{}").timeline.makespan().value() / (layers * 6 * t), 1, 1e-12);
}

// A layer's gradients (2 B) go down in 1.1 ms behind the next layer's backward of 4.8 ms. When the last are reduced the
// host updates layer by layer, (2 + 2 x 8 + 4) B a parameter at 50e9 B/s = 3.7 ms each, the first layer's last, while
// the weights (2 B) of the one before come up; the last ones have nothing to hide behind.
TEST(OffloadTest, TheOptimizersTimeShowsAfterTheBackward) {
  const auto rank = with("{optimizer: true}");
  const double update = 22 * layer_parameters / 50e9, up = 2 * layer_parameters / link;
  ASSERT_LT(up, update);
  EXPECT_NEAR(rank.timeline.makespan().value() / (layers * 6 * t + layers * update + up), 1, 1e-12);
}

TEST(OffloadTest, TheHostsMemoryBandwidthIsThatOfItsUpdate) {
  const auto rank = with("{optimizer: true, host_memory_bandwidth: 100 GB/s}");
  const double update = 22 * layer_parameters / 100e9, up = 2 * layer_parameters / link;
  ASSERT_LT(up, update);
  EXPECT_NEAR(rank.timeline.makespan().value() / (layers * 6 * t + layers * update + up), 1, 1e-12);
}

// 8 B a parameter leave the chip for good; gradients leave it with their transfer, so no more than two layers' are
// there.
TEST(OffloadTest, TheOptimizersStateIsOnTheHost) {
  const auto here = with("{}");
  const auto there = with("{optimizer: true}");
  const double parameters = layers * layer_parameters;
  EXPECT_EQ(static_cast<double>(here.step().held[0].optimizer.value()), 8 * parameters);
  EXPECT_EQ(there.step().held[0].optimizer.value(), 0);
  EXPECT_EQ(static_cast<double>(there.step().held[0].host.value()), 8 * parameters);
  EXPECT_EQ(here.memory.optimizer, here.step().held[0].optimizer);
  EXPECT_EQ(there.memory.optimizer.value(), 0);
  const auto end = metrics::memory_curve(there.step(), there.program, there.timeline, 0).back();
  EXPECT_EQ(static_cast<double>(end.total().value()), 2 * parameters);
  double most = 0;
  for (const auto& point : metrics::memory_curve(there.step(), there.program, there.timeline, 0))
    most = std::max(most, static_cast<double>(point.gradients.value()));
  EXPECT_LE(most, 2 * 2 * layer_parameters);
  EXPECT_GE(here.memory.peak - there.memory.peak, here.step().held[0].optimizer);
}

// The first layer keeps its hidden array, s = 2 B F bytes, for its backward (its input comes from outside). It goes
// down when it is there, at t, for s / 15e9 = 36 ms, comes up for as long, and the second backward product of the
// layer, of four, is the first to wait for it: t + 2 s / 15e9 + 3 t, long after 14.4 ms of everything else.
TEST(OffloadTest, ActivationsThatTakeLongerThanTheStepShow) {
  const double way = 2 * B * F / link;
  EXPECT_NEAR(with("{activation_layers: 1}").timeline.makespan().value() / (t + 2 * way + 3 * t), 1, 1e-12);
}

// The host holds them from the start of the one transfer to the end of the other; nothing is left behind.
TEST(OffloadTest, ActivationsAreOnTheHostInBetween) {
  const auto rank = with("{activation_layers: 1}");
  const auto curve = metrics::memory_curve(rank.step(), rank.program, rank.timeline, 0);
  const double s = 2 * B * F, way = s / link;
  for (const auto& point : curve) {
    const bool away = point.time.value() >= t * (1 - 1e-9) && point.time.value() < (t + 2 * way) * (1 - 1e-9);
    EXPECT_EQ(static_cast<double>(point.host.value()), away ? s : 0) << point.time.value();
  }
  EXPECT_EQ(curve.back().activations.value(), 0);
}

// Layers that are computed after others hide the transfers of those: on a way as fast as memory the step takes as long
// as without, and holds less.
TEST(OffloadTest, AFastWayCostsNothing) {
  const std::string chip =
      "{title: T, memory: 96 GB, memory_bandwidth: 2 TB/s, peak: {bf16: 459 TFLOP/s}, pcie: 10 TB/s, "
      "torus: {pod: [4], host: [1], link: 90 GB/s, hop_latency: 1 us, wrap: {multiple_of: 4}}, sources: [made up]}";
  const auto on_chip = [&](const std::string& offload) {
    return OneRank("small_two_matmul.yaml", {{"model", "{type: two-matmul, layers: 8, d_model: 1024, d_ff: 4096}"},
                                             {"cluster", "{chip: " + chip + ", shape: [1]}"},
                                             {"mesh", "{}"},
                                             {"parallel", "{}"},
                                             {"batch", "{sequences: 16, sequence_length: 4096}"},
                                             {"training", "{offload: " + offload + "}"}});
  };
  const auto here = on_chip("{}");
  const auto there = on_chip("{activation_layers: 6}");
  EXPECT_NEAR(there.timeline.makespan() / here.timeline.makespan(), 1, 1e-12);
  // Of 8 hidden arrays the first 6 are away when the forward ends.
  EXPECT_LE(there.memory.activations.value(), here.memory.activations.value() - std::int64_t{3} * 2 * 65536 * 4096);
}

}  // namespace
}  // namespace lockstep
