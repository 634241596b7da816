// Computing steps in a row on the compute stream, of which somebody waits only for the last, are one step of
//   t = t1 + t2 + ... + tn
// and whatever runs beside them or after them starts and ends when it did.
#include "sim/timing/joined_steps.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

namespace lockstep {
namespace {

using testing::ElementsAre;
constexpr int outside = workloads::BlockStep::outside;

workloads::BlockStep compute(double seconds, std::vector<int> after) {
  workloads::BlockStep step;
  step.given_time = Seconds(seconds);
  step.after = std::move(after);
  return step;
}

/// A collective's time is given here too, so that the test can tell when it ends.
workloads::BlockStep collective(double seconds, std::vector<int> after,
                                workloads::CollectiveRole role = workloads::CollectiveRole::activation) {
  workloads::BlockStep step = compute(seconds, std::move(after));
  step.kind = workloads::BlockStep::Kind::collective;
  step.role = role;
  step.stream = "network";
  return step;
}

workloads::ShardedLayer forward_of(workloads::BlockSteps steps, std::vector<int> output) {
  workloads::ShardedLayer layer;
  layer.forward = std::move(steps);
  layer.output_steps = std::move(output);
  return layer;
}

workloads::ShardedLayer joined(const workloads::ShardedLayer& layer, const workloads::StepOptions& options = {}) {
  return timing::with_joined_steps(layer, cost::ComputeRates{}, options);
}

std::vector<double> seconds(const workloads::BlockSteps& steps) {
  std::vector<double> times;
  for (const workloads::BlockStep& step : steps) times.push_back(step.given_time->value());
  return times;
}

TEST(JoinedSteps, ARowOfComputeIsOneStep) {
  const auto made = joined(forward_of({compute(1, {outside}), compute(2, {0}), compute(4, {1})}, {2}));
  EXPECT_THAT(seconds(made.forward), ElementsAre(7));
  EXPECT_THAT(made.forward[0].after, ElementsAre(outside));
  EXPECT_THAT(made.output_steps, ElementsAre(0));
}

// A collective waits for the second of four: two and two are joined, and it waits for the first pair.
TEST(JoinedSteps, WhoeverIsWaitedForEndsAStep) {
  const auto made = joined(forward_of(
      {compute(1, {outside}), compute(2, {0}), collective(9, {1}), compute(3, {1}), compute(4, {3})}, {2, 4}));
  EXPECT_THAT(seconds(made.forward), ElementsAre(3, 9, 7));
  EXPECT_THAT(made.forward[1].after, ElementsAre(0));
  EXPECT_THAT(made.output_steps, ElementsAre(1, 2));
}

// A step that waits for a collective starts a new one; the next that waits for the same need not wait again.
TEST(JoinedSteps, WhatTheStreamHasWaitedForItNeedNotWaitForAgain) {
  const auto made = joined(forward_of(
      {collective(9, {outside}), compute(1, {outside}), compute(2, {0, 1}), compute(3, {0, 2}), compute(4, {3})}, {4}));
  EXPECT_THAT(seconds(made.forward), ElementsAre(9, 1, 9));
  EXPECT_THAT(made.forward[2].after, ElementsAre(0, 1));
}

// The block's last product that reads gathered weights says when others may be gathered into their room.
TEST(JoinedSteps, TheLastReaderOfGatheredWeightsEndsAStep) {
  const auto made = joined(forward_of({collective(5, {outside}, workloads::CollectiveRole::weight),
                                       compute(1, {outside, 0}), compute(2, {1, 0}), compute(3, {2}), compute(4, {3})},
                                      {4}));
  EXPECT_THAT(seconds(made.forward), ElementsAre(5, 3, 7));
  EXPECT_THAT(made.forward[1].after, ElementsAre(outside, 0));
}

// Steps on other streams than the compute stream stay as they are and do not take its turn.
TEST(JoinedSteps, OtherStreamsStay) {
  workloads::BlockStep host = compute(8, {outside});
  host.stream = "host";
  const auto made = joined(forward_of({compute(1, {outside}), host, compute(2, {0})}, {1, 2}));
  EXPECT_THAT(seconds(made.forward), ElementsAre(3, 8));
  EXPECT_THAT(made.output_steps, ElementsAre(1, 0));
}

// Work of experts takes another time in every layer and microbatch where their load varies.
TEST(JoinedSteps, RoutedWorkStandsAloneWhereLoadsVary) {
  auto layer = forward_of({compute(1, {outside}), compute(2, {0}), compute(4, {1}), compute(8, {2})}, {3});
  layer.forward[1].routed = true;
  EXPECT_THAT(seconds(joined(layer).forward), ElementsAre(15));
  workloads::StepOptions varied;
  varied.expert_load.variation = 0.5;
  EXPECT_THAT(seconds(joined(layer, varied).forward), ElementsAre(1, 2, 12));
}

// With a bucket for each layer a chain of gradients waits for its last step alone; with a bucket for each matrix, each
// for its own.
TEST(JoinedSteps, GradientsWaitForTheLastOfTheirBucket) {
  workloads::ShardedLayer layer;
  layer.backward = {compute(1, {outside}), compute(2, {0}), compute(4, {1}), compute(8, {2})};
  layer.input_gradient_steps = {3};
  for (const int step : {2, 0}) {  // the last need not come last
    workloads::WeightUpdate update{};
    update.gradient_steps = {step};
    layer.weights.push_back(update);
  }
  workloads::StepOptions options;
  options.gradient_buckets.unit = workloads::Bucketing::Unit::layer;
  auto made = joined(layer, options);
  EXPECT_THAT(seconds(made.backward), ElementsAre(7, 8));
  EXPECT_THAT(made.weights[0].gradient_steps, ElementsAre(0));
  EXPECT_THAT(made.weights[1].gradient_steps, ElementsAre(0));
  EXPECT_THAT(made.input_gradient_steps, ElementsAre(1));
  options.gradient_buckets.unit = workloads::Bucketing::Unit::matrix;
  made = joined(layer, options);
  EXPECT_THAT(seconds(made.backward), ElementsAre(1, 6, 8));
  EXPECT_THAT(made.weights[0].gradient_steps, ElementsAre(1));
  EXPECT_THAT(made.weights[1].gradient_steps, ElementsAre(0));
}

TEST(JoinedSteps, ATiedGradientIsWaitedFor) {
  workloads::ShardedLayer layer;
  layer.backward = {compute(1, {outside}), compute(2, {0})};
  layer.tied_gradients = {{"embedding", 0}};
  const auto made = joined(layer);
  EXPECT_THAT(seconds(made.backward), ElementsAre(1, 2));
  EXPECT_EQ(made.tied_gradients[0].step, 0);
}

// Memory is no part of a time: saved outputs and workspaces are gone, weights and sizes stay.
TEST(JoinedSteps, KeepTimesButNoMemory) {
  auto layer = forward_of({compute(1, {outside}), compute(2, {0})}, {1});
  layer.forward[0].output = layer.forward[0].workspace = Bytes(100);
  layer.backward = {compute(1, {outside})};
  layer.backward[0].saved = {0, 1};
  layer.input_bytes = Bytes(7);
  const auto made = joined(layer);
  EXPECT_EQ(made.forward[0].output, Bytes(0));
  EXPECT_EQ(made.forward[0].workspace, Bytes(0));
  EXPECT_TRUE(made.backward[0].saved.empty());
  EXPECT_EQ(made.input_bytes, Bytes(7));
}

TEST(JoinedSteps, PairedAndOffloadedLayersStay) {
  auto layer = forward_of({compute(1, {outside}), compute(2, {0})}, {1});
  workloads::StepOptions offloads;
  offloads.offload.activation_layers = 1;
  EXPECT_EQ(joined(layer, offloads).forward.size(), 2U);
  layer.pair_turns = {{true, 0}, {true, 1}};
  EXPECT_EQ(joined(layer).forward.size(), 2U);
}

TEST(JoinedSteps, OfNothingAreNone) {
  const auto made = joined(workloads::ShardedLayer{});
  EXPECT_TRUE(made.forward.empty());
  EXPECT_TRUE(made.backward.empty());
}

/// When each step of a pass ends: streams run their steps in order, each as soon as what it waits for has ended.
std::vector<double> ends(const workloads::BlockSteps& steps) {
  std::map<std::string, double> free;
  std::vector<double> result;
  for (const workloads::BlockStep& step : steps) {
    double start = free[step.stream];
    for (const int before : step.after) {
      EXPECT_LT(before, static_cast<int>(result.size())) << "waits for a later step";
      if (before != outside) start = std::max(start, result[static_cast<std::size_t>(before)]);
    }
    result.push_back(free[step.stream] = start + step.given_time->value());
  }
  return result;
}

workloads::ShardedLayer random_layer(unsigned seed) {
  std::mt19937 random(seed);
  const int count = 1 + static_cast<int>(random() % 12);
  workloads::BlockSteps steps;
  for (int i = 0; i < count; ++i) {
    std::vector<int> after{static_cast<int>(random() % static_cast<unsigned>(i + 1)) - 1};
    if (i > 0 && random() % 2 == 0) after.push_back(i - 1);
    const double takes = 1 + static_cast<double>(random() % 8);
    const auto kind = random() % 8;
    if (kind < 5) {
      steps.push_back(compute(takes, after));
    } else {
      steps.push_back(collective(
          takes, after, kind == 5 ? workloads::CollectiveRole::weight : workloads::CollectiveRole::activation));
      if (kind == 7) steps.back().stream = "other network";
    }
  }
  auto layer = forward_of(steps, {count - 1});
  if (random() % 2 == 0) layer.output_steps.push_back(static_cast<int>(random() % static_cast<unsigned>(count)));
  return layer;
}

TEST(JoinedSteps, NothingThatIsWaitedForEndsAtAnotherTime) {
  const auto of = [](const workloads::BlockSteps& steps, const std::vector<int>& output) {
    const auto all = ends(steps);
    std::multiset<double> beside;
    std::set<double> out;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (!steps[i].stream.empty()) beside.insert(all[i]);
    }
    for (const int step : output) out.insert(all[static_cast<std::size_t>(step)]);
    return std::tuple(beside, out, *std::max_element(all.begin(), all.end()));
  };
  std::size_t before = 0, after = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    const workloads::ShardedLayer layer = random_layer(seed);
    const workloads::ShardedLayer made = joined(layer);
    before += layer.forward.size();
    after += made.forward.size();
    ASSERT_EQ(of(made.forward, made.output_steps), of(layer.forward, layer.output_steps)) << "seed " << seed;
  }
  EXPECT_LT(after, before * 4 / 5) << "hardly anything was joined";
}

}  // namespace
}  // namespace lockstep
