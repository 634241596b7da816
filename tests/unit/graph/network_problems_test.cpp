// What is no network is refused with a line for each mistake, and before memory is spent on it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/unit/graph/network_files.hpp"
#include "tests/unit/scratch_folder.hpp"

namespace lockstep::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string yaml(const std::string& links) {
  return "hosts: [{names: \"h[1-2]\", adapters: 2}]\nswitches: [\"s[1-2]\"]\nlinks:\n" + links;
}

TEST(NetworkProblems, OfOurYaml) {
  const std::string good = "  - {from: \"h[1-2]\", to: s1}\n  - {from: s1, to: s2}\n";
  EXPECT_THAT(refusals(yaml(good)), ElementsAre());
  EXPECT_THAT(refusals(yaml(good + "  - {from: \"s[1-2]\", to: \"s[1-2]\"}\n")),
              ElementsAre());  // each with the others
  EXPECT_THAT(refusals(yaml(good + "  - {from: s1, to: s1}\n")),
              ElementsAre(HasSubstr("net:6:5: a cable joins two ports of 's1'")));
  EXPECT_THAT(refusals(yaml(good + "  - {from: s1, to: s2, rate: 1e-12 Gbps}\n")),
              ElementsAre(HasSubstr("net:6:30: links[2].rate: `1e-12 Gbps` is too small")));
  EXPECT_THAT(refusals(yaml(good + "  - {from: s1, to: s2, latency: 2 s}\n")),
              ElementsAre("net:6:5: latency: is above 1 s; expected the latency of one cable, such as 500 ns"));
  EXPECT_THAT(
      refusals(yaml(good + "  - {from: \"s1,s2\", to: s1}\n")),
      ElementsAre("net:6:5: a cable joins two ports of 's1'; expected a cable between two switches, or a host and a "
                  "switch"));
  EXPECT_THAT(refusals(yaml(good + "  - {from: h1, to: h1, adapter: nic0, to_adapter: nic1, pairs: in turn}\n")),
              ElementsAre(HasSubstr("a cable joins two adapters of 'h1'")));
  EXPECT_THAT(refusals(yaml(good + "  - {from: s1, to: s2, rate: 0 Gbps}\n")),
              ElementsAre(HasSubstr("net:6:30: links[2].rate: `0 Gbps` is zero")));
  EXPECT_THAT(refusals(yaml(good + "  - {from: s1, to: s2, rate: 400}\n")), ElementsAre(HasSubstr("has no unit")));
  EXPECT_THAT(refusals(yaml(good + "  - {from: s1, to: s2, rates: 4 Gbps}\n")),
              ElementsAre(HasSubstr("did you mean `rate`")));
  EXPECT_THAT(
      refusals(yaml(good + "  - {from: s1, to: s3}\n")),
      ElementsAre("net:6:20: links[2].to: 's3' is neither a host nor a switch of this file; expected one of them"));
  EXPECT_THAT(refusals(yaml(good + "  - {from: h1, adapter: mlx5_0, to: s2}\n")),
              ElementsAre("net:6:25: links[2].adapter: 'h1' has no adapter 'mlx5_0'; expected one of nic[0-1]"));
  EXPECT_THAT(
      refusals(yaml(good + "  - {from: \"h[1-2]\", adapter: \"mlx5_[0-7]\", to: s2}\n")),
      ElementsAre("net:6:31: links[2].adapter: 'h1' has no adapter 'mlx5_0', 'mlx5_1', 'mlx5_2' and 5 more, and 1 "
                  "other host lacks some too; expected one of nic[0-1]"));
  EXPECT_THAT(
      refusals(yaml(good + "  - {from: \"x[1-90]\", to: s2}\n")),
      ElementsAre("net:6:12: links[2].from: 'x1', 'x2', 'x3' and 87 more are neither hosts nor switches of this "
                  "file; expected one of them"));
  EXPECT_THAT(refusals(yaml(good + "  - {from: \"h[1-2]\", to: s2, latency: 2 s}\n")),
              ElementsAre(HasSubstr("net:6:5: latency: is above 1 s")));
  EXPECT_THAT(refusals("hosts: [{names: \"h[1-90]\", adapters: 1}, {names: \"h[1-90]\", adapters: 1}]\nlinks: []\n"),
              ElementsAre(HasSubstr("'h1' appears twice")));
  EXPECT_THAT(refusals(yaml(good + "  - {from: \"h[1-2]\", adapter: nic0, to: \"s1,s2,s1\", pairs: in turn}\n")),
              ElementsAre(HasSubstr("2 ends cannot be shared evenly among 3")));
  EXPECT_THAT(refusals("hosts: [{names: \"h[1-2],h2\", adapters: 1}]\nlinks: []\n"),
              ElementsAre(HasSubstr("'h2' appears twice; expected each host and switch once")));
  EXPECT_THAT(refusals("hosts: [{names: h1, adapters: 0}]\nlinks: []\n"), ElementsAre(HasSubstr("hosts[0].adapters")));
  EXPECT_THAT(refusals(yaml("  - {from: h1, to: s1}\n")),
              ElementsAre("net: 1 host without a cable: h2; expected a cable of every host; the file may be cut off"));
}

