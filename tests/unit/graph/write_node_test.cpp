// A node without NVLink becomes the YAML of a scenario's node, which says what its file left open.
#include "topologies/graph/write_node.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "sim/core/yaml_view.hpp"
#include "tests/source_dir.hpp"
#include "tests/unit/graph/network_files.hpp"
#include "topologies/fabrics/fabric.hpp"
#include "topologies/graph/read_node.hpp"

namespace lockstep::test {
namespace {

using testing::HasSubstr;

const topologies::NodeKnowledge known{"h100", BytesPerSecond(63e9), BytesPerSecond(12.5e9)};

std::string written(const std::string& text, Problems& problems, const topologies::NodeKnowledge& knowledge = known) {
  const auto node = topologies::read_node_text(text, "node", problems);
  return problems.empty() ? node_yaml(node, knowledge, "node", problems) : "";
}

std::string refused(const std::string& text, const topologies::NodeKnowledge& knowledge = known) {
  Problems problems;
  EXPECT_EQ(written(text, problems, knowledge), "");
  return problems.list().empty() ? "" : problems.list().front().to_string();
}

topologies::NodeSpec node_of(const std::string& text) {
  Problems problems;
  const auto yaml = written(text, problems);
  const auto node = topologies::read_node(YamlView::from_text(yaml, "node.yaml", problems), "node",
                                          std::string(source_dir) + "/topologies/catalog");
  problems.throw_if_any();
  return node;
}

std::string content(const std::string& file) {
  std::ifstream stream(network_file(file), std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// The matrix by hand: pairs below a PCIe switch (PIX), fours below a CPU (NODE), two CPUs (SYS), a NIC of each CPU. It
// has no rates: the port is the chip's, the uplink of a switch is taken to be as fast.
TEST(WriteNode, MatrixWithoutNvlink) {
  const auto node = node_of(content("pcie_topo.txt"));
  EXPECT_EQ(node.scale_up, topologies::NodeSpec::ScaleUp::pcie);
  EXPECT_EQ(node.chips, 8);
  EXPECT_EQ(node.scale_up_link, BytesPerSecond(63e9));
  EXPECT_EQ(node.uplinks,
            (std::vector<topologies::SharedUplink>{{2, BytesPerSecond(63e9)}, {4, BytesPerSecond(22e9)}}));
  EXPECT_EQ(node.nics, 2);
  EXPECT_EQ(node.nic, BytesPerSecond(12.5e9));
  Problems problems;
  const auto text = written(content("pcie_topo.txt"), problems);
  EXPECT_THAT(text, HasSubstr("the file does not say it"));
  EXPECT_THAT(text, HasSubstr("assumed: as a chip's port"));
  EXPECT_THAT(text, HasSubstr("the file does not say their rate"));
}

// NCCL's file has the rates: 16 lanes of 16 GT/s with 128 of 130 bits are 31.5 GB/s, 8 of them 15.75. The chip's own
// rate is not needed. Four GPUs below one CPU, in pairs below switches: one level, since all are below the same CPU.
TEST(WriteNode, NcclTopologyHasItsRates) {
  const auto gpu = [](const std::string& bus) {
    return "<pci busid=\"" + bus + "\" class=\"0x030200\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\"/>";
  };
  const auto pair = [&](const std::string& bus, const std::string& nic) {
    return "<pci busid=\"" + bus + "\" class=\"0x060400\" link_speed=\"16.0 GT/s PCIe\" link_width=\"8\">" +
           gpu(bus + "1") + gpu(bus + "2") + nic + "</pci>";
  };
  const auto node = node_of("<system version=\"1\"><cpu numaid=\"0\">" +
                            pair("a",
                                 "<pci busid=\"n\" class=\"0x020000\"><nic><net name=\"eth0\" speed=\"100000\" "
                                 "guid=\"0x1\"/></nic></pci>") +
                            pair("b", "") + "</cpu></system>");
  const double port = 16e9 * 16 / 8 * 128 / 130;
  EXPECT_NEAR(node.scale_up_link.value(), port, 1e-8 * port);  // nine digits are written
  ASSERT_EQ(node.uplinks.size(), 1u);
  EXPECT_EQ(node.uplinks[0].chips, 2);
  EXPECT_NEAR(node.uplinks[0].link.value(), port / 2, 1e-8 * port);
  EXPECT_EQ(node.nics, 1);
  EXPECT_EQ(node.nic, BytesPerSecond(12.5e9));
}

TEST(WriteNode, RefusesWhatItCannotSay) {
  EXPECT_EQ(refused(content("h100_topo.txt")),
            "node: its GPUs have links of their own, NVLink; expected a node of the catalog, or a block that describes "
            "it");
  const std::string two = "\tGPU0\tGPU1\nGPU0\t X \tPHB\nGPU1\tPHB\t X \n";
  EXPECT_EQ(refused(two, {"", {}, {}}),
            "node: the kind of its GPUs is not known; expected --chip with a chip of the catalog");
  EXPECT_EQ(refused(two, {"mi300x", {}, BytesPerSecond(1e9)}),
            "node: the rate of PCIe is not known; expected --chip with a chip that has a rate of pcie");
  EXPECT_EQ(refused(two, {"h100", BytesPerSecond(63e9), {}}),
            "node: the rate of its NICs is not known; expected --nic with a rate, such as 100 Gbps");
  EXPECT_THAT(refused("\tGPU0\tGPU1\tGPU2\nGPU0\t X \tPIX\tSYS\nGPU1\tPIX\t X \tSYS\nGPU2\tSYS\tSYS\t X \n"),
              HasSubstr("its GPUs are not in equal runs of neighbours at PIX; expected as many GPUs below each"));
}

}  // namespace
}  // namespace lockstep::test
