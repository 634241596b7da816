// A network of any format, or a node. A network that reads is in one piece and reads back from the YAML that it is
// written as.
#include "tests/fuzz/readers/target.hpp"
#include "topologies/graph/network_levels.hpp"
#include "topologies/graph/network_parts.hpp"
#include "topologies/graph/read_network.hpp"
#include "topologies/graph/read_node.hpp"
#include "topologies/graph/write_network.hpp"

namespace {

using namespace lockstep;

void read_node(std::string_view text) {
  Problems problems;
  const auto node = topologies::read_node_text(text, "fuzzed", problems);
  problems.throw_if_any();
  for (const auto& gpu : node.gpus) {
    if (gpu.nearest_nic.has_value() == node.nics.empty()) throw test::Defect("a GPU without its nearest NIC");
    if (gpu.nearest_nic && *gpu.nearest_nic >= node.nics.size()) throw test::Defect("a NIC that is not there");
  }
}

void read_network(std::string_view text) {
  Problems problems;
  const auto import = topologies::read_network_text(text, "fuzzed", problems);
  problems.throw_if_any();
  const auto& graph = import.graph;
  if (network_parts(graph).size() != 1) throw test::Defect("a network in parts");
  if (network_levels(graph).level.size() != graph.switches.size()) throw test::Defect("a switch without a level");
  for (const auto& host : graph.hosts) {
    if (host.adapters.empty()) throw test::Defect("a host without an adapter");
  }
  const auto yaml = network_yaml(graph);
  const auto again = topologies::read_network_text(yaml, "written", problems);
  problems.throw_if_any();
  if (network_yaml(again.graph) != yaml) throw test::Defect("a network that reads back as another");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = test::text_of(data, size);
  return test::answered([&] { topologies::describes_a_node(text) ? read_node(text) : read_network(text); });
}
