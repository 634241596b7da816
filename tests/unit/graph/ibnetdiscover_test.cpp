#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/graph/network_files.hpp"
#include "topologies/graph/network_levels.hpp"

namespace lockstep::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

/// A text with every occurrence of one part replaced.
std::string replaced(std::string text, const std::string& part, const std::string& by) {
  std::size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  for (; at != std::string::npos; at = text.find(part, at + by.size())) text.replace(at, part.size(), by);
  return text;
}

// The file by hand: two adapters of gpu-1 on leaf # 1, gpu-2 on both leaves, two nameless adapters of one system GUID;
// leaf # 1 has two cables to the core, leaf-2 one; the aggregation node is no host. 4xNDR is 4 x 100 Gb/s, 4xHDR 4 x
// 50, 4xFDR10 4 x 10, 4xXDR 4 x 200.
TEST(Ibnetdiscover, HostsCablesAndRates) {
  const auto import = import_file("small.ibnetdiscover");
  EXPECT_EQ(import.format, "ibnetdiscover");
  EXPECT_THAT(
      cables_of(import.graph),
      ElementsAre("gpu-1:mlx5_0 1x leaf # 1 400 Gb/s 4xNDR", "gpu-1:mlx5_1 1x leaf # 1 400 Gb/s 4xNDR",
                  "gpu-2:mlx5_0 1x leaf # 1 400 Gb/s 4xNDR", "gpu-2:mlx5_1 1x MF0;leaf-2:MQM9701/U1 400 Gb/s 4xNDR",
                  "unnamed-a0000000000000ff:nic0 1x MF0;leaf-2:MQM9701/U1 200 Gb/s 4xHDR",
                  "unnamed-a0000000000000ff:nic1 1x MF0;leaf-2:MQM9701/U1 40 Gb/s 4xFDR10",
                  "leaf # 1 2x core 800 Gb/s 4xXDR", "MF0;leaf-2:MQM9701/U1 1x core 800 Gb/s 4xXDR"));
  EXPECT_THAT(import.notes, ElementsAre(HasSubstr("1 aggregation node"), HasSubstr("2 adapters name no host")));
}

// ibsim's nets have names in place of GUIDs and no descriptions: two adapters of two ports, two cables between
// switches.
TEST(Ibnetdiscover, ReadsNetsOfIbsim) {
  const auto import = import_file("ibsim.net");
  EXPECT_THAT(cables_of(import.graph),
              ElementsAre("Hca1:port1 1x Switch1", "Hca1:port2 1x Switch1", "Hca2:port1 1x Switch2",
                          "Hca2:port2 1x Switch2", "Switch1 2x Switch2"));
}

// Switches whose descriptions are the same are told apart by their GUID.
TEST(Ibnetdiscover, SwitchesOfOneDescription) {
  const auto import = import_text(replaced(leaf_spine_dump(2, 1, 1, 1), "leaf-1", "leaf-0"));
  std::vector<std::string> names;
  for (const auto& one : import.graph.switches) names.push_back(one.name);
  EXPECT_THAT(names, UnorderedElementsAre("leaf-0 (S-0000000000000000)", "leaf-0 (S-0000000000000001)", "spine-0"));
}

// Two machines that both call themselves localhost, with an mlx5_0 each: their system GUIDs part them. Descriptions
// without an adapter give hosts by the name alone.
TEST(Ibnetdiscover, MachinesOfOneName) {
  auto dump = replaced(leaf_spine_dump(1, 3, 1, 1), "gpu-1 ", "localhost ");
  dump = replaced(replaced(dump, "gpu-0 ", "localhost "), "gpu-2 mlx5_0", "gpu-2");
  const auto import = import_text(dump);
  std::vector<std::string> names;
  for (const auto& host : import.graph.hosts) names.push_back(host.name);
  EXPECT_THAT(names, ElementsAre("gpu-2", "localhost-0000000000000000", "localhost-0000000000000001"));
  EXPECT_THAT(import.notes, testing::Contains(HasSubstr("call themselves 'localhost'")));
}

// Which descriptions name a host: two words of which the first is no maker or model, more if the last has a number,
// one.
TEST(Ibnetdiscover, NamesInDescriptions) {
  const auto hosts_of = [](const std::string& description) {
    const auto import = import_text(replaced(leaf_spine_dump(1, 1, 1, 1), "gpu-0 mlx5_0", description));
    const auto& host = import.graph.hosts.front();
    return host.name + ":" + host.adapters.front();
  };
  EXPECT_EQ(hosts_of("node1 HCA"), "node1:HCA");
  EXPECT_EQ(hosts_of("node1"), "node1:nic0");
  EXPECT_EQ(hosts_of("rack 7 node 1 mlx5_2"), "rack 7 node 1:mlx5_2");
  EXPECT_EQ(hosts_of("MT25408 ConnectX Mellanox Technologies"), "unnamed-0000000000000000:nic0");
  EXPECT_EQ(hosts_of("Mellanox HCA"), "unnamed-0000000000000000:nic0");
  EXPECT_EQ(hosts_of("Some maker of adapters"), "unnamed-0000000000000000:nic0");
}

// The shape of a real fabric: 31 leaves of 18 hosts with two cables to each of 9 spines are 558 + 31 x 18 cables, and
// every leaf has as many down as up.
TEST(Ibnetdiscover, LargeFabric) {
  const auto import = import_text(leaf_spine_dump(31, 18, 9, 2));
  EXPECT_EQ(import.graph.hosts.count(), 558);
  EXPECT_EQ(count_cables(import.graph), 558 + 558);
  const auto levels = network_levels(import.graph);
  for (const auto id : import.graph.switches.ids()) {
    const bool is_leaf = import.graph.switches[id].name.starts_with("leaf");
    EXPECT_EQ(levels.level[id], is_leaf ? 1 : 2);
    if (is_leaf) {
      EXPECT_EQ(levels.cables[id].ratio(), 1.0);
    }
  }
}

