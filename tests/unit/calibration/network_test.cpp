// Links and protocols of a node from collectives that were timed on it. Round trip: times made with known parameters
// must come back.
#include <gmock/gmock.h>

#include "sim/studies/calibration/calibrate_network.hpp"
#include "tests/source_dir.hpp"

namespace lockstep::test {
namespace {

const std::filesystem::path catalog = std::filesystem::path(source_dir) / "topologies/catalog";

calibration::NodeNetwork network_of(const std::string& node) {
  Problems problems;
  calibration::NodeNetwork network{topologies::load_node(catalog, node, problems), {}};
  network.fabric = topologies::load_fabric(catalog, network.node.fabric, problems);
  problems.throw_if_any();
  return network;
}

/// Times of a network without fitting it.
std::vector<calibration::TimedCollective> timed_on(const calibration::NodeNetwork& network,
                                                   std::vector<calibration::TimedCollective> asked) {
  for (auto& one : asked) one.time = Seconds(1);
  const auto unfitted = predicted_collectives(network, asked);
  for (std::size_t i = 0; i < asked.size(); ++i) asked[i].time = unfitted[i].predicted;
  return asked;
}

std::vector<calibration::TimedCollective> sweep(const std::vector<int>& node_counts) {
  std::vector<calibration::TimedCollective> asked;
  for (const int nodes : node_counts) {
    for (const auto kind : {workloads::CollectiveKind::all_reduce, workloads::CollectiveKind::all_gather}) {
      for (std::int64_t size = 1 << 14; size <= std::int64_t{1} << 32; size *= 8)
        asked.push_back({kind, 8 * nodes, nodes, Bytes(size), Seconds(0), {}});
    }
  }
  return asked;
}

TEST(CalibrateNetwork, KnownParametersComeBack) {
  auto truth = network_of("dgx-h100");
  truth.node.scale_up_efficiency = 0.7;
  truth.fabric.efficiency = 0.6;
  for (auto& protocol : truth.node.protocols) {
    if (protocol.name == "Simple") protocol.launch = Seconds(40e-6), protocol.remote_launch = Seconds(300e-6);
  }
  const auto made = calibrate_network(network_of("dgx-h100"), timed_on(truth, sweep({1, 2, 4})));
  EXPECT_GT(made.fit.before, 0.1);
  EXPECT_LT(made.fit.after, 0.02);
  EXPECT_NEAR(made.network.node.scale_up_efficiency, 0.7, 0.02);
  EXPECT_NEAR(made.network.fabric.efficiency, 0.6, 0.02);
}

// Runs of one node say nothing of the network between nodes.
TEST(CalibrateNetwork, OneNodeLeavesTheFabric) {
  const auto before = network_of("dgx-h100");
  auto truth = before;
  truth.node.scale_up_efficiency = 0.6;
  const auto made = calibrate_network(before, timed_on(truth, sweep({1})));
  EXPECT_NEAR(made.network.node.scale_up_efficiency, 0.6, 0.02);
  EXPECT_EQ(made.network.fabric.efficiency, before.fabric.efficiency);
  EXPECT_THAT(cluster_yaml(made, "a log"), testing::Not(testing::HasSubstr("fabric:")));
}

TEST(CalibrateNetwork, WritesABlockThatIsReadBack) {
  const auto made = calibrate_network(network_of("dgx-a100"), timed_on(network_of("dgx-a100"), sweep({2})));
  Problems problems;
  const auto view = YamlView::from_text(cluster_yaml(made, "a log"), "written.yaml", problems);
  const auto read = topologies::read_node(view["node"], "inline", catalog);
  problems.throw_if_any();
  EXPECT_NEAR(read.scale_up_efficiency / made.network.node.scale_up_efficiency, 1, 1e-3);
  EXPECT_EQ(read.protocols.size(), made.network.node.protocols.size());
  EXPECT_EQ(read.chips, 8);
  EXPECT_EQ(view["fabric"]["like"].text(), made.network.fabric.name);
}

TEST(CalibrateNetwork, RefusesMoreRanksThanANodeHas) {
  EXPECT_THROW(
      (void)calibrate_network(network_of("dgx-h100"),
                              {{workloads::CollectiveKind::all_reduce, 16, 1, Bytes(1 << 20), Seconds(1), {}}}),
      ConfigError);
}

}  // namespace
}  // namespace lockstep::test
