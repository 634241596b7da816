// Summaries with the costs of their collectives. A stream along an axis is busy for the sum of the costs of all
// collectives along it, and one along several axes keeps them all busy.
#include "sim/studies/planning/timed_blocks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using Step = planning::PassSummary::Step;

constexpr std::uint32_t tensor = 1, data = 1U << planning::data_axis;

// Three collectives: along tensor 2 s, along data 3 s, along tensor and data 5 s.
const std::vector<planning::PlanCollective> collectives{
    {workloads::CollectiveKind::all_reduce, tensor, Bytes(8), {}},
    {workloads::CollectiveKind::all_gather, data, Bytes(8), {}},
    {workloads::CollectiveKind::reduce_scatter, tensor | data, Bytes(8), {}}};
const std::vector<double> costs{2, 3, 5};

Step computes(double seconds) { return {seconds, -1, false, false, {-1}}; }
Step runs(std::int32_t collective) { return {0, collective, false, false, {-1}}; }

TEST(TimedBlocksTest, StreamsAreBusyForBothPassesAndTheirGathers) {
  planning::PassesSummary summary;
  summary.collectives = collectives;
  planning::BlockPasses block;
  block.forward = {{computes(1), runs(0)}, {1}, 1, {1}};
  block.backward = {{runs(0), computes(2), runs(2)}, {2}, 2, {1}};
  // A split schedule runs these instead of the backward; they are not counted again.
  block.input_gradient = {{runs(0)}, {0}, 0, {1}};
  block.weight_gradient = {{runs(2)}, {0}, 0, {}};
  summary.kinds = {block};
  const auto made = timed(summary, {costs});
  ASSERT_EQ(made.kinds.size(), 1u);
  // tensor: 2 + 2 + 5; data: 5 and two gathers of 3.
  EXPECT_THAT(made.kinds[0].each, ElementsAre(9, 0, 0, 11, 0, 0));
  EXPECT_EQ(made.kinds[0].forward.path.data_data, 2);   // the collective
  EXPECT_EQ(made.kinds[0].forward.path.free_free, 1);   // the product
  EXPECT_EQ(made.kinds[0].backward.path.data_data, 5);  // the longer collective
}

TEST(TimedBlocksTest, TheFirstWeightsComeWithTheCheapestGather) {
  planning::PassesSummary summary;
  summary.collectives = collectives;
  planning::BlockPasses block;
  block.forward.gathers = {2, 1, 0};
  block.backward.gathers = {1, 2};
  summary.kinds = {block};
  const auto made = timed(summary, {costs}).kinds[0];
  EXPECT_EQ(made.forward.gather.first, 2);
  EXPECT_EQ(made.forward.gather.along_data, 5 + 3);  // not the one along tensor alone
  EXPECT_EQ(made.backward.gather.first, 3);
  EXPECT_EQ(made.backward.gather.along_data, 8);
  EXPECT_EQ(made.input_gradient.gather.first, 0);
  EXPECT_EQ(made.input_gradient.gather.along_data, 0);
}

TEST(TimedBlocksTest, GradientsOfTheLastMicrobatchFollowThoseOfEach) {
  planning::StateSummary summary;
  summary.collectives = collectives;
  planning::BlockState state;
  state.each_microbatch = {2};
  state.last_microbatch = {1, 0};
  state.publish = {1, 1};
  state.update = 0.5;
  state.held = 100;
  state.gradients = 30;
  summary.kinds = {state};
  const auto made = timed(summary, {costs}).kinds[0];
  EXPECT_THAT(made.each, ElementsAre(5, 0, 0, 5, 0, 0));
  EXPECT_THAT(made.once, ElementsAre(2, 0, 0, 3, 0, 0));
  EXPECT_THAT(made.published, ElementsAre(0, 0, 0, 6, 0, 0));
  EXPECT_EQ(made.reduced_each, 5);
  EXPECT_EQ(made.reduced, 5 + 3);  // that along tensor is on another stream
  EXPECT_EQ(made.published_along_data, 6);
  EXPECT_EQ(made.update, 0.5);
  EXPECT_EQ(made.held, 100);
  EXPECT_EQ(made.gradients, 30);
}

