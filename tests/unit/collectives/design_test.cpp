// No all-gather is faster than the data of the roots outside a set over the arcs into it (design/bottleneck_cut.hpp).
// The rate of the least such cut is reached: trees are packed that load no arc with more than its capacity at that
// rate, and each reaches every member once. Rates of known networks by hand; packings and cuts of random ones against
// each other and against all cuts.
#include <gmock/gmock.h>

#include <random>

#include "sim/collectives/design/bottleneck_cut.hpp"
#include "sim/collectives/design/broadcast_trees.hpp"
#include "sim/collectives/design/simple_graph.hpp"
#include "sim/collectives/design/split_switches.hpp"
#include "sim/collectives/design/tree_demand.hpp"
#include "tests/unit/collectives/link_graphs.hpp"

namespace lockstep::test {
namespace {

using collectives::design::BroadcastTrees;
using collectives::design::LinkGraph;

double rate(const LinkGraph& graph) {
  const auto cut = collectives::design::bottleneck_cut(graph);
  return static_cast<double>(cut.capacity) / cut.roots;
}

/// Every tree spans all members from its root downwards, and every root has all of its trees.
void expect_spanning(const BroadcastTrees& trees) {
  std::vector<int> of_root(position_of(trees.members), 0);
  for (const auto& tree : trees.trees) {
    of_root[position_of(tree.root)] += tree.copies;
    std::vector<int> depth(position_of(trees.members), -1);
    depth[position_of(tree.root)] = 0;
    ASSERT_EQ(std::ssize(tree.arcs), trees.members - 1);
    for (const auto& arc : tree.arcs) {
      ASSERT_GE(depth[position_of(arc.from)], 0) << "an arc hangs in the air";
      ASSERT_EQ(depth[position_of(arc.to)], -1) << "a member is reached twice";
      depth[position_of(arc.to)] = depth[position_of(arc.from)] + 1;
      EXPECT_EQ(arc.depth, depth[position_of(arc.to)]);
    }
  }
  EXPECT_EQ(of_root, trees.trees_of);
  EXPECT_THAT(of_root, testing::Each(of_root.front()));
}

/// The most trees on an arc over what the arc carries, for graphs of members alone.
double heaviest(const BroadcastTrees& trees, const LinkGraph& graph) {
  std::map<std::pair<int, int>, double> load;
  for (const auto& tree : trees.trees) {
    for (const auto& arc : tree.arcs) load[{arc.from, arc.to}] += tree.copies;
  }
  double most = 0;
  for (const auto& [ends, count] : load) {
    const auto known = graph.arcs.find(ends);
    most = std::max(most, known == graph.arcs.end() ? 1e9 : count / static_cast<double>(known->second));
  }
  return most;
}

BroadcastTrees designed(const LinkGraph& graph) {
  return collectives::design::designs_for({0, graph, 1, {}}).front().gather;
}

// A member of a ring has two links in, for the data of N - 1 others; of a torus with D axes 2 D.
TEST(BottleneckCut, OfRingsAndToriIsAChip) {
  EXPECT_DOUBLE_EQ(rate(torus_graph({8})), 2.0 / 7);
  EXPECT_DOUBLE_EQ(rate(torus_graph({5})), 2.0 / 4);
  EXPECT_DOUBLE_EQ(rate(torus_graph({4, 4})), 4.0 / 15);
  EXPECT_DOUBLE_EQ(rate(torus_graph({3, 3, 3})), 6.0 / 26);
}

// Two nodes of 8: a chip has 9 + 1 in for 15 others, less than the 8 NICs of a node for 8. Eight nodes: the 8 NICs of a
// node for the 56 outside it, which is less than 10 for 63.
TEST(BottleneckCut, OfRailsIsAChipOrANode) {
  EXPECT_DOUBLE_EQ(rate(rails_graph(2)), 10.0 / 15);
  EXPECT_DOUBLE_EQ(rate(rails_graph(8)), 8.0 / 56);
}

// Four leaves of 4 ports of 2: uplinks of 2 + 2 for the 12 outside are less than a port for 15 others; with 8 + 8 not.
TEST(BottleneckCut, OfAFatTreeIsALeafWhereItIsTapered) {
  EXPECT_DOUBLE_EQ(rate(tree_graph(4, 4, 1)), 2.0 / 15) << "2 for 12 would be more";
  EXPECT_DOUBLE_EQ(rate(tree_graph(2, 4, 1)), 2.0 / 7);
  EXPECT_DOUBLE_EQ(rate(tree_graph(6, 8, 1)), 2.0 / 47);
  LinkGraph tapered = tree_graph(2, 8, 1);
  EXPECT_DOUBLE_EQ(rate(tapered), 2.0 / 15) << "a port for 15, a leaf 2 for 8";
  for (auto& [ends, capacity] : tapered.arcs) {
    if (ends.first < 16 || ends.second < 16) capacity = 9;
  }
  EXPECT_DOUBLE_EQ(rate(tapered), 2.0 / 8) << "the leaf, now that ports are wide";
}

// Dies 0, 1 of the pair that has the fewest links out: 2 + 1 from die 0, 3 from die 1, 50 each, for 14 others. On two
// servers each die has 16 more, and 30 others. Those are the cuts that bind in arXiv 2402.06787's example too.
TEST(BottleneckCut, OfMi250IsAPairOfDies) {
  EXPECT_DOUBLE_EQ(rate(mi250_graph(1)), 300.0 / 14);
  EXPECT_DOUBLE_EQ(rate(mi250_graph(2)), 332.0 / 30);
}

// Each GPU has six links in for 7 others; where one is broken, its ends have five.
TEST(BottleneckCut, OfADgx1IsAnEndOfTheBrokenLink) {
  EXPECT_DOUBLE_EQ(rate(dgx1_graph()), 6.0 / 7);
  EXPECT_DOUBLE_EQ(rate(dgx1_graph(0, 3)), 5.0 / 7);
  const auto cut = collectives::design::bottleneck_cut(dgx1_graph(0, 3));
  EXPECT_NE(cut.inside[0], cut.inside[3]) << "one end alone";
}

TEST(BottleneckCut, HasNoCapacityWhereANetworkIsInParts) {
  LinkGraph parts{4, 4, {}};
  join(parts, 0, 1, 5);
  join(parts, 2, 3, 5);
  EXPECT_EQ(collectives::design::bottleneck_cut(parts).capacity, 0);
}

TEST(Design, ReachesTheRateOnGraphsOfMembers) {
  for (const auto& graph : {torus_graph({8}), torus_graph({5}), torus_graph({4, 4}), torus_graph({2, 4}),
                            torus_graph({3, 3, 3}), mi250_graph(1), dgx1_graph(), dgx1_graph(0, 3)}) {
    const auto trees = designed(graph);
    expect_spanning(trees);
    EXPECT_DOUBLE_EQ(trees.rate, trees.best_rate);
    EXPECT_DOUBLE_EQ(trees.best_rate, rate(graph));
    // k trees over the load of the busiest arc is the rate that each root reaches.
    EXPECT_NEAR(trees.trees_of.front() / heaviest(trees, graph), rate(graph), 1e-9 * rate(graph));
  }
}

// On switches too, of which the trees know nothing: what members send and receive is within their ports.
TEST(Design, ReachesTheRateOnSwitches) {
  for (const auto& graph : {rails_graph(1), rails_graph(2), rails_graph(4), rails_graph(8), tree_graph(4, 4, 1),
                            tree_graph(4, 4, 4), tree_graph(2, 8, 1)}) {
    const auto trees = designed(graph);
    expect_spanning(trees);
    EXPECT_DOUBLE_EQ(trees.rate, trees.best_rate);
    EXPECT_DOUBLE_EQ(trees.best_rate, rate(graph));
  }
  const auto two_servers = designed(mi250_graph(2));
  expect_spanning(two_servers);
  EXPECT_GT(two_servers.rate, 0.99 * two_servers.best_rate) << "166 trees a root would reach all of it";
}

// A full exchange through one switch is one tree of depth 1 from each.
TEST(Design, OfOneSwitchIsDirect) {
  LinkGraph star{6, 7, {}};
  for (int member = 0; member < 6; ++member) join(star, member, 6, 3);
  const auto trees = designed(star);
  EXPECT_EQ(trees.trees_of.front(), 1);
  EXPECT_EQ(trees.use().depth, 1);
  EXPECT_EQ(trees.use().most_on_an_arc, 1);
}

// Trees of a ring go half way round each way, and no arc waits for more steps than it must make.
TEST(Design, OfARingGoesBothWays) {
  const auto trees = designed(torus_graph({9}));
  EXPECT_EQ(trees.use().depth, 4);
  EXPECT_EQ(trees.use().most_on_an_arc, 4);
}

class Drawn {
 public:
  explicit Drawn(std::uint64_t seed) : random_(seed) {}
  int between(int least, int most) { return least + static_cast<int>(random_() % position_of(most - least + 1)); }
  /// Members and switches in a random tree with further links across it.
  LinkGraph graph() {
    LinkGraph graph{between(2, 7), 0, {}};
    graph.nodes = graph.members + between(0, 4);
    for (int node = 1; node < graph.nodes; ++node) join(graph, node, between(0, node - 1), between(1, 4));
    for (int more = between(0, 2 * graph.nodes); more > 0; --more)
      join(graph, between(0, graph.nodes - 1), between(0, graph.nodes - 1), between(1, 4));
    return graph;
  }