// 2^18 hosts and switches are the most; the list is counted before a name is made.
TEST(NetworkProblems, HugeListsAreRefused) {
  EXPECT_THAT(refusals("hosts: [{names: \"h[1-999999999]\", adapters: 8}]\nlinks: []\n"),
              ElementsAre(HasSubstr("has more than 262144 names")));
  EXPECT_THAT(refusals("hosts: [{names: \"h[1-200000]\", adapters: 1024}]\nlinks: []\n"),
              testing::Contains(HasSubstr("the network is too large; expected at most 2097152 adapters")));
  EXPECT_THAT(refusals("hosts: [{names: \"h[1-4000]\", adapters: 1}]\nswitches: [\"s[1-4000]\"]\nlinks: [{from: "
                       "\"h[1-4000]\", to: \"s[1-4000]\"}]\n"),
              ElementsAre(HasSubstr("joins 16000000 pairs; expected at most 2097152")));
  EXPECT_THAT(refusals("topology: [FullyConnected]\nnpus_count: [60000]\nbandwidth: [1]\nlatency: [1]\n"),
              ElementsAre(HasSubstr("has too many links")));
  EXPECT_THAT(refusals("topology: [Ring, Ring]\nnpus_count: [60000, 60000]\nbandwidth: [1, 1]\nlatency: [1, 1]\n"),
              ElementsAre(HasSubstr("has too many NPUs")));
}

// Lists that are short each, but together name more than 2^22: the sixteenth list of 2^18 names is the last that is
// made.
TEST(NetworkProblems, ManyLargeListsAreRefused) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "SwitchName=s" + std::to_string(i) + " Nodes=n[1-262144]\n";
  EXPECT_THAT(refusals(text),
              ElementsAre("net:17:16: the network is too large; expected at most 4194304 names in all lists "
                          "together"));
  text = yaml("  - {from: \"h[1-2]\", adapter: \"nic[0-9999]\", to: s1}\n");
  EXPECT_THAT(refusals(text), ElementsAre(HasSubstr("has 10000 names; expected at most 1024")));
  text = "source,source_kind,target,target_kind\n" + std::string(500'001, '\n');
  EXPECT_THAT(refusals(text), ElementsAre("net: has too many rows; expected at most 500000"));
}