// What comes last in one pass and first in the next runs between products of the two together. A pass without products
// leaves a pass as it is.
TEST(TimedBlocksTest, StreamsOfPassesInARow) {
  planning::PassStreams one{{1, 0, 0, 0, 0, 0}, {2, 0, 0, 0, 0, 0}, {4, 0, 0, 0, 0, 0}, true}, other = one;
  const auto both = one.then(other);
  EXPECT_EQ(both.first[0], 1);
  EXPECT_EQ(both.between[0], 2 + 4 + 1 + 2);
  EXPECT_EQ(both.last[0], 4);
  EXPECT_EQ(both.all()[0], 2 * (1 + 2 + 4));
  EXPECT_EQ(one.then({}).last[0], 4);
  EXPECT_EQ(planning::PassStreams{}.then(one).first[0], 1);
}

// Collectives of all axes go through the rank's own port.
TEST(TimedBlocksTest, ThePortToTheNetworkIsOneStreamOfAllAxes) {
  planning::StateSummary summary;
  summary.collectives = collectives;
  planning::BlockState state;
  state.each_microbatch = {0, 1, 2};
  summary.kinds = {state};
  const auto made = timed(summary, {costs, {0.5, 0.25, 0}}).kinds[0];
  EXPECT_EQ(made.each.back(), 0.75);
}

TEST(TimedBlocksTest, KindsAreTimedEachByItself) {
  planning::PassesSummary summary;
  summary.collectives = collectives;
  summary.kinds.resize(2);
  summary.kinds[1].forward.steps = {runs(2)};
  const auto made = timed(summary, {costs});
  EXPECT_THAT(made.kinds[0].each, ElementsAre(0, 0, 0, 0, 0, 0));
  EXPECT_THAT(made.kinds[1].each, ElementsAre(5, 0, 0, 5, 0, 0));
}

/// All numbers of a state's kind.
std::vector<double> numbers(const planning::TimedState::Kind& kind) {
  std::vector<double> all;
  for (const auto* streams : {&kind.each, &kind.once, &kind.published})
    all.insert(all.end(), streams->begin(), streams->end());
  for (const double one : {kind.reduced_each, kind.reduced, kind.published_along_data, kind.update,
                           static_cast<double>(kind.held), static_cast<double>(kind.gradients)})
    all.push_back(one);
  return all;
}

TEST(TimedBlocksTest, LeastTakesEveryNumberByItself) {
  std::mt19937 random(5);
  const auto some = [&] { return static_cast<double>(random() % 1000); };
  const auto state = [&] {
    planning::TimedState made;
    for (int i = 0; i < 3; ++i) {
      planning::TimedState::Kind kind;
      for (auto* streams : {&kind.each, &kind.once, &kind.published}) {
        for (auto& stream : *streams) stream = some();
      }
      kind.reduced_each = some(), kind.reduced = some(), kind.published_along_data = some(), kind.update = some();
      kind.held = static_cast<std::int64_t>(some());
      kind.gradients = static_cast<std::int64_t>(some());
      made.kinds.push_back(kind);
    }
    return made;
  };
  for (int i = 0; i < 100; ++i) {
    const auto one = state(), other = state();
    const auto lower = least(one, other);
    ASSERT_EQ(lower.kinds.size(), 3u);
    for (std::size_t kind = 0; kind < 3; ++kind) {
      const auto a = numbers(one.kinds[kind]), b = numbers(other.kinds[kind]), found = numbers(lower.kinds[kind]);
      for (std::size_t which = 0; which < a.size(); ++which) EXPECT_EQ(found[which], std::min(a[which], b[which]));
    }
  }
}

}  // namespace
}  // namespace lockstep
