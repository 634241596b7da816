// A link's level is the user's word for it: by its kind and, in a network, by whether it ends at a NIC or host.
#include "topologies/cluster/link_level.hpp"

#include <gtest/gtest.h>

#include <map>

#include "tests/unit/topologies/small_fabric.hpp"

namespace lockstep {
namespace {

/// How many links of each level a cluster has.
std::map<std::string, int> levels(const topologies::Cluster& cluster) {
  std::map<std::string, int> count;
  for (topologies::LinkId link = 0; link < cluster.links(); ++link) ++count[std::string(link_level(cluster, link))];
  return count;
}

using Levels = std::map<std::string, int>;

// 3 x 4 + 4 x 3 links each way between 4x4 chips, 16 chips and 4 hosts of 2x2 with a link each way.
TEST(LinkLevel, OfATorus) {
  EXPECT_EQ(levels(test::torus({4, 4}, test::never)), (Levels{{"ici", 2 * 24}, {"pcie", 2 * 16}, {"dcn", 2 * 4}}));
}

// Three nodes of four chips behind a switch, chips two by two at a NIC, six NICs on one switch.
TEST(LinkLevel, OfNodesOnACrossbar) {
  EXPECT_EQ(levels(build_cluster(test::nodes(3, test::fabric(topologies::Crossbar{})))),
            (Levels{{"scale-up", 2 * 12}, {"pcie", 2 * 12}, {"NIC", 2 * 6}}));
}

// A node alone has no way out; its chips are joined pair by pair where there is no switch.
TEST(LinkLevel, OfANodeAlone) {
  topologies::NodeSpec mesh = test::node(4, 2);
  mesh.scale_up = topologies::NodeSpec::ScaleUp::full_mesh;
  EXPECT_EQ(levels(build_cluster(test::nodes(1, test::fabric(topologies::Crossbar{})))), (Levels{{"scale-up", 2 * 4}}));
  EXPECT_EQ(levels(build_cluster(test::nodes(1, test::fabric(topologies::Crossbar{}), mesh))),
            (Levels{{"scale-up", 4 * 3}}));
}

// 16 NICs on switches of 8 ports: 4 leaves with 4 uplinks each, one to each of 4 spines. Links
// between switches are the fabric's, those of NICs are not.
TEST(LinkLevel, OfATree) {
  const auto ecmp =
      build_cluster(test::nodes(8, test::fabric(topologies::FatTree{}, 8, {}, topologies::FabricRouting::ecmp)));
  EXPECT_EQ(levels(ecmp), (Levels{{"scale-up", 2 * 32}, {"pcie", 2 * 32}, {"NIC", 2 * 16}, {"fabric", 2 * 16}}));
  for (topologies::LinkId link = 0; link < ecmp.links(); ++link) {
    const bool names_a_spine = ecmp.link_name(link).find("spine") != std::string::npos;
    EXPECT_EQ(link_level(ecmp, link) == "fabric", names_a_spine) << ecmp.link_name(link);
  }
}

// Hosts of pods hang on the network by their data-centre links.
TEST(LinkLevel, OfPods) {
  const auto pods = levels(build_cluster(test::pods(2, test::fabric(topologies::Crossbar{}), {4, 2})));
  EXPECT_EQ(pods, (Levels{{"ici", 2 * 2 * (3 * 2 + 4)}, {"pcie", 2 * 16}, {"dcn", 2 * 4}}));
}

}  // namespace
}  // namespace lockstep
