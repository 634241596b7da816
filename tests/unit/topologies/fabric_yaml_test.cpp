#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/source_dir.hpp"
#include "tests/unit/topologies/small_fabric.hpp"

namespace lockstep {
namespace {

using testing::HasSubstr;

const std::filesystem::path catalog = std::string(source_dir) + "/topologies/catalog";

std::vector<std::string> texts(const Problems& problems) {
  std::vector<std::string> texts;
  for (const Problem& problem : problems.list()) texts.push_back(problem.to_string());
  return texts;
}

struct NodeReading {
  topologies::NodeSpec node;
  std::vector<std::string> problems;
};
NodeReading node_from(const std::string& yaml) {
  Problems problems;
  NodeReading reading{topologies::read_node(YamlView::from_text(yaml, "node.yaml", problems), "mine", catalog), {}};
  reading.problems = texts(problems);
  return reading;
}

struct FabricReading {
  topologies::FabricSpec fabric;
  std::vector<std::string> problems;
};
FabricReading fabric_from(const std::string& yaml, const topologies::FabricSpec* base = nullptr) {
  Problems problems;
  FabricReading reading{read_fabric(YamlView::from_text(yaml, "fabric.yaml", problems), "mine", base), {}};
  reading.problems = texts(problems);
  return reading;
}

TEST(NodeYaml, AllValuesArrive) {
  const NodeReading reading = node_from(
      "chip: h100\nchips: 8\nscale_up: {kind: switch, link: 450 GB/s, efficiency: 0.8, latency: 2 us, "
      "in_network_reduction: 0.7}\n"
      "nics: {count: 4, rate: 400 Gbps, pcie: 63 GB/s}\n"
      "protocols: [{name: LL, efficiency: 0.25, launch: 5 us, local_step: 1 us, remote_step: 3 us}]\nfabric: "
      "crossbar\nsources: [a sheet]\n");
  EXPECT_THAT(reading.problems, testing::IsEmpty());
  const topologies::NodeSpec& node = reading.node;
  EXPECT_EQ(node.name, "mine");
  EXPECT_EQ(node.chip.name, "h100");
  EXPECT_EQ(node.chips, 8);
  EXPECT_EQ(node.scale_up, topologies::NodeSpec::ScaleUp::network_switch);
  EXPECT_EQ(node.scale_up_link, BytesPerSecond(450e9));
  EXPECT_EQ(node.scale_up_efficiency, 0.8);
  EXPECT_EQ(node.scale_up_latency, Seconds(2e-6));
  EXPECT_TRUE(node.in_network_reduction);
  EXPECT_EQ(node.in_network_efficiency, 0.7);
  EXPECT_EQ(node.nics, 4);
  EXPECT_EQ(node.nic, BytesPerSecond(50e9));  // 400e9 bit/s / 8
  EXPECT_EQ(node.pcie, BytesPerSecond(63e9));
  ASSERT_EQ(node.protocols.size(), 1u);
  EXPECT_EQ(node.protocols[0].name, "LL");
  EXPECT_EQ(node.protocols[0].efficiency, 0.25);
  EXPECT_EQ(node.protocols[0].launch, Seconds(5e-6));
  EXPECT_EQ(node.protocols[0].local_step, Seconds(1e-6));
  EXPECT_EQ(node.protocols[0].remote_step, Seconds(3e-6));
  EXPECT_EQ(node.fabric, "crossbar");
}

// A part of a node keeps its NICs in proportion: 2 of the 8 GPUs of a DGX A100 use 2 of its 8 NICs, 64 of 72 use 64.
TEST(NodeYaml, ABlockLikeAnotherNodeSaysWhatDiffers) {
  const NodeReading part = node_from("like: dgx-a100\nchips: 2\n");
  EXPECT_THAT(part.problems, testing::IsEmpty());
  EXPECT_EQ(part.node.chip.name, "a100");
  EXPECT_EQ(part.node.chips, 2);
  EXPECT_EQ(part.node.nics, 2);
  EXPECT_EQ(part.node.scale_up_link, BytesPerSecond(300e9));
  EXPECT_EQ(node_from("like: gb200-nvl72\nchips: 64\n").node.nics, 64);
  EXPECT_EQ(node_from("like: a3-high-h100\nchips: 1\n").node.nics, 1);
  const NodeReading changed = node_from(
      "like: dgx-a100\nchip: {like: a100, memory: 40 GB}\nnics: {count: 4, rate: 200 Gbps, pcie: 31.5 GB/s}\n");
  EXPECT_THAT(changed.problems, testing::IsEmpty());
  EXPECT_EQ(changed.node.chip.memory, Bytes(40'000'000'000));
  EXPECT_EQ(changed.node.nics, 4);
  EXPECT_EQ(changed.node.chips, 8);
  EXPECT_THAT(node_from("like: dgx-a1000\n").problems,
              testing::ElementsAre(HasSubstr("node.yaml:1:7: like: there is no node `dgx-a1000`")));
}

// What a library has, and what starting on the network takes it, are optional; sim/scenario refuses unknown algorithms.
TEST(NodeYaml, LibraryOfANode) {
  const std::string node =
      "chip: h100\nchips: 8\nscale_up: {kind: switch, link: 450 GB/s, latency: 2 us}\n"
      "nics: {count: 8, rate: 400 Gbps, pcie: 63 GB/s}\n"
      "protocols: [{name: LL, efficiency: 0.25, launch: 5 us, local_step: 1 us, remote_step: 3 us, remote_launch: 9 "
      "us}]\n";
  const NodeReading reading = node_from(node + "algorithms: [ring, in-network tree]\n");
  EXPECT_THAT(reading.problems, testing::IsEmpty());
  EXPECT_THAT(reading.node.algorithms, testing::ElementsAre("ring", "in-network tree"));
  ASSERT_EQ(reading.node.protocols.size(), 1u);
  EXPECT_EQ(reading.node.protocols[0].remote_launch, Seconds(9e-6));
  EXPECT_THAT(node_from(node).node.algorithms, testing::IsEmpty());
}

TEST(NodeYaml, AllProblemsAreFoundAtOnceWithTheirPlaces) {
  EXPECT_THAT(
      node_from("chip: h1000\nchips: 8\nscale_up: {kind: mush, link: 450, latency: 2 us, in_network_reduction: 2}\n"
                "nics: {count: 3, rate: 400 Gbps}\nprotocols: [{name: LL}]\nfabrik: x\n")
          .problems,
      testing::UnorderedElementsAre(HasSubstr("node.yaml:1:7: chip: there is no chip `h1000`; did you mean `h100`"),
                                    HasSubstr("scale_up.kind: `mush`"), HasSubstr("scale_up.link"),
                                    HasSubstr("scale_up.in_network_reduction: `2` is too large"),
                                    HasSubstr("nics.count: 3 NICs do not divide 8 chips"),
                                    HasSubstr("nics.pcie: missing"), HasSubstr("protocols[0].efficiency: missing"),
                                    HasSubstr("protocols[0].launch: missing"),
                                    HasSubstr("protocols[0].local_step: missing"),
                                    HasSubstr("protocols[0].remote_step: missing"), HasSubstr("fabrik: unknown key")));
  EXPECT_THAT(node_from("just a word\n").problems, testing::SizeIs(1));
  EXPECT_THAT(node_from("chip: [h100]\nchips: 8\nscale_up: {kind: mesh, link: 1 GB/s, latency: 0 s, "
                        "in_network_reduction: 1}\nnics: {count: 8, rate: 1 GB/s, pcie: 1 GB/s}\n")
                  .problems,
              testing::UnorderedElementsAre(HasSubstr("chip: is not a name"),
                                            HasSubstr("scale_up.in_network_reduction: a mesh has no switch")));
}

TEST(FabricYaml, AllValuesArrive) {
  const FabricReading reading = fabric_from(
      "kind: rail_optimised\nrouting: ecmp\nseed: 9\nlink: 100 GB/s\nefficiency: 0.9\nnic_latency: 3 "
      "us\nswitch_latency: 0 s\nradix: 40\n"
      "oversubscription: [2, 4]\nnodes_per_scalable_unit: 20\nin_network_reduction: true\n");
  EXPECT_THAT(reading.problems, testing::IsEmpty());
  const topologies::FabricSpec& fabric = reading.fabric;
  EXPECT_EQ(name(fabric.kind), "rail_optimised");
  EXPECT_EQ(fabric.routing, topologies::FabricRouting::ecmp);
  EXPECT_EQ(fabric.seed, 9u);
  EXPECT_EQ(fabric.link, BytesPerSecond(100e9));
  EXPECT_EQ(fabric.efficiency, 0.9);
  EXPECT_EQ(fabric.nic_latency, Seconds(3e-6));
  EXPECT_EQ(fabric.switch_latency, Seconds(0));
  EXPECT_EQ(fabric.radix, 40);
  EXPECT_THAT(fabric.oversubscription, testing::ElementsAre(2, 4));
  EXPECT_EQ(std::get<topologies::RailOptimised>(fabric.kind).nodes_per_scalable_unit, 20);
  EXPECT_TRUE(fabric.in_network_reduction);
  const topologies::FabricSpec groups =
      fabric_from("kind: dragonfly\nrouters_per_group: 4\nnics_per_router: 3\nglobal_links_per_router: 2\n").fabric;
  const auto& dragonfly = std::get<topologies::Dragonfly>(groups.kind);
  EXPECT_EQ(dragonfly.routers_per_group, 4);
  EXPECT_EQ(dragonfly.nics_per_router, 3);
  EXPECT_EQ(dragonfly.global_links_per_router, 2);
}

TEST(FabricYaml, WrongValuesAreProblemsWithTheirPlaces) {
  EXPECT_THAT(
      fabric_from("radix: 1\noversubscription: 0.5\nefficiency: 0\nrouting: sprey\nlink: 0 GB/s\nrail: 8\n").problems,
      testing::UnorderedElementsAre(HasSubstr("kind: missing"), HasSubstr("fabric.yaml:1:8: radix: `1` is too small"),
                                    HasSubstr("fabric.yaml:2:19: oversubscription: `0.5` is too small"),
                                    HasSubstr("efficiency: `0` is too small"), HasSubstr("did you mean `spray`"),
                                    HasSubstr("link: `0 GB/s` is zero"), HasSubstr("rail: unknown key")));
  EXPECT_THAT(fabric_from("kind: fat_tree\noversubscription: [1, 0, 1]\n").problems,
              testing::UnorderedElementsAre(HasSubstr("oversubscription[1]: `0` is too small"),
                                            HasSubstr("oversubscription: has 3 tiers")));
}

/// A list of ports goes on with the tiers above the leaves; one number is that of all again. `tiers` bounds the ratios.
TEST(FabricYaml, TiersAndRails) {
  const FabricReading reading = fabric_from(
      "kind: rail_optimised\nradix: [32, 220, 8]\ntiers: 4\noversubscription: [1, 7, 2]\nrails: separate\n");
  EXPECT_THAT(reading.problems, testing::IsEmpty());
  EXPECT_EQ(reading.fabric.radix, 32);
  EXPECT_THAT(reading.fabric.radix_above, testing::ElementsAre(220, 8));
  EXPECT_EQ(reading.fabric.tiers, 4);
  EXPECT_THAT(reading.fabric.oversubscription, testing::ElementsAre(1, 7, 2));
  EXPECT_EQ(std::get<topologies::RailOptimised>(reading.fabric.kind).rails, topologies::RailOptimised::Rails::separate);
  const FabricReading same = fabric_from("radix: 40\n", &reading.fabric);
  EXPECT_EQ(same.fabric.radix, 40);
  EXPECT_THAT(same.fabric.radix_above, testing::IsEmpty());
  EXPECT_THAT(fabric_from("kind: fat_tree\nradix: [64, 1]\ntiers: 6\nrails: apart\n").problems,
              testing::UnorderedElementsAre(HasSubstr("radix[1]: `1` is too small"), HasSubstr("tiers: `6`"),
                                            HasSubstr("rails: `apart`")));
}

/// What a view does not say is as in the fabric that it starts from.
TEST(FabricYaml, CanChangeAnother) {
  const topologies::FabricSpec base = fabric_from("kind: fat_tree\nradix: 40\nlink: 25 GB/s\n").fabric;
  const FabricReading changed = fabric_from("oversubscription: 4\n", &base);
  EXPECT_THAT(changed.problems, testing::IsEmpty());
  EXPECT_EQ(name(changed.fabric.kind), "fat_tree");
  EXPECT_EQ(changed.fabric.radix, 40);
  EXPECT_EQ(changed.fabric.link, BytesPerSecond(25e9));
  EXPECT_THAT(changed.fabric.oversubscription, testing::ElementsAre(4));
}

/// A change of kind keeps what both kinds have; the keys of a kind that is not chosen are read and have no effect.
TEST(FabricYaml, AnotherKindCanBeChosen) {
  const topologies::FabricSpec base =
      fabric_from("kind: rail_optimised\nradix: 40\nnodes_per_scalable_unit: 20\n").fabric;
  const FabricReading same = fabric_from("kind: rail_optimised\n", &base);
  EXPECT_EQ(std::get<topologies::RailOptimised>(same.fabric.kind).nodes_per_scalable_unit, 20);
  const FabricReading tree = fabric_from("kind: fat_tree\nnodes_per_scalable_unit: 5\nnics_per_router: 3\n", &base);
  EXPECT_THAT(tree.problems, testing::IsEmpty());
  EXPECT_TRUE(std::holds_alternative<topologies::FatTree>(tree.fabric.kind));
  EXPECT_EQ(tree.fabric.radix, 40);
  EXPECT_THAT(fabric_from("kind: fat_tree\nnics_per_router: 0\n").problems,
              testing::ElementsAre(HasSubstr("nics_per_router: `0` is too small")));
}

/// The table of kinds in the docs has every kind's row, and no other.
TEST(FabricKinds, AreThoseOfTheDocs) {
  std::ifstream file(std::string(source_dir) + "/docs/models/network.md");
  std::vector<std::string> rows;
  for (std::string line; std::getline(file, line);) {
    if (line == "| kind | switches |") {
      std::getline(file, line);  // |---|---|
      while (std::getline(file, line) && line.starts_with("| ")) rows.push_back(line);
    }
  }
  std::vector<std::string> expected;
  for (const topologies::FabricKind& kind : topologies::fabric_kinds())
    expected.push_back("| `" + std::string(name(kind)) + "` | " + std::string(about(kind)) + " |");
  EXPECT_EQ(rows, expected);
}

/// Every node of the catalog builds on its usual fabric, alone and as four, has sources, and reaches the scale-up rate
/// of its chip: one port of a switch, or its links to all others of a mesh.
TEST(FabricCatalog, EveryNodeBuildsOnItsFabric) {
  ASSERT_GE(topologies::node_names(catalog).size(), 12u);
  for (const std::string& name : topologies::node_names(catalog)) {
    Problems problems;
    const topologies::NodeSpec node = topologies::load_node(catalog, name, problems);
    const topologies::FabricSpec fabric = topologies::load_fabric(catalog, node.fabric, problems);
    ASSERT_THAT(texts(problems), testing::IsEmpty()) << name;
    EXPECT_FALSE(node.sources.empty()) << name;
    EXPECT_EQ(node.name, name);
    if (node.scale_up == topologies::NodeSpec::ScaleUp::pcie) {
      EXPECT_EQ(node.scale_up_link, node.chip.pcie) << name;
      continue;
    }
    EXPECT_LE(node.chips, node.chip.scale_up_domain) << name;
    const int links = node.scale_up == topologies::NodeSpec::ScaleUp::network_switch ? 1 : node.chips - 1;
    EXPECT_DOUBLE_EQ(links * node.scale_up_link.value(), node.chip.scale_up->value()) << name;
    for (const int units : {1, 4, 100}) {
      ASSERT_TRUE(why_not_a_cluster(test::nodes(units, fabric, node)).empty()) << name;
      EXPECT_EQ(build_cluster(test::nodes(units, fabric, node)).devices(), units * node.chips);
    }
  }
}

TEST(FabricCatalog, EveryFabricHasSources) {
  ASSERT_GE(topologies::fabric_names(catalog).size(), 7u);
  for (const std::string& name : topologies::fabric_names(catalog)) {
    Problems problems;
    EXPECT_FALSE(topologies::load_fabric(catalog, name, problems).sources.empty()) << name;
    EXPECT_TRUE(problems.empty()) << name;
  }
}

/// The network's bandwidth out of a DGX H100, all NICs: the chip's own data-sheet entry (8 x 400 Gbps).
TEST(FabricCatalog, DgxNicsAddUpToTheChipsEntry) {
  for (const std::string name : {"dgx-h100", "dgx-h200", "dgx-b200", "hgx-h800"}) {
    Problems problems;
    const topologies::NodeSpec node = topologies::load_node(catalog, name, problems);
    if (node.chip.dcn_per_host) {
      EXPECT_DOUBLE_EQ(node.nics * node.nic.value(), node.chip.dcn_per_host->value()) << name;
    }
  }
}

TEST(FabricCatalog, AChipStandsForItsUsualNode) {
  Problems problems;
  for (const auto& [chip, node] : std::vector<std::pair<std::string, std::string>>{
           {"h100", "dgx-h100"}, {"gb200", "gb200-nvl72"}, {"mi300x", "mi300x"}}) {
    const topologies::NodeSpec loaded = topologies::load_node(catalog, chip, problems);
    EXPECT_EQ(loaded.name, node);
    EXPECT_EQ(loaded.chip.name, chip);
  }
  EXPECT_TRUE(problems.empty());
  static_cast<void>(topologies::load_node(catalog, "dgx-h10", problems));
  static_cast<void>(topologies::load_fabric(catalog, "eva", problems));
  EXPECT_THAT(texts(problems), testing::ElementsAre(HasSubstr("there is no node `dgx-h10`; did you mean `dgx-h100`"),
                                                    HasSubstr("there is no fabric `eva`; did you mean `efa`")));
}

/// Three tiers of 64 ports join 64^3 / 4 = 65,536 NICs: of 8,192 nodes in one tree, of 65,536 with a tree for each
/// rail.
TEST(FabricCatalog, TheUsualFabricReachesHalfAMillionH100s) {
  Problems problems;
  const topologies::NodeSpec node = topologies::load_node(catalog, "h100", problems);
  const topologies::FabricSpec fabric = topologies::load_fabric(catalog, node.fabric, problems);
  EXPECT_TRUE(why_not_a_cluster(test::nodes(2048, fabric, node)).empty());
  EXPECT_TRUE(why_not_a_cluster(test::nodes(65536, fabric, node)).empty());
  EXPECT_FALSE(why_not_a_cluster(test::nodes(65537, fabric, node)).empty());
  topologies::FabricSpec joined = fabric;
  std::get<topologies::RailOptimised>(joined.kind).rails = topologies::RailOptimised::Rails::joined;
  EXPECT_TRUE(why_not_a_cluster(test::nodes(8192, joined, node)).empty());
  EXPECT_FALSE(why_not_a_cluster(test::nodes(8193, joined, node)).empty());
}

}  // namespace
}  // namespace lockstep
