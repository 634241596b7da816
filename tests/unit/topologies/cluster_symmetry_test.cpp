// Blocks of devices that may change places. On a tree of nodes they are what hangs below one link: the chips of a NIC,
// the nodes of a leaf, the leaves of a spine.
#include "topologies/cluster/cluster_symmetry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/unit/topologies/small_fabric.hpp"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

topologies::ClusterSymmetry symmetry_of(const topologies::ClusterSpec& spec) {
  return topologies::ClusterSymmetry(build_cluster(spec));
}

// Nodes of four chips, two to a NIC. A switch of 8 ports takes four NICs down and four up: two nodes a leaf. Eight
// leaves are one tier of 8-port spines.
TEST(ClusterSymmetry, ATreeIsMadeOfLeaves) {
  const auto symmetry = symmetry_of(test::nodes(16, test::fabric(topologies::FatTree{}, 8)));
  EXPECT_THAT(symmetry.blocks(0), ElementsAre(1, 2, 16));
  EXPECT_THAT(symmetry.blocks(1), ElementsAre(1, 2, 4));
}

// 32 nodes need 16 leaves, more than a spine has ports: pods of four leaves, eight nodes, below 8-port cores.
TEST(ClusterSymmetry, AThirdTierIsMadeOfPods) {
  const auto symmetry = symmetry_of(test::nodes(32, test::fabric(topologies::FatTree{}, 8)));
  EXPECT_THAT(symmetry.blocks(0), ElementsAre(1, 2, 8, 32));
}

// A leaf holds NIC i of four nodes, so each NIC of a node has a leaf of its own, and two of them are alike.
TEST(ClusterSymmetry, RailsAreAlike) {
  const auto symmetry = symmetry_of(test::nodes(16, test::fabric(topologies::RailOptimised{}, 8)));
  EXPECT_THAT(symmetry.blocks(0), ElementsAre(1, 4, 16));
  EXPECT_THAT(symmetry.blocks(1), ElementsAre(1, 2, 4));
}

TEST(ClusterSymmetry, ACrossbarTellsNoNodesApart) {
  EXPECT_THAT(symmetry_of(test::nodes(7, test::fabric(topologies::Crossbar{}))).blocks(0), ElementsAre(1, 7));
  EXPECT_THAT(symmetry_of(test::nodes(1, test::fabric(topologies::Crossbar{}))).blocks(0), ElementsAre(1, 4));
}

// A link joins two chips of a node; nodes are alike, their chips are not taken to be.
TEST(ClusterSymmetry, ChipsOfAFullMeshStayInPlace) {
  auto node = test::node();
  node.scale_up = topologies::NodeSpec::ScaleUp::full_mesh;
  const auto symmetry = symmetry_of(test::nodes(6, test::fabric(topologies::Crossbar{}), node));
  EXPECT_THAT(symmetry.blocks(0), ElementsAre(1, 6));
  EXPECT_THAT(symmetry.blocks(1), IsEmpty());
  EXPECT_TRUE(symmetry.any());
}

// Five nodes fill two leaves of two and half of a third; hashed routes choose between several uplinks; routers of a
// dragonfly have links to their like; an order of ranks moves positions off their devices; tori have no tiers.
TEST(ClusterSymmetry, NothingIsAlikeWhereSwitchesDiffer) {
  EXPECT_FALSE(symmetry_of(test::nodes(5, test::fabric(topologies::FatTree{}, 8))).any());
  EXPECT_FALSE(
      symmetry_of(test::nodes(16, test::fabric(topologies::FatTree{}, 8, {}, topologies::FabricRouting::ecmp))).any());
  EXPECT_FALSE(symmetry_of(test::nodes(9, test::dragonfly())).any());
  auto scattered = test::nodes(16, test::fabric(topologies::FatTree{}, 8));
  scattered.order.kind = topologies::RankOrder::Kind::scattered;
  EXPECT_FALSE(symmetry_of(scattered).any());
  EXPECT_FALSE(symmetry_of(test::pods(2, test::fabric(topologies::Crossbar{}), {2, 3})).any());
  EXPECT_FALSE(topologies::ClusterSymmetry(test::torus({4, 3}, test::always)).any());
}

// Below the link of a chip lies the chip, below that of a NIC two chips, below that of a leaf two nodes, below that of
// a spine a pod of eight; both ways.
TEST(ClusterSymmetry, ALinkHasABlockBelow) {
  const auto cluster = build_cluster(test::nodes(32, test::fabric(topologies::FatTree{}, 8)));
  const topologies::ClusterSymmetry symmetry(cluster);
  std::vector<std::pair<int, int>> below;
  for (const auto link : cluster.route(0, 127))
    below.emplace_back(symmetry.block_below(link, 0), symmetry.block_below(link, 1));
  using Blocks = std::pair<int, int>;
  EXPECT_THAT(below, ElementsAre(Blocks{1, 1}, Blocks{1, 2}, Blocks{2, 4}, Blocks{8, 4}, Blocks{8, 4}, Blocks{2, 4},
                                 Blocks{1, 2}, Blocks{1, 1}));
}

}  // namespace
}  // namespace lockstep
