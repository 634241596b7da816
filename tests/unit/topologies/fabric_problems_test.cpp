#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "sim/core/errors.hpp"
#include "tests/unit/topologies/small_fabric.hpp"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// "key: what; expected ..." of every problem; a spec with problems cannot be built.
std::vector<std::string> problems(const topologies::ClusterSpec& spec) {
  std::vector<std::string> texts;
  for (const topologies::ClusterProblem& problem : why_not_a_cluster(spec))
    texts.push_back(problem.key + ": " + problem.what + "; expected " + problem.expected);
  if (texts.empty()) {
    EXPECT_NO_THROW(static_cast<void>(build_cluster(spec)));
  } else {
    EXPECT_THROW(static_cast<void>(build_cluster(spec)), InternalError);
  }
  return texts;
}

TEST(WhyNotACluster, NothingIsWrongWithSoundOnes) {
  for (const auto& kind : std::vector<topologies::FabricKind>{topologies::Crossbar{}, topologies::FatTree{},
                                                              topologies::RailOptimised{}}) {
    EXPECT_THAT(problems(test::nodes(20, test::fabric(kind))), testing::IsEmpty());
  }
  EXPECT_THAT(problems(test::nodes(20, test::dragonfly())), testing::IsEmpty());
  EXPECT_THAT(problems(test::pods(2, test::fabric(topologies::Crossbar{}), {4, 4})), testing::IsEmpty());
}

/// k^3/4 NICs under three tiers of radix k = 4: 16.
TEST(WhyNotACluster, ARadixThatCannotBuildTheTree) {
  EXPECT_THAT(problems(test::nodes(16, test::fabric(topologies::FatTree{}, 4), test::node(1, 1))), testing::IsEmpty());
  EXPECT_THAT(
      problems(test::nodes(17, test::fabric(topologies::FatTree{}, 4), test::node(1, 1))),
      ElementsAre(testing::AllOf(HasSubstr("fabric.radix: three tiers"), HasSubstr("at most 16 nodes, not 17 nodes"))));
  EXPECT_THAT(problems(test::nodes(4, test::fabric(topologies::FatTree{}, 1))),
              ElementsAre(HasSubstr("fabric.radix: a switch of 1 ports")));
  EXPECT_THAT(problems(test::nodes(4, test::fabric(topologies::FatTree{}, 0))),
              ElementsAre(HasSubstr("fabric.radix: 0 ports")));
  topologies::FabricSpec thin = test::fabric(topologies::FatTree{}, 8);
  thin.link = BytesPerSecond(5e9);  // ten cables for each NIC
  EXPECT_THAT(problems(test::nodes(4, thin)), ElementsAre(HasSubstr("fabric.radix")));
}

TEST(WhyNotACluster, Oversubscription) {
  EXPECT_THAT(problems(test::nodes(4, test::fabric(topologies::FatTree{}, 8, {0.5, 1}))),
              ElementsAre(HasSubstr("fabric.oversubscription[0]: 0.5 would be more")));
  EXPECT_THAT(
      problems(test::nodes(4, test::fabric(topologies::FatTree{}, 8, {1, std::numeric_limits<double>::quiet_NaN()}))),
      ElementsAre(HasSubstr("fabric.oversubscription[1]")));
  EXPECT_THAT(problems(test::nodes(4, test::fabric(topologies::FatTree{}, 8, {1, 1, 1}))),
              ElementsAre(HasSubstr("3 tiers of uplinks among 3 tiers of switches")));
  EXPECT_THAT(problems(test::nodes(4, test::fabric(topologies::Crossbar{}, 8, {2}))),
              ElementsAre(HasSubstr("a crossbar has no tiers")));
}

TEST(WhyNotACluster, ScalableUnitsThatFitNoLeaf) {
  const topologies::FabricSpec fabric =
      test::fabric(topologies::RailOptimised{.nodes_per_scalable_unit = 5}, 8);  // 4 ports down
  EXPECT_THAT(problems(test::nodes(10, fabric)),
              ElementsAre(HasSubstr("fabric.nodes_per_scalable_unit: a switch of 8 ports joins NICs of 4 nodes")));
}

/// Groups of 6 NICs with 6 global links reach 7 groups, 42 NICs, 21 nodes.
TEST(WhyNotACluster, DragonflyGroupsThatCannotAllBeJoined) {
  EXPECT_THAT(problems(test::nodes(21, test::dragonfly())), testing::IsEmpty());
  EXPECT_THAT(problems(test::nodes(22, test::dragonfly())),
              ElementsAre(testing::AllOf(HasSubstr("fabric.global_links_per_router: 8 groups cannot all be joined"),
                                         HasSubstr("at least 3"))));
  topologies::FabricSpec small = test::dragonfly();
  small.radix = 5;  // 2 NICs + 2 local + 2 global
  EXPECT_THAT(problems(test::nodes(4, small)), ElementsAre(HasSubstr("fabric.radix: a router needs 6 ports")));
  EXPECT_THAT(problems(test::nodes(4, test::fabric(topologies::Dragonfly{}))),
              ElementsAre(HasSubstr("fabric.routers_per_group")));
}

