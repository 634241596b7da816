// Nodes whose chips reach each other over PCIe alone: a port of each chip, a PCIe switch for each pair of chips with
// one uplink, two CPUs of four chips with one link between them. What shares a link shares its rate.
#include <gmock/gmock.h>

#include "tests/unit/collectives/network_case.hpp"
#include "topologies/cluster/cluster_symmetry.hpp"

namespace lockstep::test {
namespace {

using Kind = workloads::CollectiveKind;

constexpr double v = 64e6, chip_port = 32e9, uplink = 32e9, between = 20e9, pcie_latency = 2 * us;
const Bytes size(64'000'000);

topologies::NodeSpec pcie_node(int nics = 8) {
  auto made = node(8);
  made.scale_up = topologies::NodeSpec::ScaleUp::pcie;
  made.scale_up_link = BytesPerSecond(chip_port);
  made.scale_up_latency = Seconds(pcie_latency);
  made.uplinks = {{2, BytesPerSecond(uplink)}, {4, BytesPerSecond(between)}};
  made.nics = nics;
  made.nic = BytesPerSecond(12.5e9);
  made.pcie = BytesPerSecond(32e9);
  return made;
}

std::vector<std::string> names(const topologies::Cluster& cluster, topologies::DeviceId from, topologies::DeviceId to) {
  std::vector<std::string> links;
  for (const auto link : cluster.route(from, to)) links.push_back(cluster.link_name(link));
  return links;
}

void expect_time(const NetworkCase& groups, Kind kind, const std::string& algorithm, double expected) {
  const auto choice = groups.network().choose(kind, size, algorithm);
  EXPECT_NEAR(choice.cost.value(), expected, 1e-9 * expected) << algorithm;
  EXPECT_NEAR(groups.simulated(choice), expected, 1e-9 * expected) << algorithm << " on SimGrid";
}

// Chips 0 and 1 meet in their switch, 0 and 3 in their CPU, 0 and 7 beyond it. Any way takes the latency from chip to
// chip.
TEST(PcieNode, RoutesGoAsHighAsTheyMust) {
  const auto cluster = build_cluster(nodes(1, pcie_node()));
  EXPECT_THAT(names(cluster, 0, 1), testing::ElementsAre("chip(0)>pcie(0,0)", "pcie(0,0)>chip(1)"));
  EXPECT_THAT(names(cluster, 0, 3), testing::ElementsAre("chip(0)>pcie(0,0)", "pcie(0,0)>pcie(1,0)",
                                                         "pcie(1,0)>pcie(0,1)", "pcie(0,1)>chip(3)"));
  EXPECT_THAT(names(cluster, 7, 0),
              testing::ElementsAre("chip(7)>pcie(0,3)", "pcie(0,3)>pcie(1,1)", "pcie(1,1)>pcie(2,0)",
                                   "pcie(2,0)>pcie(1,0)", "pcie(1,0)>pcie(0,0)", "pcie(0,0)>chip(0)"));
  double latency = 0;
  for (const auto link : cluster.route(7, 0)) latency += cluster.link(link).latency.value();
  EXPECT_NEAR(latency, pcie_latency, 1e-15);
}

// A NIC hangs below the lowest switch that all its chips are below, and their ports lead to it: with eight NICs or four
// that is the PCIe switch, with two the CPU, with one what joins the CPUs.
TEST(PcieNode, NicsHangWhereTheirChipsMeet) {
  const auto way_out = [](int nics) {
    return names(build_cluster(nodes(2, pcie_node(nics))), 2, 8);  // to chip 0 of the other node
  };
  EXPECT_THAT(way_out(8), testing::ElementsAre("chip(0,2)>pcie(0,0,1)", "pcie(0,0,1)>nic(0,2)", "nic(0,2)>crossbar",
                                               "crossbar>nic(1,0)", "nic(1,0)>pcie(1,0,0)", "pcie(1,0,0)>chip(1,0)"));
  EXPECT_THAT(way_out(4)[1], "pcie(0,0,1)>nic(0,1)");
  EXPECT_THAT(way_out(2), testing::IsSupersetOf({"pcie(0,0,1)>pcie(0,1,0)", "pcie(0,1,0)>nic(0,0)"}));
  EXPECT_THAT(way_out(1), testing::IsSupersetOf({"pcie(0,1,0)>pcie(0,2,0)", "pcie(0,2,0)>nic(0,0)"}));
}

// A ring of neighbours crosses the link between CPUs once each way, so that link is its slowest: V 7/8 over 20 GB/s. In
// an all-to-all every chip sends V/64 to each other one: its port carries 7 of them, the uplink of a pair 2 x 6, the
// link between CPUs 4 x 4.
TEST(PcieNode, SharedUplinksDecide) {
  const NetworkCase alone(nodes(1, pcie_node()), "local");
  expect_time(alone, Kind::all_gather, "ring", v * 7 / 8 / between + 7 * pcie_latency);
  expect_time(alone, Kind::all_to_all, "direct", v * 16 / 64 / between + pcie_latency);
  auto two_cpus = pcie_node();
  two_cpus.uplinks[1].link = BytesPerSecond(1e12);
  const NetworkCase fast(nodes(1, two_cpus), "local");
  expect_time(fast, Kind::all_to_all, "direct", v * 12 / 64 / uplink + pcie_latency);
}

// Without uplinks all chips hang on one switch without limits, as on NVLink: the same times to the last bit.
TEST(PcieNode, WithoutUplinksItIsASwitch) {
  auto flat = pcie_node();
  flat.uplinks.clear();
  auto joined = flat;
  joined.scale_up = topologies::NodeSpec::ScaleUp::network_switch;
  const NetworkCase pcie(nodes(1, flat), "local"), by_switch(nodes(1, joined), "local");
  for (const auto kind : {Kind::all_gather, Kind::all_reduce, Kind::all_to_all})
    EXPECT_EQ(pcie.network().cost(kind, size), by_switch.network().cost(kind, size));
}

// Two nodes of one NIC: the ring leaves each node once, over the link between its CPUs, which the ring inside the node
// passes too. All of V (N-1)/N crosses that link and the NIC of 12.5 GB/s, which is slower.
TEST(PcieNode, NodesOnANetwork) {
  const NetworkCase two(nodes(2, pcie_node(1)), "all");
  const auto choice = two.network().choose(Kind::all_gather, size, "ring");
  EXPECT_GE(choice.cost.value(), v * 15 / 16 / 12.5e9);
  EXPECT_NEAR(two.simulated(choice), choice.cost.value(), 1e-9);
}

// Pairs below a switch, and fours below a CPU, may change places: blocks of 1, 2, 4 and 8 chips.
TEST(PcieNode, SymmetryHasItsSwitches) {
  const topologies::ClusterSymmetry symmetry(build_cluster(nodes(4, pcie_node(4))));
  EXPECT_THAT(symmetry.blocks(1), testing::ElementsAre(1, 2, 4, 8));
}

TEST(PcieNode, APartKeepsTheUplinksThatItHas) {
  const auto part = part_of(pcie_node(), 4);
  EXPECT_EQ(part.chips, 4);
  EXPECT_EQ(part.nics, 4);
  EXPECT_EQ(part.uplinks, (std::vector<topologies::SharedUplink>{{2, BytesPerSecond(uplink)}}));
}

TEST(PcieNode, ImpossibleUplinksAreRefused) {
  const auto refused = [](std::vector<topologies::SharedUplink> uplinks) {
    auto made = pcie_node();
    made.uplinks = std::move(uplinks);
    std::string text;
    for (const auto& problem : why_not_a_cluster(nodes(1, made)))
      text += problem.key + ": " + problem.what + "; expected " + problem.expected + '\n';
    return text;
  };
  const BytesPerSecond rate(uplink);
  EXPECT_EQ(refused({{2, rate}, {4, rate}}), "");
  EXPECT_EQ(refused({{3, rate}}),
            "node.scale_up.uplinks[0].chips: 3 chips of a node of 8; expected a divisor of 8 that is less\n");
  EXPECT_EQ(refused({{8, rate}}),
            "node.scale_up.uplinks[0].chips: 8 chips of a node of 8; expected a divisor of 8 that is less\n");
  EXPECT_EQ(refused({{4, rate}, {2, rate}}),
            "node.scale_up.uplinks[1].chips: 2 chips of a node of 8; expected a divisor of 8 that is a multiple of the "
            "4 of the uplink below\n");
  EXPECT_EQ(refused({{0, rate}}),
            "node.scale_up.uplinks[0].chips: 0 chips of a node of 8; expected a divisor of 8 that is less\n");
  EXPECT_THAT(refused({{2, BytesPerSecond(0)}}), testing::HasSubstr("node.scale_up.uplinks[0].link: the bandwidth"));
}

// Neither more bytes nor more nodes nor a larger incast make a collective shorter, whichever algorithm serves it and
// however many chips share a NIC.
TEST(PcieNode, IncastNeverMakesACollectiveShorter) {
  const auto time = [](int nics, double incast, int count, Kind kind, const std::string& algorithm,
                       std::int64_t bytes) {
    const NetworkCase groups(nodes(count, pcie_node(nics), congested(incast, 0)), "all");
    const std::int64_t arrays = kind == Kind::all_to_all ? 8 * count : 1;  // each rank sends so many bytes
    return groups.network().choose(kind, Bytes(arrays * bytes), algorithm).cost.value();
  };
  const double rounding = 1 + 1e-9;
  for (const int nics : {1, 2, 8}) {
    for (const auto kind : {Kind::all_to_all, Kind::all_gather, Kind::reduce_scatter, Kind::all_reduce}) {
      const NetworkCase groups(nodes(3, pcie_node(nics), congested(0.3, 0)), "all");
      std::vector<std::string> algorithms;
      for (const auto& choice : groups.network().choices(kind, size)) algorithms.emplace_back(choice.algorithm->name());
      ASSERT_GE(algorithms.size(), 2u);
      for (const auto& algorithm : algorithms) {
        SCOPED_TRACE(algorithm + " over " + std::to_string(nics) + " NICs");
        double before = 0;
        for (const std::int64_t bytes : {1'000, 100'000, 300'000, 10'000'000, 1'000'000'000}) {
          const double now = time(nics, 0.3, 5, kind, algorithm, bytes);
          EXPECT_GE(now * rounding, before) << bytes;
          before = now;
        }
        before = 0;
        for (const int count : {2, 3, 4, 5, 8, 9, 16}) {
          const double now = time(nics, 0.3, count, kind, algorithm, 10'000'000);
          EXPECT_GE(now * rounding, before) << count;
          before = now;
        }
        before = 0;
        for (const double incast : {0.0, 0.1, 0.3, 2.0}) {
          const double now = time(nics, incast, 5, kind, algorithm, 10'000'000);
          EXPECT_GE(now * rounding, before) << incast;
          before = now;
        }
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::test
