// What nodes of several kinds have in common: of every rate the least, of every latency the largest, of protocols the
// slowest by name, of algorithms those that all have; the NIC and the usual network are of the node with the fastest.
#include <gmock/gmock.h>

#include <random>

#include "tests/unit/topologies/small_fabric.hpp"
#include "topologies/cluster/least_capacity.hpp"

namespace lockstep::test {
namespace {

using topologies::ClusterSpec;
using topologies::common_node;
using topologies::NodeGroup;
using topologies::NodeSpec;
using topologies::Protocol;

NodeSpec random_node(std::mt19937& random) {
  const auto from = [&](std::vector<double> values) { return values[random() % values.size()]; };
  auto made = node(4, 2);
  made.scale_up_link = BytesPerSecond(from({100e9, 300e9, 450e9}));
  made.scale_up_efficiency = from({0.7, 0.8, 1});
  made.scale_up_latency = Seconds(from({1e-6, 2e-6}));
  made.in_network_reduction = random() % 2 == 0;
  made.in_network_efficiency = from({0.5, 0.9});
  made.nic = BytesPerSecond(from({25e9, 50e9}));
  made.fabric = made.nic.value() < 50e9 ? "slow-fabric" : "fast-fabric";
  made.pcie = BytesPerSecond(from({30e9, 60e9}));
  for (const auto* name : {"LL", "LL128", "Simple"}) {
    const Seconds time(from({1e-6, 5e-6, 9e-6}));
    made.protocols.push_back({name, from({0.25, 0.5, 1}), time, time, time, time});
  }
  made.algorithms = random() % 3 == 0 ? std::vector<std::string>{} : std::vector<std::string>{"ring", "tree"};
  if (random() % 3 == 0) made.algorithms = {"direct", "ring"};
  return made;
}

// Of one kind, or of equal kinds, it is that kind.
TEST(CommonNode, OfEqualKindsIsTheKind) {
  std::mt19937 random(1);
  const auto one = random_node(random);
  EXPECT_EQ(common_node({{one, 3}}), one);
  EXPECT_EQ(common_node({{one, 1}, {one, 2}, {one, 5}}), one);
}

// Least and largest over all, for 200 draws of two to four kinds. A library that starts on all of them is as slow as
// each: no field is better than that of any kind but the NIC's.
TEST(CommonNode, IsNoBetterThanAnyKind) {
  std::mt19937 random(2);
  for (int draw = 0; draw < 200; ++draw) {
    std::vector<NodeGroup> groups;
    for (std::size_t i = 0; i < 2 + random() % 3; ++i) groups.push_back({random_node(random), 1});
    const auto common = common_node(groups);
    double link = 1e15, efficiency = 1, latency = 0, nic = 0, pcie = 1e15, in_network = 1;
    bool reduces = true;
    for (const auto& [kind, units] : groups) {
      link = std::min(link, kind.scale_up_link.value());
      efficiency = std::min(efficiency, kind.scale_up_efficiency);
      latency = std::max(latency, kind.scale_up_latency.value());
      nic = std::max(nic, kind.nic.value());
      pcie = std::min(pcie, kind.pcie.value());
      in_network = std::min(in_network, kind.in_network_efficiency);
      reduces = reduces && kind.in_network_reduction;
    }
    EXPECT_EQ(common.scale_up_link.value(), link);
    EXPECT_EQ(common.scale_up_efficiency, efficiency);
    EXPECT_EQ(common.scale_up_latency.value(), latency);
    EXPECT_EQ(common.nic.value(), nic);
    EXPECT_EQ(common.fabric, nic < 50e9 ? "slow-fabric" : "fast-fabric");
    EXPECT_EQ(common.pcie.value(), pcie);
    EXPECT_EQ(common.in_network_efficiency, in_network);
    EXPECT_EQ(common.in_network_reduction, reduces);
  }
}

// Each of three protocols by itself, field by field; the order of the kinds changes nothing but the name.
TEST(CommonNode, ProtocolsAreTheSlowestByName) {
  std::mt19937 random(3);
  for (int draw = 0; draw < 100; ++draw) {
    const NodeGroup one{random_node(random), 1}, other{random_node(random), 1};
    auto common = common_node({one, other}), turned = common_node({other, one});
    ASSERT_EQ(common.protocols.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
      const auto &a = one.node.protocols[i], &b = other.node.protocols[i];
      EXPECT_EQ(common.protocols[i],
                (Protocol{a.name, std::min(a.efficiency, b.efficiency), std::max(a.launch, b.launch),
                          std::max(a.local_step, b.local_step), std::max(a.remote_step, b.remote_step),
                          std::max(a.remote_launch, b.remote_launch)}));
    }
    std::sort(common.algorithms.begin(), common.algorithms.end());
    std::sort(turned.algorithms.begin(), turned.algorithms.end());
    turned.name = common.name;
    EXPECT_EQ(common, turned);
  }
}

// {ring, tree} and {direct, ring} share the ring; an empty list has all. A protocol that one kind lacks is left out.
TEST(CommonNode, ListsAreWhatAllHave) {
  auto one = node(), other = node();
  one.algorithms = {"ring", "tree"};
  other.algorithms = {"direct", "ring"};
  one.protocols = {{"LL", 0.5, {}, {}, {}, {}}, {"Simple", 1, {}, {}, {}, {}}};
  other.protocols = {{"Simple", 0.9, {}, {}, {}, {}}};
  auto common = common_node({{one, 1}, {other, 1}});
  EXPECT_THAT(common.algorithms, testing::ElementsAre("ring"));
  ASSERT_EQ(common.protocols.size(), 1U);
  EXPECT_EQ(common.protocols[0].name, "Simple");
  EXPECT_EQ(common.protocols[0].efficiency, 0.9);
  other.algorithms = {};
  other.protocols = {};
  common = common_node({{one, 1}, {other, 1}});
  EXPECT_EQ(common.algorithms, one.algorithms);
  EXPECT_EQ(common.protocols, one.protocols);
}

// A step has to fit into the smallest chip of several kinds: 79 GB of 80 that driver and libraries leave, and 64 GB.
TEST(LeastCapacity, IsThatOfTheSmallestKindOfChip) {
  NodeSpec large, small;
  large.chip.name = "large";
  large.chip.memory = Bytes(80'000'000'000);
  large.chip.usable_memory = Bytes(79'000'000'000);
  small.chip.name = "small";
  small.chip.memory = Bytes(64'000'000'000);
  ClusterSpec cluster;
  cluster.unit = large;
  EXPECT_EQ(least_capacity(cluster), Bytes(79'000'000'000));
  cluster.groups = {{large, 1}, {small, 1}};
  EXPECT_EQ(least_capacity(cluster), Bytes(64'000'000'000));
}

}  // namespace
}  // namespace lockstep::test