TEST(WhyNotACluster, NodesThatAreNone) {
  EXPECT_THAT(problems(test::nodes(2, test::fabric(topologies::Crossbar{}), test::node(4, 3))),
              ElementsAre(HasSubstr("node.nics.count: 3 NICs do not divide 4 chips")));
  EXPECT_THAT(problems(test::nodes(2, test::fabric(topologies::Crossbar{}), test::node(4, 8))),
              ElementsAre(HasSubstr("node.nics.count")));
  EXPECT_THAT(problems(test::nodes(1, {}, test::node(4, 3))), testing::IsEmpty());  // alone it needs none
  topologies::NodeSpec node = test::node();
  node.nic = node.pcie = node.scale_up_link = BytesPerSecond(0);
  node.scale_up_efficiency = 1.5;
  EXPECT_THAT(problems(test::nodes(2, test::fabric(topologies::Crossbar{}), node)),
              testing::UnorderedElementsAre(HasSubstr("node.nics.rate"), HasSubstr("node.nics.pcie"),
                                            HasSubstr("node.scale_up.link"), HasSubstr("node.scale_up.efficiency")));
}

TEST(WhyNotACluster, CountsAndSlices) {
  EXPECT_THAT(problems(test::nodes(0, test::fabric(topologies::Crossbar{}))), ElementsAre(HasSubstr("units: 0 units")));
  EXPECT_THAT(problems(test::nodes(250'001, test::fabric(topologies::Crossbar{}))),
              ElementsAre(HasSubstr("1000004 chips")));
  EXPECT_THAT(problems(test::pods(2, test::fabric(topologies::Crossbar{}), {99, 1})),
              ElementsAre(HasSubstr("shape: 99x1 does not fit")));
  topologies::ClusterSpec no_way_out = test::pods(2, test::fabric(topologies::Crossbar{}), {2, 2});
  no_way_out.chip().dcn_per_host.reset();
  EXPECT_THAT(problems(no_way_out), ElementsAre(HasSubstr("chip: test-chip has no link out")));
}

TEST(WhyNotACluster, TheNetworkBetweenHallsIsCheckedToo) {
  topologies::ClusterSpec spec = test::nodes(2, test::fabric(topologies::Crossbar{}));
  spec.halls = 17;
  spec.between_halls = test::fabric(topologies::FatTree{}, 4);
  EXPECT_THAT(problems(spec), ElementsAre(HasSubstr("between_halls.radix: three tiers")));
  spec.between_halls.efficiency = 0;
  EXPECT_THAT(problems(spec), ElementsAre(HasSubstr("between_halls.efficiency")));
}

TEST(WhyNotACluster, AnOrderThatIsNoPermutation) {
  topologies::ClusterSpec spec = test::nodes(2, test::fabric(topologies::Crossbar{}), test::node(2, 1));
  spec.order.kind = topologies::RankOrder::Kind::listed;
  spec.order.devices = {0, 1, 1, 7};
  EXPECT_THAT(problems(spec), ElementsAre(HasSubstr("order: device 1 is at positions 1 and 2"),
                                          HasSubstr("order: position 3 is on device 7"),
                                          HasSubstr("order: 2 of 4 devices are missing, the first is 2")));
  spec.order.devices = {};
  EXPECT_THAT(problems(spec), ElementsAre(HasSubstr("4 of 4 devices are missing")));
  spec.order.devices = {3, 2, 1, 0};
  EXPECT_THAT(problems(spec), testing::IsEmpty());
}

/// On tori only whole pods may move: rings need their chips in order.
TEST(WhyNotACluster, AnOrderThatTearsATorusApart) {
  topologies::ClusterSpec spec = test::pods(2, test::fabric(topologies::Crossbar{}), {2});
  spec.order.kind = topologies::RankOrder::Kind::round_robin;
  EXPECT_THAT(problems(spec), ElementsAre(HasSubstr("order: round robin")));
  spec.order = {topologies::RankOrder::Kind::listed, 1, {1, 0, 2, 3}};
  EXPECT_THAT(problems(spec), ElementsAre(HasSubstr("takes neighbours on a torus apart")));
  spec.order.devices = {2, 3, 0, 1};
  EXPECT_THAT(problems(spec), testing::IsEmpty());
  spec.order.kind = topologies::RankOrder::Kind::scattered;
  EXPECT_THAT(problems(spec), testing::IsEmpty());
}

}  // namespace
}  // namespace lockstep
