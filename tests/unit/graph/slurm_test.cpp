#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>

#include "tests/unit/graph/network_files.hpp"

namespace lockstep::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// gpu01 to gpu04 and login1 below leaf1, gpu05 to gpu08 and login1 below leaf2, both below two spines, these below the
// core. A leaf with five cables down gets ceil(5 / 2) = 3 to each spine, a spine with 6 down gets 6 to the core.
TEST(Slurm, TreeWithSeveralParents) {
  const auto import = import_file("slurm_tree.conf");
  EXPECT_EQ(import.format, "Slurm topology.conf");
  const auto cables = cables_of(import.graph);
  EXPECT_THAT(cables,
              ElementsAre("gpu01:nic0 1x leaf1", "gpu02:nic0 1x leaf1", "gpu03:nic0 1x leaf1", "gpu04:nic0 1x leaf1",
                          "login1:nic0 1x leaf1", "login1:nic1 1x leaf2", "gpu05:nic0 1x leaf2", "gpu06:nic0 1x leaf2",
                          "gpu07:nic0 1x leaf2", "gpu08:nic0 1x leaf2", "leaf1 3x spine1", "leaf1 3x spine2",
                          "leaf2 3x spine1", "leaf2 3x spine2", "spine1 6x core", "spine2 6x core"));
  EXPECT_THAT(import.notes, ElementsAre(HasSubstr("1 host below more than one switch, such as login1"),
                                        HasSubstr("no over-subscription is assumed")));
}

// Two blocks of four nodes: a switch each, with four cables to the one that is assumed above them.
TEST(Slurm, BlocksOfBothFiles) {
  const auto conf = import_file("slurm_block.conf"), yaml = import_file("slurm_block.yaml");
  EXPECT_EQ(conf.graph.hosts.count(), 8);
  EXPECT_THAT(cables_of(conf.graph),
              testing::IsSupersetOf({"rack11 4x above-all-blocks", "rack12 4x above-all-blocks"}));
  EXPECT_THAT(cables_of(yaml.graph), testing::IsSupersetOf({"rack1 4x above-all-blocks", "rack2 4x above-all-blocks"}));
}

// Of two topologies the one marked as the cluster's default is read.
TEST(Slurm, YamlTree) {
  const auto import = import_file("slurm.yaml");
  EXPECT_EQ(import.graph.name, "racks");
  EXPECT_THAT(cables_of(import.graph), testing::IsSupersetOf({"gpu8:nic0 1x leaf2", "core 4x leaf1", "core 4x leaf2"}));
}

// A file that is cut anywhere has only hosts of the whole file, or it is refused in one line: a name whose end is
// missing is none.
TEST(Slurm, NoPrefixHasAnotherHost) {
  for (const char* file : {"slurm_tree.conf", "slurm_block.conf", "slurm_block.yaml"}) {
    std::set<std::string> whole;
    for (const auto& host : import_file(file).graph.hosts) whole.insert(host.name);
    std::ifstream stream(network_file(file), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    int refused = 0;
    for (std::size_t size = 1; size < text.size(); ++size) {
      Problems problems;
      const auto import = topologies::read_network_text(text.substr(0, size), "net", problems);
      if (problems.empty()) {
        for (const auto& host : import.graph.hosts)
          EXPECT_TRUE(whole.contains(host.name)) << file << " cut to " << size;
        continue;
      }
      ++refused;
      if (text.find("- topology") == std::string::npos) {  // YAML may lack several keys
        EXPECT_EQ(problems.size(), 1u) << file << " cut to " << size << ": " << problems.list()[1].to_string();
      }
    }
    EXPECT_GT(refused, std::ssize(text) * 4 / 5) << file;
  }
}

TEST(Slurm, OneLineForEachMistake) {
  EXPECT_THAT(
      refusals("SwitchName=s1 Nodes=n[1-4\n"),
      ElementsAre("net:1:15: Nodes: 'n[1-4' a bracket is not closed; expected names such as gpu[001-128],login1"));
  EXPECT_THAT(refusals("SwitchName=s1 Nodes=n[1-4],n2\n"),
              ElementsAre("net:1:15: Nodes: 'n2' appears twice; expected each name once"));
  EXPECT_THAT(refusals("SwitchName=s1 Nodes=n1\nSwitchName=s1 Nodes=n2\n"),
              ElementsAre("net:2:1: 's1' appears twice; expected each host and switch once"));
  EXPECT_THAT(
      refusals("SwitchName=s1 Switches=s2\n"),
      ElementsAre(
          "net:1:1: Switches: 's2' is not a switch of this file; expected switches with a line of their own; the "
          "file may be cut off"));
  EXPECT_THAT(refusals("SwitchName=s1 Switches=leaf[1-90]\n"),
              ElementsAre(HasSubstr("'leaf1', 'leaf2', 'leaf3' and 87 more are not switches of this file")));
  EXPECT_THAT(refusals("SwitchName=core Switches=leaf[1-2]\nSwitchName=leaf1\n"),
              ElementsAre(HasSubstr("net:1:1: Switches: 'leaf2' is not a switch of this file")));
  EXPECT_THAT(
      refusals("SwitchName=s1 Nodes=login1,gpu1,gp"),
      ElementsAre("net:1:1: the file ends in 'gp' without the end of a line; expected a line's end after the last "
                  "name; the file may be cut off"));
  EXPECT_THAT(refusals("SwitchName=s1 Nodes=gpu1,gpu2"), ElementsAre());
  EXPECT_THAT(refusals("BlockName=a Nodes=n[1-4]\nBlockSizes=4,\n"),
              ElementsAre("net:2:1: BlockSizes: '4,' is no list of sizes; expected numbers such as 4,8"));
  EXPECT_THAT(refusals("SwitchName=a Switches=b\nSwitchName=b Switches=a\n"),
              ElementsAre("net:1:1: the switch 'a' is above itself; expected a tree"));
  EXPECT_THAT(refusals("SwitchName=s1\n"),
              ElementsAre("net:1:1: nothing is below the switch 's1'; expected Nodes or Switches"));
  EXPECT_THAT(
      refusals("SwitchName=s1 Nodes=n1 Colour=red\n"),
      ElementsAre("net:1:24: Colour: is no key of topology.conf; expected SwitchName, Switches, Nodes, LinkSpeed, "
                  "BlockName or BlockSizes"));
  EXPECT_THAT(refusals("SwitchName=s1 Nodes\n"), ElementsAre(HasSubstr("net:1:15: 'Nodes' has no value")));
}

// Two leaves that nothing joins: six hosts and two, each side with an example.
TEST(Slurm, TwoParts) {
  EXPECT_THAT(
      refusals("SwitchName=s1 Nodes=a[1-2]\nSwitchName=s2 Nodes=b[1-6]\n"),
      ElementsAre("net: the network is in 2 parts without a cable between them: 6 hosts such as 'b1' and 2 hosts such "
                  "as 'a1'; expected a network in which every host reaches every other"));
}

}  // namespace
}  // namespace lockstep::test
