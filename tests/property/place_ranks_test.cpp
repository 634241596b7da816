// The order of ranks on the nodes of a network. A list of hosts in the order of their cables puts each group on as few
// leaves as it needs; shuffled, its bytes cross the uplinks that the leaves share:
//   T(found from the shuffled list) <= 1.02 T(packed)
// and no order may come below the bound, whichever it is.
#include <gmock/gmock.h>

#include <functional>
#include <numeric>
#include <random>

#include "sim/metrics/link_loads.hpp"
#include "sim/studies/place_ranks/expert_places.hpp"
#include "sim/studies/place_ranks/place_ranks.hpp"
#include "tests/property/silent_log.hpp"
#include "tests/unit/scratch_folder.hpp"
#include "topologies/cluster/link_level.hpp"

namespace lockstep {
namespace {

using place_ranks::PlacedRanks;
using place_ranks::PlaceOptions;
using test::silent;

std::string number(int n) { return (n < 10 ? "0" : "") + std::to_string(n); }

/// 32 hosts of two adapters on four leaves below a spine.
std::string tree(int uplinks) {
  return "hosts: [{names: 'n[01-32]', adapters: 2}]\nswitches: ['leaf[1-4]', spine]\nlinks:\n"
         "  - {from: 'n[01-32]', to: 'leaf[1-4]', pairs: in blocks, rate: 400 Gbps}\n"
         "  - {from: 'leaf[1-4]', to: spine, count: " +
         std::to_string(uplinks) + ", rate: 400 Gbps}\n";
}

/// The first adapters on leaves of their own, and the second.
const std::string rails =
    "hosts: [{names: 'n[01-32]', adapters: 2}]\nswitches: ['a[1-4]', 'b[1-4]', spine]\nlinks:\n"
    "  - {from: 'n[01-32]', to: 'a[1-4]', adapter: nic0, pairs: in blocks, rate: 400 Gbps}\n"
    "  - {from: 'n[01-32]', to: 'b[1-4]', adapter: nic1, pairs: in blocks, rate: 400 Gbps}\n"
    "  - {from: 'a[1-4]', to: spine, count: 2, rate: 400 Gbps}\n  - {from: 'b[1-4]', to: spine, count: 2, rate: 400 "
    "Gbps}\n";

/// A switch for each of 32 hosts, in a torus of 4 x 8 whose cables have an eighth of a host's rate; a flow keeps to one
/// way.
std::string torus() {
  std::string text =
      "hosts: [{names: 'n[01-32]', adapters: 2}]\nswitches: ['s[01-32]']\nlinks:\n"
      "  - {from: 'n[01-32]', to: 's[01-32]', pairs: in turn, rate: 400 Gbps}\n";
  for (int row = 0; row < 4; ++row) {
    for (int column = 0; column < 8; ++column) {
      const auto link = [&](int to_row, int to_column) {
        text += "  - {from: s" + number(8 * row + column + 1) + ", to: s" +
                number(8 * (to_row % 4) + to_column % 8 + 1) + ", rate: 100 Gbps}\n";
      };
      link(row, column + 1);
      link(row + 1, column);
    }
  }
  return text;
}

struct NetworkCase {
  std::string name, graph, mesh;
};
const std::string groups_of_a_leaf = "{tensor: [gpu], fsdp: [node/8], data: [node]}";
const std::vector<NetworkCase> networks{{"Tree4To1", tree(4), groups_of_a_leaf},
                                        {"Tree8To1", tree(2), groups_of_a_leaf},
                                        {"Rails", rails, groups_of_a_leaf},
                                        {"Torus", torus(), "{tensor: [gpu], fsdp: [node/8], data: [node]}"}};

class PlaceRanks : public test::ScratchFolder, public testing::WithParamInterface<NetworkCase> {
 protected:
  [[nodiscard]] scenario::Scenario on_hosts(const std::vector<int>& hosts, const std::string& graph,
                                            const std::string& parallel, const std::string& mesh) const {
    make("network.yaml", graph);
    std::string names;
    for (const int host : hosts) names += (names.empty() ? "n" : ", n") + number(host + 1);
    make("job.yaml",
         "format: 1\nmodel: {layers: 4, d_model: 4096, d_ff: 16384, heads: 32, vocabulary: 32000}\n"
         "cluster: {graph: network.yaml, routing: " +
             std::string(graph == torus() ? "ecmp" : "spray") +
             ", node: {like: dgx-h100, chips: 2}, placement: {hosts: [" + names + "]}}\nmesh: " + mesh +
             "\nparallel: " + parallel + "\nbatch: {sequences: 192, sequence_length: 512}\n");
    return scenario::load_scenario(place("job.yaml"));
  }
  [[nodiscard]] scenario::Scenario on_all(const std::vector<int>& hosts) const {
    return on_hosts(hosts, GetParam().graph, "{tensor: 2, fsdp: 8, data: 4}", GetParam().mesh);
  }