TEST(NetworkProblems, OfEdgeLists) {
  const std::string head = "source,source_kind,target,target_kind,count,rate,latency\n";
  EXPECT_THAT(refusals(head + "a,host,s,switch,1,0 Gbps,\n"),
              ElementsAre("net:2:19: rate: '0 Gbps' is zero; expected a rate such as 400 Gbps"));
  EXPECT_THAT(refusals(head + "a,host,s,switch,1,1e-12 Gbps,\n"), ElementsAre(HasSubstr("rate: ")));
  EXPECT_THAT(refusals(head + "a,host,s,switch,1,4 Gbps,1e300 s\n"), ElementsAre(HasSubstr("latency: ")));
  EXPECT_THAT(refusals(head + "a,host,s,switch,0,4 Gbps,\n"),
              ElementsAre("net:2:17: count: '0' is no number of cables; expected 1 to 65536"));
  EXPECT_THAT(refusals(head + "a,gpu,s,switch,1,4 Gbps,\n"),
              ElementsAre("net:2:3: source_kind: 'gpu' is no kind; expected host or switch"));
  EXPECT_THAT(refusals(head + "a,host,s,switch,1,4 Gbps,\ns,host,t,switch,1,4 Gbps,\n"),
              ElementsAre("net:3:1: source: 's' is a host in one row and a switch in another; expected one kind"));
  EXPECT_THAT(refusals(head + "s,switch,s,switch,1,4 Gbps,\n"),
              ElementsAre(HasSubstr("a cable joins two ports of 's'")));
  EXPECT_THAT(refusals(head + "a,host,\"s,switch,1,4 Gbps,\nb,host,s,switch,1,4 Gbps,\n"),
              ElementsAre("net:2:8: a quote is open; expected a closing quote"));
  EXPECT_THAT(refusals("\"" + head), ElementsAre("net:1:1: a quote is open; expected a closing quote"));
  EXPECT_THAT(refusals("source,target\na,b\n"), testing::SizeIs(2));
  EXPECT_THAT(refusals(head), ElementsAre("net: has no host; expected a network with hosts, switches and cables"));
}

TEST(NetworkProblems, OfGraphMl) {
  const std::string keys = "<graphml><key id=\"k\" for=\"node\" attr.name=\"kind\"/><graph edgedefault=\"undirected\">";
  EXPECT_THAT(refusals("<graphml><graph edgedefault=\"directed\"/></graphml>"),
              ElementsAre(HasSubstr("net:1:10: edgedefault: is directed")));
  EXPECT_THAT(refusals(keys + "<node id=\"a\"/></graph></graphml>"),
              ElementsAre(HasSubstr("kind: node 'a' has no kind")));
  EXPECT_THAT(refusals(keys + "<edge source=\"a\" target=\"b\"/></graph></graphml>"),
              testing::Contains(HasSubstr("'a' is no node")));
  EXPECT_THAT(refusals("<graphml>\n<graph>"), ElementsAre("net:2:8: malformed XML: no element found"));
}