 private:
  std::mt19937_64 random_;
};

/// The least capacity for each root over all sets of nodes.
double least_of_all_cuts(const LinkGraph& graph) {
  double least = 1e18;
  for (int set = 1; set < 1 << graph.nodes; ++set) {
    const auto is_in = [&](int node) { return (set >> node & 1) != 0; };
    int roots = 0;
    for (int member = 0; member < graph.members; ++member) roots += is_in(member) ? 0 : 1;
    if (roots == 0 || roots == graph.members) continue;
    double capacity = 0;
    for (const auto& [ends, arc] : graph.arcs) {
      if (!is_in(ends.first) && is_in(ends.second)) capacity += static_cast<double>(arc);
    }
    least = std::min(least, capacity / roots);
  }
  return least;
}

TEST(Design, OfRandomNetworksReachesTheLeastOfAllCuts) {
  int with_switches = 0;
  for (int seed = 1; seed <= 300; ++seed) {
    const auto graph = Drawn(position_of(seed)).graph();
    SCOPED_TRACE(seed);
    const double best = least_of_all_cuts(graph);
    ASSERT_DOUBLE_EQ(rate(graph), best);
    EXPECT_DOUBLE_EQ(rate(collectives::design::simplified(graph).graph), best) << "fewer switches change no rate";
    const auto trees = designed(graph);
    expect_spanning(trees);
    EXPECT_DOUBLE_EQ(trees.best_rate, best);
    EXPECT_GE(trees.rate, 0.95 * best) << "at most 16 trees of a root";
    if (graph.nodes == graph.members)
      EXPECT_LE(heaviest(trees, graph) * trees.rate, trees.trees_of.front() * (1 + 1e-9));
    else
      ++with_switches;
  }
  EXPECT_GT(with_switches, 100);
}

// As many units of a path over a switch may become an arc as leave the demand met, found by trying.
TEST(TreeDemand, SparesAsMuchAsTryingFinds) {
  int paths = 0, refused = 0;
  for (int seed = 1; seed <= 200; ++seed) {
    const auto graph = Drawn(position_of(seed)).graph();
    const int trees = static_cast<int>(rate(graph));
    if (trees == 0) continue;
    collectives::design::TreeDemand demand(graph, trees);
    ASSERT_TRUE(demand.is_met()) << "as many trees as the bottleneck cut allows";
    for (const auto& [into, first] : graph.arcs) {
      for (const auto& [out, second] : graph.arcs) {
        if (into.second != out.first || into.second < graph.members || into.first == out.second) continue;
        const auto most = std::min(first, second);
        std::int64_t found = 0;
        for (std::int64_t units = 1; units <= most; ++units) {
          auto split = graph;
          split.arcs[into] -= units;
          split.arcs[out] -= units;
          split.add(into.first, out.second, units);
          if (!collectives::design::TreeDemand(split, trees).is_met()) break;
          found = units;
        }
        ASSERT_EQ(demand.spare(into.first, into.second, out.second, most), found) << seed;
        ++paths;
        refused += found < most ? 1 : 0;
      }
    }
  }
  EXPECT_GT(paths, 500);
  EXPECT_GT(refused, 10);
}

TEST(Design, CountsBeforeItStarts) {
  EXPECT_FALSE(collectives::design::why_not_designed(256, 20'000));
  EXPECT_THAT(collectives::design::why_not_designed(257, 10)->first,
              testing::HasSubstr("a collective for 257 ranks is too large to design"));
  EXPECT_THAT(collectives::design::why_not_designed(2, 20'001)->first, testing::HasSubstr("20001 links"));
}

}  // namespace
}  // namespace lockstep::test
