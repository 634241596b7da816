// Layers by speed against an exhaustive search. Two-matmul layers of F FLOPs take F / P on a chip of peak P, so that n
// of them on a stage take n F / P; of all ways to share out L layers over S stages, one or more each, the search finds
// the least of the largest n / P. Replicas of several kinds wait for the slowest, in whatever order they stand.
#include <gmock/gmock.h>
#include <spdlog/logger.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "sim/simulate.hpp"
#include "tests/unit/scenario/small_scenario.hpp"

namespace lockstep {
namespace {

using Chips = std::vector<std::string>;

/// The network of eight H100 for all, so that they differ in their chips alone.
std::string cluster_of(const Chips& chips) {
  std::string groups;
  for (const auto& chip : chips)
    groups += (groups.empty() ? "" : ", ") + ("{node: {like: dgx-h100, chip: " + chip + "}, nodes: 1}");
  return "{groups: [" + groups + "]}";
}

scenario::Scenario on(const std::string& cluster, std::int64_t layers, const test::Keys& more) {
  test::Keys keys{{"model", "{type: two-matmul, layers: " + std::to_string(layers) + ", d_model: 4096, d_ff: 16384}"},
                  {"cluster", cluster},
                  {"batch", "{sequences: 96, sequence_length: 256, microbatches: 4}"}};
  keys.insert(keys.end(), more.begin(), more.end());
  return test::small_scenario(keys);
}

/// A stage on each node, data parallel inside it.
scenario::Scenario in_stages(const Chips& chips, std::int64_t layers) {
  return on(cluster_of(chips), layers,
            {{"parallel", "{data: 8, pipeline: " + std::to_string(chips.size()) + "}"},
             {"mesh", "{pipeline: [node], data: [gpu]}"},
             {"pipeline", "{schedule: 1f1b, layers: by_speed}"}});
}

Simulation run(const scenario::Scenario& scenario) {
  spdlog::logger log("test");
  SimulateOptions options;
  options.engine = engine::EngineKind::max_min;
  return simulate(scenario, options, log);
}

std::vector<double> peaks(const scenario::Scenario& scenario) {
  std::vector<double> rates;
  for (const auto& [node, units] : scenario.cluster.groups)
    rates.push_back(node.chip.peak.at(topologies::Precision::bf16).value());
  return rates;
}

double slowest(const std::vector<std::int64_t>& layers, const std::vector<double>& peak) {
  double longest = 0;
  for (std::size_t stage = 0; stage < peak.size(); ++stage)
    longest = std::max(longest, static_cast<double>(layers[stage]) / peak[stage]);
  return longest;
}

/// The least over all compositions of `layers`, and how many there were.
std::pair<double, int> exhaustive(std::int64_t layers, const std::vector<double>& peak) {
  double least = std::numeric_limits<double>::infinity();
  int tried = 0;
  std::vector<std::int64_t> shares;
  const std::function<void(std::int64_t)> share_out = [&](std::int64_t left) {
    if (shares.size() + 1 == peak.size()) {
      shares.push_back(left);
      least = std::min(least, slowest(shares, peak));
      ++tried;
      shares.pop_back();
      return;
    }
    const auto stages_behind = static_cast<std::int64_t>(peak.size() - shares.size()) - 1;
    for (std::int64_t here = 1; here <= left - stages_behind; ++here) {
      shares.push_back(here);
      share_out(left - here);
      shares.pop_back();
    }
  };
  share_out(layers);
  return {least, tried};
}

// C(L - 1, S - 1) compositions each. What by_speed chooses is no slower than the best of them.
TEST(MixedStages, LayersBySpeedAreTheBestOfAllSplits) {
  int tried = 0;
  for (const Chips& chips : {Chips{"h100", "a100"},
                             {"a100", "h100"},
                             {"h20", "h100", "a100"},
                             {"h100", "h20", "h100"},
                             {"a100", "a100", "h20"},
                             {"h100", "a100", "h20", "a100"}}) {
    for (const std::int64_t layers : {4, 5, 7, 10, 13}) {
      const auto scenario = in_stages(chips, layers);
      const auto& first = preparation::prepare(scenario).pipeline.first_block;
      std::vector<std::int64_t> chosen;
      for (workloads::VirtualStageId stage = 0; stage + 1 < first.count(); ++stage)
        chosen.push_back(first[stage + 1] - first[stage]);
      ASSERT_EQ(chosen.size(), chips.size());
      EXPECT_EQ(std::accumulate(chosen.begin(), chosen.end(), std::int64_t{0}), layers);
      EXPECT_GE(*std::min_element(chosen.begin(), chosen.end()), 1);
      const auto [least, ways] = exhaustive(layers, peaks(scenario));
      EXPECT_NEAR(slowest(chosen, peaks(scenario)), least, 1e-9 * least)
          << testing::PrintToString(chips) << ", layers " << testing::PrintToString(chosen);
      tried += ways;
    }
  }
  // 2 of two stages: 3 + 4 + 6 + 9 + 12; 3 of three: 3 + 6 + 15 + 36 + 66; of four: 1 + 4 + 20 + 84 + 220.
  EXPECT_EQ(tried, 2 * 34 + 3 * 126 + 329);
}

// Replicas of three kinds: the step is that of a cluster of the slowest alone, in every order.
TEST(MixedStages, TheSlowestOfThreeReplicasDecides) {
  const test::Keys replicas{{"parallel", "{data: 24}"}};
  const auto step = [&](const Chips& chips) {
    return run(on(cluster_of(chips), 6, replicas)).metrics.step_time.value();
  };
  const double slow = step({"h20", "h20", "h20"});
  EXPECT_GT(slow, 1.5 * step({"a100", "a100", "a100"})) << "148 against 312 TFLOP/s";
  Chips chips{"a100", "h100", "h20"};
  do {
    EXPECT_NEAR(step(chips), slow, 1e-9 * slow) << testing::PrintToString(chips);
  } while (std::next_permutation(chips.begin(), chips.end()));
}

// How fast the other replica is beside the slowest does not count; a slower slowest costs time.
TEST(MixedStages, OnlyTheSlowestCounts) {
  const auto step = [](const Chips& chips) {
    return run(on(cluster_of(chips), 6, {{"parallel", "{data: 16}"}})).metrics.step_time;
  };
  EXPECT_EQ(step({"h100", "h20"}), step({"a100", "h20"}));
  EXPECT_LT(step({"h100", "a100"}), step({"h100", "h20"}));
  EXPECT_LT(step({"h100", "h100"}), step({"h100", "a100"}));
}

// The same nodes in one group or in several are one cluster, to the last bit, of replicas and of stages.
TEST(MixedStages, HowEqualNodesAreGroupedDoesNotCount) {
  const std::string node = "{node: dgx-h100, nodes: ";
  const test::Keys stages{{"parallel", "{data: 8, pipeline: 3}"},
                          {"mesh", "{pipeline: [node], data: [gpu]}"},
                          {"pipeline", "{schedule: 1f1b}"}};
  for (const auto& keys : {test::Keys{{"parallel", "{data: 24}"}}, stages}) {
    const auto plain = run(on("{node: dgx-h100, nodes: 3}", 6, keys));
    for (const auto& groups : {node + "3}", node + "1}, " + node + "2}", node + "2}, " + node + "1}",
                               node + "1}, " + node + "1}, " + node + "1}"}) {
      const auto grouped = run(on("{groups: [" + groups + "]}", 6, keys));
      EXPECT_EQ(grouped.metrics.step_time, plain.metrics.step_time) << groups;
      EXPECT_EQ(grouped.metrics.mfu(), plain.metrics.mfu()) << groups;
      EXPECT_EQ(grouped.ranks.count(), plain.ranks.count()) << groups;
    }
  }
}

}  // namespace
}  // namespace lockstep
