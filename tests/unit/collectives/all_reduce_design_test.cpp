// An all-reduce of V bytes takes at least 2 V (m - 1) / c, where c is the capacity into all m parts of a partition
// together (design/weakest_partition.hpp). Where links are as fast both ways the largest such time is reached, by
// spanning trees that carry data up and down again: no link has more of them than it can carry at that rate. Partitions
// of known networks by hand; those of random ones against all of their partitions.
#include <gmock/gmock.h>

#include <random>

#include "sim/collectives/design/broadcast_trees.hpp"
#include "sim/collectives/design/simple_graph.hpp"
#include "sim/collectives/design/weakest_partition.hpp"
#include "tests/unit/collectives/link_graphs.hpp"

namespace lockstep::test {
namespace {

using collectives::design::BroadcastTrees;
using collectives::design::LinkGraph;

/// V over the time of the bound, for arcs of so many bytes per second.
double rate(const LinkGraph& graph) {
  const auto partition = collectives::design::weakest_partition(graph);
  return static_cast<double>(partition.capacity) / (2.0 * (partition.parts - 1));
}

std::vector<collectives::design::Design> designs(const LinkGraph& graph) {
  return collectives::design::all_reduce_designs_for({0, graph, 1, {}});
}

/// The rate that trees reach on a graph of members alone: each carries an equal part of V up and down.
double reached(const BroadcastTrees& trees, const LinkGraph& graph) {
  std::map<std::pair<int, int>, int> on_link;
  for (const auto& tree : trees.trees) {
    for (const auto& arc : tree.arcs) on_link[std::minmax(arc.from, arc.to)] += tree.copies;
  }
  double longest = 0;
  for (const auto& [ends, count] : on_link) {
    const auto known = graph.arcs.find(ends);
    longest = std::max(longest, known == graph.arcs.end() ? 1e9 : count / static_cast<double>(known->second));
  }
  return trees.count() / longest;
}

void expect_spanning(const BroadcastTrees& trees) {
  std::vector<int> of_root(position_of(trees.members), 0);
  for (const auto& tree : trees.trees) {
    of_root[position_of(tree.root)] += tree.copies;
    std::vector<int> depth(position_of(trees.members), -1), height(position_of(trees.members), 0);
    depth[position_of(tree.root)] = 0;
    ASSERT_EQ(std::ssize(tree.arcs), trees.members - 1);
    for (const auto& arc : tree.arcs) {
      ASSERT_GE(depth[position_of(arc.from)], 0) << "an arc hangs in the air";
      ASSERT_EQ(depth[position_of(arc.to)], -1) << "a member is reached twice";
      depth[position_of(arc.to)] = depth[position_of(arc.from)] + 1;
      EXPECT_EQ(arc.depth, depth[position_of(arc.to)]);
    }
    for (auto arc = tree.arcs.rbegin(); arc != tree.arcs.rend(); ++arc) {
      EXPECT_EQ(arc->height, height[position_of(arc->to)]);
      height[position_of(arc->from)] = std::max(height[position_of(arc->from)], arc->height + 1);
    }
  }
  EXPECT_EQ(of_root, trees.trees_of);
}

// All links of a ring of n are 2 n arcs into n parts; of a closed torus with D axes 2 D n arcs.
TEST(WeakestPartition, OfRingsAndToriIsEveryChip) {
  EXPECT_DOUBLE_EQ(rate(torus_graph({8})), 8.0 / 7);
  EXPECT_DOUBLE_EQ(rate(torus_graph({4, 4})), 32.0 / 15);
  EXPECT_DOUBLE_EQ(rate(torus_graph({3, 3, 3})), 81.0 / 26);
}

// A line has n - 1 links, and is its only spanning tree. An open torus of 3 x 4 has 2 x 4 + 3 x 3 links for 11.
TEST(WeakestPartition, OfOpenToriIsEveryChip) {
  EXPECT_DOUBLE_EQ(rate(open_torus_graph({6})), 1);
  EXPECT_DOUBLE_EQ(rate(open_torus_graph({3, 4})), 17.0 / 11);
}

// 23 links that are left, for 8 - 1: the member with the fewest links does not bound alone.
TEST(WeakestPartition, OfADgx1IsEveryGpu) {
  EXPECT_DOUBLE_EQ(rate(dgx1_graph()), 24.0 / 7);
  EXPECT_DOUBLE_EQ(rate(dgx1_graph(0, 3)), 23.0 / 7);
}

// Eight nodes of 8: 64 x (9 + 1) / 2 for 63 is more than 8 x 8 / 2 for 7, the NICs of whole nodes.
TEST(WeakestPartition, OfRailsIsEveryNode) {
  const auto partition = collectives::design::weakest_partition(rails_graph(8));
  EXPECT_EQ(partition.parts, 8);
  EXPECT_DOUBLE_EQ(rate(rails_graph(8)), 64.0 / 14);
  EXPECT_DOUBLE_EQ(rate(rails_graph(2)), 160.0 / 30);
}

// Two parts that are held together by one link: the partition is neither of single members nor of two halves of all.
TEST(WeakestPartition, MayBeAnyOther) {
  LinkGraph graph{6, 6, {}};
  for (const int first : {0, 3}) {
    for (const int offset : {0, 1, 2}) join(graph, first + offset, first + (offset + 1) % 3, 4);
  }
  join(graph, 0, 3, 3);
  const auto partition = collectives::design::weakest_partition(graph);
  EXPECT_EQ(partition.part_of, (std::vector<int>{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(partition.capacity, 6);
}

TEST(WeakestPartition, HasNoCapacityWhereANetworkIsInParts) {
  LinkGraph parts{4, 4, {}};
  join(parts, 0, 1, 5);
  join(parts, 2, 3, 5);
  EXPECT_EQ(collectives::design::weakest_partition(parts).capacity, 0);
}

class Drawn {
 public:
  explicit Drawn(std::uint64_t seed) : random_(seed) {}
  int between(int least, int most) { return least + static_cast<int>(random_() % position_of(most - least + 1)); }
  LinkGraph graph() {
    LinkGraph graph{between(2, 6), 0, {}};
    graph.nodes = graph.members + between(0, 3);
    for (int node = 1; node < graph.nodes; ++node) join(graph, node, between(0, node - 1), between(1, 4));
    for (int more = between(0, 2 * graph.nodes); more > 0; --more)
      join(graph, between(0, graph.nodes - 1), between(0, graph.nodes - 1), between(1, 4));
    return graph;
  }

 private:
  std::mt19937_64 random_;
};

/// The least capacity / (2 (parts - 1)) over all ways to put members into parts, each with the switches that make its
/// arcs least.
class AllPartitions {
 public:
  explicit AllPartitions(const LinkGraph& graph) : graph_(graph), into_(position_of(1 << graph.members), -1) {}
  double least() {
    place(0);
    return least_;
  }

 private:
  void place(int member) {
    if (member == graph_.members) return measure();
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      parts_[part] |= 1 << member;
      place(member + 1);
      parts_[part] &= ~(1 << member);
    }
    parts_.push_back(1 << member);
    place(member + 1);
    parts_.pop_back();
  }
  void measure() {
    if (parts_.size() < 2) return;
    double capacity = 0;
    for (const int part : parts_) capacity += into(part);
    least_ = std::min(least_, capacity / (2.0 * static_cast<double>(parts_.size() - 1)));
  }
  double into(int part) {
    auto& known = into_[position_of(part)];
    if (known >= 0) return known;
    for (int switches = 0; switches < 1 << (graph_.nodes - graph_.members); ++switches) {
      const int set = part | switches << graph_.members;
      double capacity = 0;
      for (const auto& [ends, arc] : graph_.arcs) {
        if ((set >> ends.first & 1) == 0 && (set >> ends.second & 1) != 0) capacity += static_cast<double>(arc);
      }
      if (known < 0 || capacity < known) known = capacity;
    }
    return known;
  }

  const LinkGraph& graph_;
  std::vector<double> into_;
  std::vector<int> parts_;
  double least_ = 1e18;
};

TEST(WeakestPartition, OfRandomNetworksIsTheLeastOfAll) {
  for (int seed = 1; seed <= 200; ++seed) {
    const auto graph = Drawn(position_of(seed)).graph();
    const double least = AllPartitions(graph).least();
    ASSERT_DOUBLE_EQ(rate(graph), least) << seed;
    EXPECT_DOUBLE_EQ(rate(collectives::design::simplified(graph).graph), least) << "fewer switches change no rate";
  }
}

TEST(AllReduceDesign, ReachesTheRateOnGraphsOfMembers) {
  for (const auto& graph : {torus_graph({8}), torus_graph({5}), torus_graph({4, 4}), torus_graph({2, 4}),
                            torus_graph({3, 3, 3}), torus_graph({4, 4, 4}), open_torus_graph({6}),
                            open_torus_graph({4, 4}), mi250_graph(1), dgx1_graph(), dgx1_graph(0, 3)}) {
    const auto trees = designs(graph).front().gather;
    expect_spanning(trees);
    EXPECT_DOUBLE_EQ(trees.members * trees.best_rate, rate(graph));
    EXPECT_GE(trees.rate, 0.99 * trees.best_rate);
    EXPECT_GE(reached(trees, graph), trees.members * trees.rate * (1 - 1e-9));
    EXPECT_LE(reached(trees, graph), rate(graph) * (1 + 1e-9));
  }
}

TEST(AllReduceDesign, ReachesTheRateOnSwitches) {
  for (const auto& graph : {rails_graph(1), rails_graph(2), rails_graph(4), rails_graph(8), tree_graph(4, 4, 1),
                            tree_graph(4, 4, 4), tree_graph(2, 8, 1), mi250_graph(2)}) {
    const auto trees = designs(graph).front().gather;
    expect_spanning(trees);
    EXPECT_DOUBLE_EQ(trees.members * trees.best_rate, rate(graph));
    EXPECT_GE(trees.rate, 0.98 * trees.best_rate);
  }
}

TEST(AllReduceDesign, OfRandomNetworksSpansAndFits) {
  double sum = 0;
  for (int seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    const auto graph = Drawn(position_of(seed)).graph();
    for (const auto& design : designs(graph)) {
      expect_spanning(design.gather);
      EXPECT_EQ(design.gather.trees_of, design.reduce.trees_of);
      if (graph.nodes == graph.members)
        EXPECT_GE(reached(design.gather, graph), design.gather.members * design.gather.rate * (1 - 1e-9));
    }
    const auto trees = designs(graph).front().gather;
    EXPECT_GE(trees.rate, 0.85 * trees.best_rate) << "at most 16 trees for each member";
    sum += trees.rate / trees.best_rate;
  }
  EXPECT_GT(sum / 200, 0.99);
}

// Roots are in the middle: trees of a ring go half way round each way. A member joined to all others is a root whose
// trees are one arc deep.
TEST(AllReduceDesign, StartsInTheMiddle) {
  EXPECT_EQ(designs(torus_graph({9})).front().use_both_ways().depth, 8);
  LinkGraph hub{5, 5, {}};
  for (const int member : {1, 2, 3, 4}) join(hub, 0, member, 1);
  const auto trees = designs(hub).front().gather;
  EXPECT_EQ(trees.trees_of, (std::vector<int>{1, 0, 0, 0, 0}));
  EXPECT_EQ(trees.use().depth, 1);
  EXPECT_DOUBLE_EQ(trees.rate * 5, 1);
}

// Through one switch each of N members is the root of a tree that is one arc deep, in one of the designs.
TEST(AllReduceDesign, OfOneSwitchMayBeDirect) {
  LinkGraph star{6, 7, {}};
  for (int member = 0; member < 6; ++member) join(star, member, 6, 3);
  int least = 100;
  for (const auto& design : designs(star)) {
    if (design.gather.rate == design.gather.best_rate) least = std::min(least, design.use_both_ways().depth);
  }
  EXPECT_EQ(least, 2);
}

}  // namespace
}  // namespace lockstep::test