class IbnetdiscoverProblems : public testing::Test {
 protected:
  const std::string good = leaf_spine_dump(2, 1, 1, 1);
};

// A dump that ends in the middle: cables lead to records that are not there.
TEST_F(IbnetdiscoverProblems, CutOff) {
  const auto cut = good.substr(0, good.find("Ca\t1"));
  EXPECT_THAT(refusals(cut), ElementsAre("net:4:1: no record of H-0000000000000000, H-0000000000000002, "
                                         "H-0000000000000001 and 2 more, to which cables lead; expected a whole dump; "
                                         "this one seems to be cut off"));
  const auto in_a_line = good.substr(0, good.find("\"[1]"));
  EXPECT_THAT(refusals(in_a_line),
              ElementsAre("net:4:5: the line of a port cannot be read; expected a line such as [1] "
                          "\"S-0002c902400f1e2c\"[5] # \"leaf1\" lid 4 4xNDR"));
}

// Wherever a dump is cut, that is one mistake: a line is incomplete, records are missing, or the last one lacks cables.
// Without its last line's end it is whole.
TEST_F(IbnetdiscoverProblems, CutAnywhere) {
  std::string dump = good;
  while (dump.ends_with("\n\n")) dump.pop_back();
  for (std::size_t size = dump.find("Switch") + 8; size < dump.size() - 1; ++size)
    EXPECT_THAT(refusals(dump.substr(0, size)), testing::SizeIs(1)) << dump.substr(0, size);
  EXPECT_THAT(refusals(dump.substr(0, dump.size() - 1)), ElementsAre());
  const std::string lost = dump.substr(0, dump.rfind('[', dump.rfind('[') - 1));  // the only port of the last record
  EXPECT_THAT(refusals(lost), ElementsAre(HasSubstr("lacks 1 cable that others have to it; expected a whole dump")));
}

// A speed that nobody knows is one mistake, though each end of each cable has it.
TEST_F(IbnetdiscoverProblems, UnknownRate) {
  EXPECT_THAT(refusals(replaced(good, "4xNDR", "4xQQQ")),
              ElementsAre(HasSubstr("'4xQQQ' is no known speed; expected 1 to 12 lanes of one of SDR, DDR")));
  EXPECT_THAT(refusals(replaced(good, "4xNDR", "13xNDR")), ElementsAre(HasSubstr("'13xNDR' is no known speed")));
}

// Each cable has a line at each of its ends; here the host's says another port, or another speed.
TEST_F(IbnetdiscoverProblems, EndsThatDisagree) {
  const auto host = good.find("Ca\t1");
  auto other = good;
  other.replace(other.find("\"[1]", host), 4, "\"[2]");
  EXPECT_THAT(refusals(other), ElementsAre(HasSubstr("leads elsewhere at its other end")));
  other = good;
  other.replace(other.find("4xNDR", host), 5, "4xHDR");
  EXPECT_THAT(refusals(other), ElementsAre(HasSubstr("has the speed 4xNDR here and the speed 4xHDR in line ")));
}

TEST_F(IbnetdiscoverProblems, PortsAndRecordsTwice) {
  auto twice = good;
  twice.insert(twice.find("[2]"), "[1]\t\"S-0000000000000002\"[1]\t# \"x\" lid 1 4xNDR\n");
  EXPECT_THAT(refusals(twice), testing::Contains(HasSubstr("'S-0000000000000000' port 1 appears twice")));
  EXPECT_THAT(refusals(good + good), testing::Contains(HasSubstr("the record of 'S-0000000000000000' appears twice")));
}

// A cable from a switch to itself; the dump says the same at both ends.
TEST_F(IbnetdiscoverProblems, CableBetweenTwoPortsOfOneSwitch) {
  auto loop = good;
  loop.insert(loop.find("[2]"),
              "[7]\t\"S-0000000000000000\"[8]\t# \"x\" lid 1 4xNDR\n"
              "[8]\t\"S-0000000000000000\"[7]\t# \"x\" lid 1 4xNDR\n");
  EXPECT_THAT(refusals(loop), ElementsAre("net:5:1: a cable joins two ports of 'leaf-0'; expected a cable between two "
                                          "switches, or a host and a switch"));
}

// A record alone, as it is left of a dump on a machine without a link.
TEST_F(IbnetdiscoverProblems, HostWithoutACable) {
  EXPECT_THAT(
      refusals("sysimgguid=0x1\nCa\t1 \"H-1\"\t# \"node-1 mlx5_0\"\n"),
      ElementsAre("net: 1 host without a cable: node-1; expected a cable of every host; the file may be cut off"));
}

TEST_F(IbnetdiscoverProblems, OtherOutput) {
  EXPECT_THAT(refusals("SW     1  1 0x0002c902400f1e2c 4x NDR - CA 1 1 0x0002c902400f1e2d ( 'leaf' - 'host' )\n"),
              ElementsAre("net:1:1: is the output of ibnetdiscover -p; expected that of ibnetdiscover without -p"));
  EXPECT_THAT(refusals(good + "Segmentation fault\n"), testing::Contains(HasSubstr("is no line of a dump")));
}

}  // namespace
}  // namespace lockstep::test
