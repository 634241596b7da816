// The best hosts of a network, compared with every choice that there is.
#include "topologies/fabrics/best_hosts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/unit/topologies/graph_of_cluster.hpp"

namespace lockstep {
namespace {

using testing::ElementsAre;

/// Nodes of one NIC on leaves of two, pods of two leaves, four pods: a tree of switches of 4 ports with 16 ends.
topologies::NetworkGraph sixteen() {
  return test::graph_of(test::nodes(16, test::fabric(topologies::FatTree{}, 4), test::node(1, 1)));
}

TEST(HostBlocks, AreLeavesAndPods) {
  const topologies::HostBlocks blocks(sixteen());
  EXPECT_THAT(blocks.spread({0, 1}), ElementsAre(1, 1, 1));
  EXPECT_THAT(blocks.spread({0, 2}), ElementsAre(2, 1, 1));
  EXPECT_THAT(blocks.spread({0, 4, 5, 8}), ElementsAre(3, 3, 1));
}

/// With rails a node is on a leaf for each of its NICs; nodes of a scalable unit share them all and are one block.
TEST(HostBlocks, OfRailsAreScalableUnits) {
  const auto graph = test::graph_of(test::nodes(16, test::fabric(topologies::RailOptimised{}, 8), test::node(4, 4)));
  const topologies::HostBlocks blocks(graph);
  EXPECT_THAT(blocks.spread({0, 1, 2, 3}).front(), 1);
  EXPECT_THAT(blocks.spread({0, 4, 8, 12}).front(), 4);
  EXPECT_THAT(blocks.best({3, 4, 5, 6, 7, 8, 9}, 4), ElementsAre(4, 5, 6, 7));
}

/// Of 16 hosts some are free at random. No choice of as many lies in fewer pods, nor in as few pods and fewer leaves:
/// all subsets are tried.
TEST(BestHosts, AreAsCloseAsAnyChoice) {
  const topologies::HostBlocks blocks(sixteen());
  std::mt19937_64 random(5);
  for (int drawn = 0; drawn < 60; ++drawn) {
    std::vector<topologies::HostId> free;
    for (topologies::HostId host = 0; host < 16; ++host) {
      if (random() % 3 != 0) free.push_back(host);
    }
    if (free.size() < 2) continue;
    const int count = 1 + static_cast<int>(random() % free.size());
    const auto best = blocks.best(free, count);
    ASSERT_EQ(static_cast<int>(best.size()), count);
    auto sorted = best;
    std::sort(sorted.begin(), sorted.end());
    ASSERT_TRUE(std::includes(free.begin(), free.end(), sorted.begin(), sorted.end()));
    ASSERT_EQ(std::adjacent_find(sorted.begin(), sorted.end()), sorted.end());
    auto found = blocks.spread(best);
    std::reverse(found.begin(), found.end());  // highest tier first
    std::vector<bool> is_taken(free.size(), false);
    std::fill_n(is_taken.begin(), count, true);
    do {
      std::vector<topologies::HostId> other;
      for (std::size_t i = 0; i < free.size(); ++i) {
        if (is_taken[i]) other.push_back(free[i]);
      }
      auto spread = blocks.spread(other);
      std::reverse(spread.begin(), spread.end());
      ASSERT_LE(found, spread) << "drawn " << drawn;
    } while (std::prev_permutation(is_taken.begin(), is_taken.end()));
  }
}

}  // namespace
}  // namespace lockstep
