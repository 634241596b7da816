// Steps by replica against steps simulated whole, on random small machines: every fabric, schedule and kind of parallel
// axis. With T the step of all ranks and S what SlowestReplica says,
//   S = T where ranks that act as one meet in each pass and replicas only at its ends.
// Elsewhere it is off by what such ranks, or replicas on links that they share, could have gone on apart; how far is
// measured here.
#include <gtest/gtest.h>
#include <spdlog/logger.h>

#include <algorithm>
#include <cmath>

#include "sim/core/errors.hpp"
#include "sim/simulate.hpp"
#include "tests/property/irregular_steps.hpp"
#include "tests/source_dir.hpp"

namespace lockstep {
namespace {

struct Compared {
  double error;  ///< by replica over whole, less 1
  ReplicaDraws by_replica;
};

std::vector<Compared> compared(const scenario::Scenario& scenario, int draws) {
  spdlog::logger log("test");
  SimulateOptions options;
  options.engine = engine::EngineKind::max_min;
  options.steps = draws;
  options.how_drawn = DrawnSteps::whole;
  const auto whole = *simulate(scenario, options, log).distribution;
  options.how_drawn = DrawnSteps::by_replica;
  const auto by_replica = *simulate(scenario, options, log).distribution;
  EXPECT_FALSE(whole.by_replica);
  if (!by_replica.by_replica) return {};
  std::vector<Compared> result;
  for (std::size_t draw = 0; draw < whole.steps.count(); ++draw)
    result.push_back({by_replica.steps.in_order()[draw] / whole.steps.in_order()[draw] - 1, *by_replica.by_replica});
  return result;
}

scenario::Scenario varied(const std::string& text, const std::string& variations) {
  return scenario::scenario_of_text(text + "variations: " + variations + "\n", "random scenario", source_dir);
}

struct Tally {
  int draws = 0, exact = 0, steps = 0;
  double most = 0, sum = 0;
  void add(const std::vector<Compared>& all) {
    for (const auto& one : all) {
      ++draws;
      exact += std::abs(one.error) < 1e-9 ? 1 : 0;
      most = std::max(most, std::abs(one.error));
      sum += std::abs(one.error);
    }
  }
};

class RandomSteps : public testing::TestWithParam<int> {};
constexpr int steps_of_a_part = 24, parts = 5;

// Far worse than a bad week: jitter of 5 %, chips at two thirds of their speed, links at three tenths.
TEST_P(RandomSteps, AreWhatTheyAreWhole) {
  const std::vector<std::string> variations{"[{jitter: 0.05, distribution: exponential}]",
                                            "[{stragglers: 0.05, slowdown: 1.5}]",
                                            "[{flaky_links: 0.05, bandwidth: 0.3}]"};
  Tally tally;
  for (int number = GetParam() * steps_of_a_part; number < (GetParam() + 1) * steps_of_a_part; ++number) {
    const auto step = test::irregular_step(number);
    SCOPED_TRACE("step " + std::to_string(number) + "\n" + step.text);
    bool applies = false;
    for (const auto& variation : variations) {
      const auto all = compared(varied(step.text, variation), 2);
      applies = applies || !all.empty();
      tally.add(all);
      for (const auto& one : all) EXPECT_LE(std::abs(one.error), 0.035) << variation;  // 0.032 among 288 steps
    }
    tally.steps += applies ? 1 : 0;
  }
  RecordProperty("largest_error_percent", std::to_string(100 * tally.most));
  EXPECT_GE(5 * tally.steps, steps_of_a_part) << "too few steps of which it is said";
  EXPECT_GE(10 * tally.exact, 7 * tally.draws);
  EXPECT_LE(tally.sum, 0.003 * tally.draws);
}

INSTANTIATE_TEST_SUITE_P(Part, RandomSteps, testing::Range(0, parts));

// At measured rates kernels and collectives slow each other down, which the estimate of the slowest replica keeps as it
// was in the healthy step: now and then it is another replica, nearly as slow.
TEST(SlowestReplica, IsNearTheWholeStepAtMeasuredRates) {
  const std::string text =
      "format: 1\nmodel: llama-3-8b\ncluster: {node: dgx-h100, nodes: 8, fabric: roce-400g}\n"
      "parallel: {tensor: 2, pipeline: 4, data: 8, zero: 1}\n"
      "batch: {sequences: 64, sequence_length: 8192, microbatches: 8}\n";
  Tally tally;
  for (const auto* variation : {"[{jitter: 0.01, distribution: exponential}]", "[{stragglers: 0.005, slowdown: 1.15}]",
                                "[{flaky_links: 0.002, bandwidth: 0.25}]"}) {
    const auto all = compared(varied(text, variation), 12);
    ASSERT_EQ(all.size(), 12U) << variation;
    EXPECT_EQ(all.front().by_replica.replicas, 8);
    EXPECT_EQ(all.front().by_replica.ranks_of_replica, 8);
    tally.add(all);
  }
  RecordProperty("largest_error_percent", std::to_string(100 * tally.most));
  EXPECT_LE(tally.most, 0.005);
  EXPECT_LE(tally.sum / tally.draws, 0.001);
}

// Where ranks gather weights from each other, they are not replicas, and act by no slowest one: simulated whole.
TEST(SlowestReplica, DoesNotApplyToRanksThatShareTheirWeights) {
  const std::string text =
      "format: 1\nmodel: {layers: 4, d_model: 512, d_ff: 2048, heads: 8, vocabulary: 1024}\ncluster: tpu-v5p:2x2x4\n"
      "parallel: {fsdp: 16}\nbatch: {sequences: 16, sequence_length: 512}\n";
  EXPECT_TRUE(compared(varied(text, "[{jitter: 0.1}]"), 2).empty());
}

}  // namespace
}  // namespace lockstep
