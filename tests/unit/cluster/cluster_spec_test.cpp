// devices = halls x units x (chips of a unit): the product of a torus' shape, or the chips of a node.
#include "topologies/cluster/cluster_spec.hpp"

#include <gtest/gtest.h>

#include "tests/unit/topologies/small_fabric.hpp"

namespace lockstep {
namespace {

TEST(ClusterSpec, CountsItsDevices) {
  EXPECT_EQ(test::nodes(3, test::fabric(topologies::Crossbar{}), test::node(8, 8)).devices(), 24);
  EXPECT_EQ(test::pods(5, test::fabric(topologies::Crossbar{}), {4, 3, 2}).devices(), 5 * 24);
  topologies::ClusterSpec halls = test::nodes(3, test::fabric(topologies::Crossbar{}));
  halls.halls = 7;
  EXPECT_EQ(halls.devices(), 7 * 3 * 4);
  EXPECT_EQ(test::pods(1, test::fabric(topologies::Crossbar{}), {1}).devices(), 1);
}

// More than fit 32 bits, so that a check can refuse them before anything is built.
TEST(ClusterSpec, CountsMoreDevicesThanThereCanBe) {
  topologies::ClusterSpec many = test::nodes(2'000'000'000, test::fabric(topologies::Crossbar{}), test::node(4, 2));
  many.halls = 2;
  EXPECT_EQ(many.devices(), 16'000'000'000);
}

TEST(ClusterSpec, IsEitherPodsOrNodes) {
  const topologies::ClusterSpec nodes = test::nodes(2, test::fabric(topologies::Crossbar{}));
  EXPECT_EQ(nodes.torus(), nullptr);
  ASSERT_NE(nodes.node(), nullptr);
  EXPECT_EQ(nodes.node()->name, "test-node");
  const topologies::ClusterSpec pods = test::pods(2, test::fabric(topologies::Crossbar{}), {4});
  EXPECT_EQ(pods.node(), nullptr);
  ASSERT_NE(pods.torus(), nullptr);
  EXPECT_EQ(pods.torus()->shape, std::vector<int>{4});
}

// The chip of either can be looked at and changed.
TEST(ClusterSpec, HasOneChip) {
  for (topologies::ClusterSpec spec : {test::nodes(2, test::fabric(topologies::Crossbar{})),
                                       test::pods(2, test::fabric(topologies::Crossbar{}), {4})}) {
    EXPECT_EQ(spec.chip().name, "test-chip");
    spec.chip().name = "another";
    EXPECT_EQ(std::as_const(spec).chip().name, "another");
    EXPECT_EQ(build_cluster(spec).chip().name, "another");
  }
}

}  // namespace
}  // namespace lockstep
