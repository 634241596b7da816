// A layer's pass as a list of operations, some on the compute stream, some collectives:
//   one after the other: the sum of compute and of the collectives that the next step waits for
//   overlapped:          max(longest path with a stream for each axis, communication beside) + communication / 10
#include "sim/cost/layer_time.hpp"

#include <gtest/gtest.h>

#include "tests/unit/topologies/small_torus.hpp"

namespace lockstep::test {
namespace {

/// Ranks on a ring of 4, and a chip that computes 1 FLOP a second.
class LayerTime : public testing::Test {
 protected:
  static workloads::BlockStep compute(double seconds, std::vector<int> after) {
    workloads::BlockStep step;
    step.kind = workloads::BlockStep::Kind::compute;
    step.flops = Flops(seconds);
    step.after = std::move(after);
    return step;
  }
  static workloads::BlockStep collective(workloads::CollectiveRole role, std::vector<int> after) {
    workloads::BlockStep step;
    step.kind = workloads::BlockStep::Kind::collective;
    step.role = role;
    step.collective = workloads::CollectiveKind::all_gather;
    step.axes = {"tensor"};
    step.full_size = size;
    step.after = std::move(after);
    return step;
  }
  static workloads::BlockStep given(workloads::BlockStep step, double seconds) {
    step.given_time = Seconds(seconds);
    return step;
  }
  /// compute 2, gather of activations, compute 3; weights are gathered beside.
  static workloads::ShardedLayer layer() {
    workloads::ShardedLayer made;
    made.forward = {compute(2, {workloads::BlockStep::outside}), collective(workloads::CollectiveRole::activation, {0}),
                    compute(3, {1}), collective(workloads::CollectiveRole::weight, {})};
    return made;
  }
  [[nodiscard]] double gather() {
    return collectives.cost(workloads::CollectiveKind::all_gather, {"tensor"}, size).value();
  }

