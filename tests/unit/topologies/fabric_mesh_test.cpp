#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/unit/topologies/small_fabric.hpp"

namespace lockstep {
namespace {

using testing::HasSubstr;

topologies::Cluster gpus(int nodes) {
  return build_cluster(test::nodes(nodes, test::fabric(topologies::Crossbar{}), test::node(8, 8)));
}

std::vector<topologies::Factor> factors_of(const topologies::Mesh& mesh, const std::string& axis) {
  return mesh.axis(axis).factors;
}

TEST(FabricMesh, AxesBehindSwitchesArePlacedLikeThoseOfATorus) {
  const topologies::Cluster cluster = gpus(6);
  const topologies::Mesh mesh = test::placed(
      cluster, {test::on("tensor", {"gpu/4"}), test::on("pipeline", {"node/3"}), test::on("fsdp", {"rest"})});
  EXPECT_EQ(factors_of(mesh, "tensor"), (std::vector<topologies::Factor>{{1, 4, 1}}));
  EXPECT_EQ(factors_of(mesh, "pipeline"), (std::vector<topologies::Factor>{{0, 3, 1}}));
  EXPECT_EQ(factors_of(mesh, "fsdp"), (std::vector<topologies::Factor>{{0, 2, 3}, {1, 2, 4}}));
}

/// Behind a switch there are no rings and lines of links: groups have members only. Tensor takes 4 of 8 chips of a
/// node.
TEST(FabricMesh, GroupsHaveMembersButNoLanes) {
  const topologies::Cluster cluster = gpus(2);
  const topologies::Mesh mesh = test::placed(cluster, {test::on("fsdp", {"rest"}), test::on("tensor", {"gpu/4"})});
  EXPECT_TRUE(mesh.dimensions({"tensor"}).empty());
  EXPECT_TRUE(mesh.dimensions({"fsdp", "tensor"}).empty());
  const std::vector<topologies::Group> groups = mesh.groups({"tensor"});
  ASSERT_EQ(groups.size(), 4u);
  for (const topologies::Group& group : groups) {
    EXPECT_TRUE(group.lanes.empty());
    std::set<int> nodes;
    for (const topologies::RankId rank : group.members) nodes.insert(cluster.unit_of(mesh.device_of(rank)));
    EXPECT_EQ(group.members.size(), 4u);
    EXPECT_EQ(nodes.size(), 1u);
  }
}

/// A group over x and pod on two pods of 4x2 with y left out: one group for each y, 8 members, one dimension (the ring
/// of 4 along x), and a lane each way in each of the two pods. Hops of a pod's lanes are links of that pod.
TEST(FabricMesh, AGroupOverPodsHasTheRingsOfEachPod) {
  const topologies::Cluster cluster =
      build_cluster(test::pods(2, test::fabric(topologies::Crossbar{}), {4, 2}, test::multiple_of_four));
  const topologies::Mesh mesh = test::placed(cluster, {test::on("fsdp", {"pod", "x"}), test::on("tensor", {"y"})});
  const auto dimensions = mesh.dimensions({"fsdp"});
  ASSERT_EQ(dimensions.size(), 1u);
  EXPECT_EQ(dimensions.front().label, "ring of 4 on x");
  EXPECT_EQ(dimensions.front().members, 4);
  const auto groups = mesh.groups({"fsdp"});
  ASSERT_EQ(groups.size(), 2u);
  for (const topologies::Group& group : groups) {
    EXPECT_EQ(group.members.size(), 8u);
    ASSERT_EQ(group.lanes.size(), 4u);
    std::multiset<int> pods;
    for (const topologies::Lane& lane : group.lanes) {
      std::set<int> of_lane;
      for (const auto& hop : lane.hops()) {
        for (const topologies::LinkId link : hop) of_lane.insert(cluster.unit_of(cluster.link(link).from));
      }
      ASSERT_EQ(of_lane.size(), 1u);
      pods.insert(*of_lane.begin());
    }
    EXPECT_EQ(pods, (std::multiset<int>{0, 0, 1, 1}));
  }
}

/// Rings of one pod, and of all pods, have the shape they have on the torus alone, whatever lies further out.
TEST(FabricMesh, DimensionsAreThoseOfThePod) {
  const topologies::Cluster composed =
      build_cluster(test::pods(3, test::fabric(topologies::Crossbar{}), {4, 4, 2}, test::multiple_of_four));
  const topologies::Cluster torus = test::torus({4, 4, 2}, test::multiple_of_four);
  const std::vector<topologies::AxisRequest> inner{test::on("tensor", {"x/2", "y/2"}), test::on("fsdp", {"rest"})};
  std::vector<topologies::AxisRequest> outer{test::on("data", {"pod"})};
  outer.insert(outer.end(), inner.begin(), inner.end());
  const topologies::Mesh all = test::placed(composed, outer);
  const topologies::Mesh one = test::placed(torus, inner);
  for (const std::string axis : {"tensor", "fsdp"}) {
    const auto a = all.dimensions({axis});
    const auto b = one.dimensions({axis});
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].label, b[i].label);
      EXPECT_EQ(a[i].sharing, b[i].sharing);
      EXPECT_EQ(a[i].link, b[i].link);
    }
  }
}