  static std::vector<int> numbered(int count) {
    std::vector<int> hosts(static_cast<std::size_t>(count));
    std::iota(hosts.begin(), hosts.end(), 0);
    return hosts;
  }
  static std::vector<int> shuffled(std::vector<int> hosts, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (std::size_t i = hosts.size(); i > 1; --i) std::swap(hosts[i - 1], hosts[random() % i]);
    return hosts;
  }

  static PlacedRanks placed(const scenario::Scenario& scenario, int moves, int jobs = 2) {
    PlaceOptions options;
    options.moves = moves;
    options.jobs = jobs;
    options.engine = engine::EngineKind::max_min;
    return place_ranks::place_ranks(scenario, options, silent());
  }
};

TEST_P(PlaceRanks, AShuffledListIsAsGoodAsThePackedOne) {
  const auto packed = placed(on_all(numbered(32)), 0);
  double worst = 1;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const auto found = placed(on_all(shuffled(numbered(32), seed)), 24);
    EXPECT_LE(found.best.step, packed.given * 1.02) << "seed " << seed;
    EXPECT_LE(found.best.step, found.given);
    worst = std::max(worst, found.given / packed.given);
    EXPECT_LE(found.bound.time, found.best.step);
    EXPECT_EQ(found.bound.time, packed.bound.time) << "of any order";
  }
  EXPECT_GT(worst, 1.1) << "the order matters here";
}

TEST_P(PlaceRanks, TheBoundHoldsForAnyOrder) {
  const auto scenario = on_all(numbered(32));
  const auto bound = place_ranks::placement_bound(scenario);
  EXPECT_GT(bound.time, Seconds(0));
  SimulateOptions options;
  options.engine = engine::EngineKind::max_min;
  options.detail = Detail::totals;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    auto other = scenario;
    other.cluster = place_ranks::with_order(other.cluster, shuffled(numbered(32), seed));
    EXPECT_GE(simulate(other, options, silent()).metrics.step_time, bound.time) << "seed " << seed;
  }
}

// Bytes of a step on links between switches, counted from the flows of its collectives, are those that a run of it
// recorded: sum over axes = sum over links of (bytes x links alike).
TEST_P(PlaceRanks, BytesBetweenSwitchesAreThoseOfARun) {
  for (const auto& hosts : {numbered(32), shuffled(numbered(32), 5)}) {
    const auto scenario = on_all(hosts);
    SimulateOptions options;
    options.engine = engine::EngineKind::max_min;
    options.record_phases = true;
    const auto run = simulate(scenario, options, silent());
    double recorded = 0, busiest = 0;
    for (const auto& load : metrics::link_loads(run.program, run.run.phases, run.link_members,
                                                {Seconds(0), run.metrics.step_time}, run.run.timeline.repetition())) {
      if (topologies::link_level(*run.preparation.machine.cluster, load.link) != "fabric") continue;
      recorded += load.bytes * load.alike;
      busiest = std::max(busiest, load.bytes / load.bandwidth.value());
    }
    const auto use = place_ranks::bytes_between_switches(scenario);
    double counted = 0;
    for (const auto& [name, axis] : use.axes) counted += axis.between_switches;
    EXPECT_NEAR(counted / recorded, 1, 1e-9);
    EXPECT_NEAR(use.busiest.value() / busiest, 1, 1e-9);
  }
}