  static constexpr Bytes size{40'000'000'000};
  const topologies::Cluster cluster = torus({4}, always);
  const topologies::Mesh mesh = placed(cluster, {on("tensor", {"x"})});
  collectives::CollectiveModel collectives{cluster, mesh};
  const cost::ComputeRates rates{cost::TimeModel::ideal, FlopsPerSecond(1), FlopsPerSecond(1), BytesPerSecond(1), {}};
};

TEST_F(LayerTime, OfAnOperationIsGivenOrItsKernels) {
  EXPECT_DOUBLE_EQ(operation_time(rates, compute(2, {})).value(), 2);
  EXPECT_DOUBLE_EQ(operation_time(rates, given(compute(2, {}), 7)).value(), 7);
  EXPECT_DOUBLE_EQ(operation_time(rates, collective(workloads::CollectiveRole::activation, {}), collectives).value(),
                   gather());
  EXPECT_DOUBLE_EQ(
      operation_time(rates, given(collective(workloads::CollectiveRole::activation, {}), 7), collectives).value(), 7);
}

TEST_F(LayerTime, OneAfterAnotherIsTheSumWithoutWeights) {
  const auto time = time_one_after_another(layer(), collectives, rates);
  EXPECT_DOUBLE_EQ(time.forward, 2 + gather() + 3);
  EXPECT_EQ(time.input_gradient, 0);
  EXPECT_EQ(time.weight_gradient, 0);
}

// Steps that the input's gradient waits for are I, the others W.
TEST_F(LayerTime, ABackwardIsSplitByWhatTheInputWaitsFor) {
  auto made = layer();
  made.backward = {compute(5, {workloads::BlockStep::outside}), compute(7, {workloads::BlockStep::outside})};
  made.input_gradient_steps = {0};
  const auto time = time_one_after_another(made, collectives, rates);
  EXPECT_DOUBLE_EQ(time.input_gradient, 5);
  EXPECT_DOUBLE_EQ(time.weight_gradient, 7);
}

TEST_F(LayerTime, OverlappedIsTheLongerOfPathAndCommunicationBeside) {
  const workloads::StepOptions options;
  const double path = 2 + gather() + 3, all = 2 * gather();
  EXPECT_DOUBLE_EQ(time_overlapped(layer(), collectives, rates, options).each().value(),
                   std::max(path, gather()) + 0.1 * all);
  auto more = layer();
  for (int i = 0; i < 200; ++i) more.forward.push_back(given(collective(workloads::CollectiveRole::weight, {}), 1));
  EXPECT_DOUBLE_EQ(time_overlapped(more, collectives, rates, options).each().value(),
                   200 + gather() + 0.1 * (200 + all))
      << "200 s of communication beside hide nothing behind 5 s of compute";
}

// A chip of 10 multiprocessors of which collectives hold 2 computes at 8/10 beside them, a slowdown of 1.25,
// so a forward whose product takes C = 10 s alone takes, beside a gather
// of B = 5 s, C + B (1 - 1/1.25) = 11 s. Beside one of 12 s it takes 12.4, beside one of 20 s as long as the gather.
TEST_F(LayerTime, ComputeSlowsDownBesideCollectives) {
  auto calibrated = rates;
  calibrated.kernels.emplace();
  EXPECT_EQ(cost::overlap_slowdown(calibrated.kernels->chip), 1);
  calibrated.kernels->chip.units = 10;
  calibrated.kernels->chip.communication_units = 2;
  EXPECT_DOUBLE_EQ(cost::overlap_slowdown(calibrated.kernels->chip), 1.25);
  const auto each = [&](double gathered) {
    workloads::ShardedLayer made{};
    made.forward = {given(compute(10, {workloads::BlockStep::outside}), 10),
                    given(collective(workloads::CollectiveRole::weight, {}), gathered)};
    return time_overlapped(made, collectives, calibrated, {}).each().value();
  };
  EXPECT_NEAR(each(5), 10 + 5 * 0.2 + 0.1 * 5, 1e-9);
  EXPECT_NEAR(each(20), 20 + 0.1 * 20, 1e-9);
  EXPECT_NEAR(each(12), 10 + 12 * 0.2 + 0.1 * 12, 1e-9);
}

// Updated weights and gradients of the last microbatch come once a step, on buckets: arrays of one kind and axis
// together. Without a backward the reductions hide behind nothing, and count in full and a tenth; behind 1000 s of it
// they count the tenth alone. Weights that are gathered ahead hide behind the forward, whose own gather takes as long
// as that of one weight: max(path, 3 gathers) less path.
TEST_F(LayerTime, OnceAStepAreReductionsAndUpdatedWeights) {
  auto made = layer();
  workloads::WeightUpdate update{};
  update.last_microbatch = {{workloads::CollectiveKind::reduce_scatter, {"tensor"}, {}, {}, size, ""}};
  update.publish = {{workloads::CollectiveKind::all_gather, {"tensor"}, {}, {}, size, ""}};
  made.weights = {update, update};
  const auto twice = [&](workloads::CollectiveKind kind) {
    return collectives.cost(kind, {"tensor"}, 2 * size).value();
  };
  const double reduced = twice(workloads::CollectiveKind::reduce_scatter);
  const double published = twice(workloads::CollectiveKind::all_gather);
  const auto alone = time_overlapped(made, collectives, rates, {});
  EXPECT_NEAR(alone.reduced.value(), reduced, 1e-12 * reduced);
  EXPECT_NEAR(alone.published.value(), published, 1e-12 * published);
  EXPECT_NEAR(alone.backward.added_by(alone.reduced, {}).value(), 1.1 * reduced, 1e-12 * reduced);
  made.backward = {compute(1000, {workloads::BlockStep::outside})};
  const auto time = time_overlapped(made, collectives, rates, {});
  EXPECT_NEAR(time.backward.added_by(time.reduced, {}).value(), 0.1 * reduced, 1e-9);
  const double path = 2 + gather() + 3;
  EXPECT_NEAR(time.forward.added_by(time.published, {}).value(),
              std::max(path, gather() + published) - path + 0.1 * published, 1e-9);
}

// A backward of 10 s, and 30 s of reductions. Beside one pass they add 20 s and a tenth of 30 s; alone 30 s. A stage of
// V = 3 chunks runs N = 4 passes of the next chunk after the last of one: 7.5 s beside each hide but for the tenth,
//   (b 30 + (1 - b) 23) / 3 + 4 x 0.75 x 2/3,  with b = 1/5 bare: 8.133 + 2 s;  without chunks 24.4 s.
// Beside N = 2 passes, 15 s each, they add 5 s and a tenth to each of these.
TEST_F(LayerTime, ReductionsOfAChunkHideBehindPassesOfTheNext) {
  cost::OverlappedPass backward;
  backward.path = backward.computation = Seconds(10);
  const auto added = [&](cost::Cover cover) { return backward.added_by(Seconds(30), cover).value(); };
  EXPECT_NEAR(added({1, 1, 0}), 23, 1e-9);
  EXPECT_NEAR(added({1, 4, 1}), 30, 1e-9) << "of one chunk nothing follows";
  EXPECT_NEAR(added({1, 4, 0.2}), 24.4, 1e-9);
  EXPECT_NEAR(added({3, 4, 0.2}), 24.4 / 3 + 2, 1e-9);
  EXPECT_NEAR(added({3, 2, 0.2}), 24.4 / 3 + 2 * (5 + 1.5) * 2 / 3, 1e-9);
}

}  // namespace
}  // namespace lockstep::test