TEST(FabricMesh, TextSaysWhatLiesBehindSwitches) {
  const topologies::Cluster cluster = gpus(64);
  EXPECT_THAT(test::placed(cluster, {test::on("fsdp", {"node"}), test::on("tensor", {"gpu"})}).to_string(),
              testing::AllOf(HasSubstr("64 on node"), HasSubstr("8 on gpu")));
  const topologies::Cluster pods =
      build_cluster(test::pods(2, test::fabric(topologies::Crossbar{}), {4, 2}, test::multiple_of_four));
  EXPECT_THAT(test::placed(pods, {test::on("fsdp", {"pod", "x"}), test::on("tensor", {"y"})}).to_string(),
              HasSubstr("ring of 4 on x, 2 on pod"));
}

/// Of equal costs the first is kept, which starts inside the unit: axes in order of the requests, tensor innermost.
TEST(FabricMesh, TheSearchStartsInsideTheNode) {
  const topologies::Cluster cluster = gpus(4);
  int tried = 0;
  const auto placed = place_by_cost(
      cluster, {test::sized("tensor", 8), test::sized("fsdp", 4)}, [](const topologies::Mesh&) { return Seconds(1); },
      tried);
  const auto& axes = std::get<std::vector<topologies::MeshAxis>>(placed);
  EXPECT_EQ(axes[0].factors, (std::vector<topologies::Factor>{{1, 8, 1}}));
  EXPECT_EQ(axes[1].factors, (std::vector<topologies::Factor>{{0, 4, 1}}));
  // tensor on gpu/8 node/1, gpu/4 node/2, gpu/2 node/4; fsdp takes what is left.
  EXPECT_EQ(tried, 3);
}

/// An axis over both kinds has its nodes outside: neighbouring ranks are in one node. And the cost decides: here it
/// wants tensor across nodes.
TEST(FabricMesh, TheSearchFollowsTheCost) {
  const topologies::Cluster cluster = gpus(4);
  int tried = 0;
  const auto over_nodes = [](const topologies::Mesh& mesh) {
    int on_nodes = 1;
    for (const topologies::Factor& factor : mesh.axis("tensor").factors) on_nodes *= factor.axis == 0 ? factor.size : 1;
    return Seconds(1.0 / on_nodes);
  };
  const auto placed = place_by_cost(cluster, {test::sized("tensor", 8), test::sized("fsdp", 4)}, over_nodes, tried);
  const auto& axes = std::get<std::vector<topologies::MeshAxis>>(placed);
  EXPECT_EQ(axes[0].factors, (std::vector<topologies::Factor>{{0, 4, 1}, {1, 2, 1}}));
  EXPECT_EQ(axes[1].factors, (std::vector<topologies::Factor>{{1, 4, 2}}));
}

}  // namespace
}  // namespace lockstep