// Links that are faster and a network without limits make no step longer, but for the order of events, which is worth
// less than a percent here; what each order waits for and computes makes up its step.
TEST_P(PlaceRanks, WhatAnOrderDoesAndWhatOtherNetworksMakeOfIt) {
  const auto scenario = on_all(shuffled(numbered(32), 3));
  PlaceOptions options;
  options.moves = 0;
  options.explained = true;
  options.engine = engine::EngineKind::max_min;
  const auto placed = place_ranks::place_ranks(scenario, options, silent());
  ASSERT_TRUE(placed.use);
  ASSERT_TRUE(placed.given_order);
  EXPECT_EQ(place_ranks::with_order(scenario.cluster, *placed.given_order).order.devices.size(), 64U);
  EXPECT_LE(*placed.use->faster_links, placed.best.step * 1.01);
  EXPECT_LE(placed.use->without_limits, placed.best.step * 1.01);
  EXPECT_GE(placed.use->without_limits, placed.bound.time);
  for (const auto& [use, step] : {std::pair(placed.use->given, placed.given), {placed.use->best, placed.best.step}}) {
    auto sum = use.compute + use.idle;
    for (const auto& [name, axis] : use.axes) sum += axis.exposed;
    EXPECT_NEAR(sum / step, 1, 1e-9);
  }
}

// A chip that computes f times as long makes a step take f c at least, c: its computing. On a network without limits
// it stays slow, while links that are slow are gone:
//   T(slow chip, no limits) >= f c, more than twice T(no slow chip, no limits) = c + waits for f = 40
TEST_P(PlaceRanks, ASlowChipIsNoCostOfTheNetwork) {
  auto scenario = on_all(numbered(32));
  SimulateOptions simulated;
  simulated.engine = engine::EngineKind::max_min;
  simulated.detail = Detail::totals;
  const auto without_both = simulate(place_ranks::on_a_crossbar(scenario), simulated, silent()).metrics.step_time;
  scenario.perturbations = {program::SlowChip{{3, 1}, false, 40}, program::RandomDegradedLinks{1, 7, 0.5}};
  PlaceOptions options;
  options.moves = 0;
  options.explained = true;
  options.engine = engine::EngineKind::max_min;
  const auto placed = place_ranks::place_ranks(scenario, options, silent());
  ASSERT_TRUE(placed.use);
  EXPECT_GT(placed.use->without_limits, without_both * 2);
  EXPECT_LE(placed.use->without_limits, placed.best.step * 1.01);
}

TEST_P(PlaceRanks, NumberOfJobsChangesNothing) {
  const auto scenario = on_all(shuffled(numbered(32), 9));
  const auto one = placed(scenario, 8, 1), three = placed(scenario, 8, 3);
  EXPECT_EQ(one.best.order, three.best.order);
  EXPECT_EQ(one.best.step, three.best.step);
}

INSTANTIATE_TEST_SUITE_P(Networks, PlaceRanks, testing::ValuesIn(networks),
                         [](const auto& tested) { return tested.param.name; });

// Of 5, 6, 6 and 7 free hosts below the leaves, groups of four: in their order three groups are split, and two leaves
// have a part of two of them. Whole groups where a leaf has room for one leave 1, 2, 2 and 3 hosts, which make two
// groups of two leaves each.
class UnevenLeaves : public PlaceRanks {};
TEST_P(UnevenLeaves, WholeGroupsGoFirst) {
  std::vector<int> hosts;
  for (const auto& [leaf, free] : {std::pair(0, 5), {1, 6}, {2, 6}, {3, 7}}) {
    for (int i = 0; i < free; ++i) hosts.push_back(8 * leaf + i);
  }
  const auto scenario =
      on_hosts(hosts, tree(2), "{tensor: 2, fsdp: 4, data: 6}", "{tensor: [gpu], fsdp: [node/4], data: [node]}");
  const auto found = placed(scenario, 0);
  const auto whole = std::find_if(found.first.begin(), found.first.end(),
                                  [](const auto& one) { return one.name.starts_with("whole groups of 4"); });
  ASSERT_NE(whole, found.first.end());
  EXPECT_LT(whole->step, found.given);
  EXPECT_LE(found.best.step, whole->step);
}
INSTANTIATE_TEST_SUITE_P(Networks, UnevenLeaves, testing::Values(networks[1]),
                         [](const auto& tested) { return tested.param.name; });