// A document type could define entities that expand to gigabytes: it is refused where it begins.
TEST(NetworkProblems, XmlThatWouldGrow) {
  EXPECT_THAT(refusals("<!DOCTYPE graphml [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]>\n<graphml>&b;</graphml>"),
              ElementsAre(HasSubstr("has a document type; expected XML without a document type and entities")));
  std::string deep = "<graphml>";
  for (int i = 0; i < 100'000; ++i) deep += "<a>";
  EXPECT_THAT(refusals(deep), ElementsAre("net:1:199: elements are nested too deeply; expected at most 64 levels"));
}

TEST(NetworkProblems, OfOtherSimulators) {
  EXPECT_THAT(refusals("topology: [Torus]\nnpus_count: [4]\nbandwidth: [1]\nlatency: [1]\n"),
              ElementsAre(HasSubstr("topology[0]")));
  EXPECT_THAT(refusals("topology: [Ring]\nnpus_count: [4, 2]\nbandwidth: [1]\nlatency: [1]\n"),
              ElementsAre(HasSubstr("npus_count: has 2 entries; expected 1, one for each dimension of topology")));
  EXPECT_THAT(refusals("topology: [Ring]\nnpus_count: [4]\nbandwidth: [0]\nlatency: [1]\n"),
              ElementsAre(HasSubstr("bandwidth[0]")));
  EXPECT_THAT(refusals("4 2 0 2 2 H100\n2 3\n0 2 100Gbps 1us 0\n"),
              ElementsAre(HasSubstr("has 1 links; expected 2, as the first line says; the file may be cut off")));
  EXPECT_THAT(refusals("4 2 0 2 1 H100\n2 9\n"), ElementsAre(HasSubstr("net:2:1: the switch 9 is wrong")));
  EXPECT_THAT(refusals("4 2 0 2 1 H100\n2 3\n0 2 0Gbps 1us 0\n"), testing::Contains(HasSubstr("'0Gbps' is zero")));
  EXPECT_THAT(refusals("2000000000 2 0 2 1 H100\n2 3\n"), ElementsAre(HasSubstr("the sizes are out of range")));
}

TEST(NetworkProblems, NoKnownFormat) {
  EXPECT_THAT(
      refusals("\tGPU0\tGPU1\nGPU0\tX\tSYS\nGPU1\tSYS\tX\n"),
      ElementsAre("net: describes the inside of a node; expected a network; lockstep import network reads a node"));
  EXPECT_THAT(refusals("hello\n"),
              ElementsAre(HasSubstr("net: is of no known format; expected one of ibnetdiscover, ")));
  EXPECT_THAT(refusals(std::string_view("a\0b", 3)), ElementsAre(HasSubstr("net:1:2: has the control character")));
  EXPECT_THAT(refusals("\xff"), ElementsAre(HasSubstr("is not UTF-8 text")));
}

// Broken lines without end: a reader stops when nobody would read more of them.
TEST(NetworkProblems, MistakesWithoutEnd) {
  std::string text = "Switch 8 \"S-1\"\n";
  for (int i = 0; i < 100'000; ++i) text += "[x\n";
  EXPECT_EQ(refusals(text).size(), 200u);
}

// Junk below a good beginning is one mistake: lines that are none of the format.
TEST(NetworkProblems, JunkBelowAGoodBeginning) {
  std::string junk;
  for (int i = 0; i < 100'000; ++i) junk += "6jQ8s1Zp0aVbX\n";
  EXPECT_THAT(refusals("Switch 8 \"S-1\"\n" + junk),
              ElementsAre("net:2:1: is no line of a dump, and 99999 more lines are none; expected what ibnetdiscover "
                          "prints"));
  EXPECT_THAT(
      refusals("SwitchName=s1 Nodes=n[1-4]\n" + junk),
      ElementsAre("net:2:1: is no line of topology.conf, and 99999 more lines are none; expected a line such as "
                  "SwitchName=s1 Nodes=n[1-64]"));
}

class NetworkFiles : public ScratchFolder {};

// 100 MB of junk are refused by how they begin; a file that begins well but is too large, by its size.
TEST_F(NetworkFiles, HugeFilesAreNotRead) {
  const auto refused = [&](const std::string& start) {
    make("huge", start);
    std::filesystem::resize_file(place("huge"), 100u << 20);
    Problems problems;
    (void)topologies::read_network(place("huge"), problems);
    return problems.list().at(0).what;
  };
  EXPECT_EQ(refused(std::string(70'000, 'j')), "is of no known format");
  EXPECT_EQ(refused("Switch 8 \"S-1\"\n"), "the file is too large");
}

TEST_F(NetworkFiles, FilesThatAreNone) {
  const auto refused = [&](const std::string& name) {
    Problems problems;
    (void)topologies::read_network(place(name), problems);
    return problems.list().at(0).what;
  };
  make("empty", "");
  EXPECT_EQ(refused("empty"), "the file is empty");
  EXPECT_EQ(refused("absent"), "no such file");
  EXPECT_EQ(refused(""), "is a directory");
}

}  // namespace
}  // namespace lockstep::test
