#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "tests/unit/graph/network_files.hpp"
#include "topologies/graph/read_node.hpp"

namespace lockstep::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

topologies::NodeDescription node_of(const std::string& file) {
  std::ifstream stream(network_file(file), std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  EXPECT_TRUE(topologies::describes_a_node(text)) << file;
  Problems problems;
  auto node = topologies::read_node_text(text, file, problems);
  problems.throw_if_any();
  return node;
}

/// "GPU0 sm_90 18 mlx5_0 PIX" for each GPU.
std::vector<std::string> gpus_of(const topologies::NodeDescription& node) {
  std::vector<std::string> lines;
  for (const auto& gpu : node.gpus) {
    lines.push_back(gpu.name + " " + gpu.kind + " " + std::to_string(gpu.links) + " " +
                    (gpu.nearest_nic ? node.nics[*gpu.nearest_nic].name + " " + name(gpu.nic_distance) : "none"));
  }
  return lines;
}

std::vector<std::string> refused(std::string_view text) {
  Problems problems;
  (void)topologies::read_node_text(text, "node", problems);
  std::vector<std::string> lines;
  for (const Problem& problem : problems.list()) lines.push_back(problem.to_string());
  return lines;
}

// By hand: GPU0 and mlx5_0 are below one switch (PIX); GPU1 is a switch further down than mlx5_1 (PXB); GPU2 and GPU3
// are at another CPU than all NICs (SYS), and take the fast ones in turn, not the slower eth0. Two ports share
// one GUID: one NIC.
TEST(NcclTopology, DistancesOfNics) {
  const auto node = node_of("h100_node.xml");
  EXPECT_THAT(gpus_of(node), ElementsAre("GPU0 sm_90 18 mlx5_0 PIX", "GPU1 sm_90 18 mlx5_1 PXB",
                                         "GPU2 sm_90 18 mlx5_0 SYS", "GPU3 sm_90 18 mlx5_1 SYS"));
  EXPECT_EQ(node.gpus[0].equally_near, 1u);
  EXPECT_EQ(node.gpus[2].equally_near, 3u);
  EXPECT_EQ(node.link_kind, "NVLink");
  ASSERT_EQ(node.nics.size(), 3u);
  EXPECT_EQ(node.nics[0].rate, BytesPerSecond(400e9 / 8));
  EXPECT_EQ(node.nics[2].rate, BytesPerSecond(100e9 / 8));
  ASSERT_EQ(node.shared_switches.size(), 2u);
  EXPECT_EQ(node.shared_switches[1].bus_id, "0000:20:00.0");
  EXPECT_THAT(node.shared_switches[1].gpus, ElementsAre(1u));
  EXPECT_THAT(node.shared_switches[1].nics, ElementsAre(1u));
  EXPECT_THAT(node.notes, testing::Contains(HasSubstr("ports of a NIC that have its GUID, 1 in all")));
}

// AMD: class 0x1200, xGMI links added up, architectures by name or number.
TEST(NcclTopology, AmdGpus) {
  const auto node = node_of("mi300_node.xml");
  EXPECT_THAT(gpus_of(node), ElementsAre("GPU0 gfx942 3 none", "GPU1 gfx942 2 none"));
  EXPECT_EQ(node.link_kind, "xGMI");
}

// Files for virtual machines list devices alone: their class says what they are.
TEST(NcclTopology, DevicesWithoutElements) {
  Problems problems;
  const auto node = topologies::read_node_text(
      "<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"s\" class=\"0x060400\"><pci busid=\"a\" "
      "class=\"0x030200\"/>"
      "<pci busid=\"b\" class=\"0x030200\"/><pci busid=\"n\" class=\"0x020700\"/><pci busid=\"m\" "
      "class=\"0x020700\"/></pci></cpu></system>",
      "node", problems);
  problems.throw_if_any();
  EXPECT_THAT(gpus_of(node), ElementsAre("a  0 n PIX", "b  0 m PIX"));
}

TEST(NcclTopology, Problems) {
  EXPECT_THAT(refused("<system version=\"1\"/>"), ElementsAre(HasSubstr("node:1:1: has neither a GPU nor a NIC")));
  EXPECT_THAT(refused("<system>\n<cpu>\n"), ElementsAre(HasSubstr("malformed XML")));
  const auto gpu = [](const std::string& link) {
    return refused("<system><cpu><pci busid=\"a\"><gpu dev=\"0\">" + link + "</gpu></pci></cpu></system>");
  };
  EXPECT_THAT(gpu("<nvlink target=\"b\" count=\"0\"/>"),
              ElementsAre(HasSubstr("count: '0' is no number of links; expected 1 to 1024")));
  EXPECT_THAT(gpu("<nvlink target=\"b\"/>"), ElementsAre(HasSubstr("count: '' is no number of links")));
  EXPECT_THAT(refused("<system><nic><net name=\"a\" speed=\"0\"/></nic></system>"),
              ElementsAre(HasSubstr("speed: '0' is no speed; expected a number of Mb/s above zero")));
}

// The head is underlined by escapes; its last column begins with GPU and is none. Each GPU has 18 links to a switch,
// not 3 x 18 to the others; the legend names NICs.
TEST(NvidiaSmi, Matrix) {
  const auto node = node_of("h100_topo.txt");
  EXPECT_EQ(node.nics.size(), 2u);
  EXPECT_THAT(gpus_of(node),
              ElementsAre("GPU0  18 mlx5_0 PIX", "GPU1  18 mlx5_0 NODE", "GPU2  18 mlx5_3 PXB", "GPU3  18 mlx5_3 SYS"));
}

// Without a switch, links to several GPUs add up: 1 + 2.
TEST(NvidiaSmi, LinksBetweenGpus) {
  Problems problems;
  const auto node = topologies::read_node_text(
      "\tGPU0\tGPU1\tGPU2\nGPU0\t X \tNV1\tNV2\nGPU1\tNV1\t X \tSYS\nGPU2\tNV2\tSYS\t X \n", "node", problems);
  problems.throw_if_any();
  EXPECT_THAT(gpus_of(node), ElementsAre("GPU0  3 none", "GPU1  1 none", "GPU2  2 none"));
}

// A head that lost the space before it, as in a report of a defect.
TEST(NvidiaSmi, HeadWithoutSpace) {
  Problems problems;
  const auto node = topologies::read_node_text(
      "GPU0 NIC0 CPU Affinity\nGPU0 X PHB 0-7\nNIC0 PHB X\nNIC Legend:\n NIC0: mlx5_0\n", "node", problems);
  problems.throw_if_any();
  EXPECT_THAT(gpus_of(node), ElementsAre("GPU0  0 mlx5_0 PHB"));
}

TEST(NvidiaSmi, Problems) {
  EXPECT_THAT(
      refused("\tGPU0\tGPU1\nGPU0\t X \tNV1\n"),
      ElementsAre("node:2:1: the matrix ends before the row of GPU1; expected a row for each of the 2 columns of "
                  "the head; the file may be cut off"));
  EXPECT_THAT(refused("\tGPU0\tGPU1\nGPU0\t X \nGPU1\tSYS\tX\n"),
              ElementsAre("node:2:1: GPU0: has 1 entries; expected 2 or more, as the head; the file may be cut off"));
  EXPECT_THAT(
      refused("\tGPU0\tGPU1\nGPU0\t X \tABC\nGPU1\tSYS\tX\n"),
      ElementsAre("node:2:1: GPU0: 'ABC' is no connection to GPU1; expected SYS, NODE, PHB, PXB, PIX, or NV and a "
                  "number"));
  EXPECT_THAT(refused("\tGPU0\tGPU1\nGPU0\tX\tNV18\nGPU1\tNV1\tX\n"),
              ElementsAre("node:3:1: GPU1: has NV1 to GPU0, which has NV18 to it in line 2; expected the same in both "
                          "rows"));
  EXPECT_THAT(refused("\tGPU0\tNIC0\nGPU0\tX\tPIX\nNIC0\tPIX\tX\n\nLegend:\n"),
              ElementsAre("node:5:1: the NIC legend does not name NIC0; expected lines such as NIC0: mlx5_0 below the "
                          "matrix; the file may be cut off"));
  EXPECT_THAT(refused("\tGPU0\tGPU0\nGPU0\tX\tX\n"),
              ElementsAre("node:1:1: the head names GPU0 twice; expected each GPU and NIC once"));
}

// Lines of junk that look like heads: the first that is not the row which has to come says it for all.
TEST(NvidiaSmi, JunkIsOneMistake) {
  std::string junk;
  for (int i = 0; i < 1000; ++i) junk += "GPU0 GPU1 GPU2 GPU3\n";
  EXPECT_THAT(refused(junk),
              ElementsAre("node:2:1: GPU0: has 3 entries; expected 4 or more, as the head; the file may be "
                          "cut off"));
}

// A matrix without its end is refused wherever it is cut, in one line: a row or the legend of the NICs is missing, or
// its last name has another shape than the others. Only letters of equal shape and the last line's end may go.
TEST(NvidiaSmi, NoPrefixIsANode) {
  for (const char* file : {"h100_topo.txt", "pcie_topo.txt"}) {
    std::ifstream stream(network_file(file), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    for (std::size_t size = text.find('\n') + 1; size < text.size() - 1; ++size)
      EXPECT_THAT(refused(text.substr(0, size)), testing::SizeIs(1)) << file << " cut to " << size;
    EXPECT_THAT(refused(text.substr(0, text.size() - 1)), ElementsAre());
  }
}

}  // namespace
}  // namespace lockstep::test
