// Public dumps, which are not kept here: tests/data/networks/SOURCES lists them. These tests are built where the
// configuration names a folder in which the dumps lie: cmake -DLOCKSTEP_NETWORK_DUMPS=FOLDER.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/graph/network_files.hpp"
#include "topologies/graph/network_levels.hpp"
#include "topologies/graph/read_node.hpp"
#include "topologies/graph/text_file.hpp"

namespace lockstep::test {
namespace {

using testing::ElementsAre;
using testing::Pair;

class RealDumps : public testing::Test {
 protected:
  [[nodiscard]] static std::filesystem::path place(const std::string& name) {
    return std::filesystem::path(LOCKSTEP_NETWORK_DUMPS) / name;
  }
};

// 582 channel adapters, of which 40 are aggregation nodes; 1,074 cables, since 2 x 1,074 lines of ports end in 4xNDR
// besides the 80 of aggregation nodes. By counting the lines of single records: leaf 04-04 has 17 hosts and 16 uplinks.
TEST_F(RealDumps, Topograph) {
  Problems problems;
  const auto import = topologies::read_network(place("topograph.out"), problems);
  problems.throw_if_any();
  EXPECT_EQ(import.graph.switches.count(), 40);
  EXPECT_EQ(count_adapters(import.graph), 582 - 40);
  EXPECT_THAT(cables_by_speed(import.graph), ElementsAre(Pair("4xNDR", 1074)));
  const auto levels = network_levels(import.graph);
  for (const auto id : import.graph.switches.ids()) {
    const std::string& name = import.graph.switches[id].name;
    EXPECT_EQ(levels.level[id], name.find("IBSPINE") == std::string::npos ? 1 : 2) << name;
    if (name != "MF0;A09-P1-IBLEAF-04-04:MQM9701/U1") continue;
    EXPECT_EQ(levels.cables[id].down, 17);
    EXPECT_EQ(levels.cables[id].up, 16);
  }
}

TEST_F(RealDumps, TopographBad) {
  Problems problems;
  (void)topologies::read_network(place("topograph-bad.out"), problems);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_THAT(problems.list().front().what, testing::HasSubstr("1 host without a cable: dgx-gb200-n01-c1"));
}

// NDv4: four PCIe switches with two GPUs and two NICs each. An MI300X node: seven xGMI links of each GPU, and a NIC
// below the same switch.
TEST_F(RealDumps, Nodes) {
  const auto read = [&](const std::string& name) {
    Problems problems;
    const auto text = topologies::read_text(place(name), topologies::describes_a_node, problems);
    problems.throw_if_any();
    auto node = topologies::read_node_text(*text, name, problems);
    problems.throw_if_any();
    return node;
  };
  const auto ndv4 = read("ndv4-topo.xml");
  EXPECT_EQ(ndv4.gpus.size(), 8u);
  EXPECT_EQ(ndv4.nics.size(), 8u);
  EXPECT_EQ(ndv4.shared_switches.size(), 4u);
  const auto mi300x = read("topo_8p_940.xml");
  ASSERT_EQ(mi300x.gpus.size(), 8u);
  EXPECT_EQ(mi300x.gpus[3].links, 7);
  EXPECT_EQ(mi300x.gpus[3].kind, "gfx942");
  EXPECT_EQ(mi300x.nics.size(), 8u);
}

}  // namespace
}  // namespace lockstep::test