/// The least load of the fullest rank over the average, by trying every division of the experts.
double least_fullest(const std::vector<double>& tokens, std::size_t ranks) {
  std::vector<double> loads(ranks, 0);
  std::vector<std::size_t> counts(ranks, 0);
  double all = 0, best = 1e300;
  for (const double one : tokens) all += one;
  const std::function<void(std::size_t)> place = [&](std::size_t expert) {
    if (expert == tokens.size()) {
      best = std::min(best, *std::max_element(loads.begin(), loads.end()));
      return;
    }
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      if (counts[rank] == tokens.size() / ranks) continue;
      const bool is_first = counts[rank] == 0;
      loads[rank] += tokens[expert], ++counts[rank];
      place(expert + 1);
      loads[rank] -= tokens[expert], --counts[rank];
      if (is_first) break;  // empty ranks are alike
    }
  };
  place(0);
  return best * static_cast<double>(ranks) / all;
}

TEST(PlaceExperts, NearTheBestOfAllDivisions) {
  std::mt19937_64 random(3);
  double worst = 1, sum = 0;
  constexpr int times = 60;
  for (int i = 0; i < times; ++i) {
    const std::size_t ranks = 2 + random() % 3, each = 2 + random() % 2;
    std::vector<double> tokens;
    for (std::size_t expert = 0; expert < ranks * each; ++expert)
      tokens.push_back(static_cast<double>(1 + random() % 1000 * (random() % 4 == 0 ? 5 : 1)));
    const auto placed = place_ranks::place_experts(tokens, static_cast<std::int64_t>(ranks));
    const double best = least_fullest(tokens, ranks);
    EXPECT_LE(placed.bound, best * (1 + 1e-12));
    EXPECT_GE(placed.placed, best * (1 - 1e-12));
    EXPECT_LE(placed.placed, placed.given);
    auto order = placed.order;
    std::sort(order.begin(), order.end());
    for (std::size_t expert = 0; expert < order.size(); ++expert) EXPECT_EQ(order[expert], static_cast<int>(expert));
    worst = std::max(worst, placed.placed / best);
    sum += placed.placed / best;
  }
  EXPECT_LT(worst, 1.1);
  EXPECT_LT(sum / times, 1.01);
}

// Seven experts of 100 tokens and one of 500 on four ranks of two: the large one with one of 100 has 600 of a mean of
// 300, in whatever order. On ranks of two with groups of four each, experts stay in their half.
TEST(PlaceExperts, ByHand) {
  const std::vector<double> one_large{100, 100, 100, 100, 100, 100, 100, 500};
  const auto placed = place_ranks::place_experts(one_large, 4);
  EXPECT_DOUBLE_EQ(placed.given, 2);
  EXPECT_DOUBLE_EQ(placed.placed, 2);
  EXPECT_DOUBLE_EQ(placed.bound, 2);
  const std::vector<double> halves{4, 4, 1, 1, 40, 40, 10, 10};
  const auto grouped = place_ranks::place_experts(halves, 4, 2);
  EXPECT_DOUBLE_EQ(grouped.given, 80 / 27.5);
  EXPECT_DOUBLE_EQ(grouped.placed, 50 / 27.5);
  EXPECT_DOUBLE_EQ(grouped.bound, 50 / 27.5);
  for (std::size_t place = 0; place < 8; ++place) EXPECT_EQ(grouped.order[place] / 4, static_cast<int>(place) / 4);
}

}  // namespace
}  // namespace lockstep
