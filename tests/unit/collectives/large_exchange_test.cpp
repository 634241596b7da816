// All-to-alls of more members than pairs are listed for. V is the size over all N members, g of them in each node;
// every pair exchanges V/N^2.
//   Sprayed:  T = V/N (N-g)/N / Q + r: a member's NIC of rate Q carries its N - g transfers to other nodes.
//   Hashed:   no link carries more than the pairs whose routes cross it, counted here one by one.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/collectives/group_network.hpp"
#include "tests/unit/topologies/small_fabric.hpp"

namespace lockstep::test {
namespace {

using topologies::FabricRouting;
using Kind = workloads::CollectiveKind;

constexpr std::int64_t large = std::int64_t{1} << 40;

struct Exchange {
  explicit Exchange(const topologies::ClusterSpec& spec)
      : cluster(build_cluster(spec)),
        mesh(placed(cluster, {on("all", {"gpu", "node"})})),
        network(cluster, mesh, {"all"}) {}

  [[nodiscard]] collectives::CollectiveChoice direct() const {
    const auto choices = network.choices(Kind::all_to_all, Bytes(large));
    const auto found = std::find_if(choices.begin(), choices.end(), [](const auto& choice) {
      return choice.algorithm->name() == "direct all-to-all" || choice.algorithm->name() == "direct";
    });
    return found == choices.end() ? collectives::CollectiveChoice{} : *found;
  }

  topologies::Cluster cluster;
  topologies::Mesh mesh;
  collectives::GroupNetwork network;
};

topologies::ClusterSpec eights(int count, topologies::FabricKind kind, FabricRouting routing = FabricRouting::spray) {
  return nodes(count, fabric(kind, 64, {}, routing), node(8, 8));
}

// Below and above the 350,000 pairs that are listed, on fat trees, joined rails and one switch.
TEST(LargeExchange, TakesWhatANicNeedsOnSprayedNetworks) {
  for (const topologies::FabricKind& kind :
       {topologies::FabricKind(topologies::FatTree{}), topologies::FabricKind(topologies::RailOptimised{}),
        topologies::FabricKind(topologies::Crossbar{})}) {
    for (const int count : {64, 80, 200}) {
      const Exchange exchange(eights(count, kind));
      const double n = 8.0 * count, q = 50e9;
      const double bytes = large / n * (n - 8) / n / q;
      const auto choice = exchange.direct();
      ASSERT_NE(choice.algorithm, nullptr) << count;
      EXPECT_NEAR((choice.cost - choice.phases.front().latency).value(), bytes, 1e-9 * bytes)
          << exchange.cluster.name() << ", " << count;
    }
  }
}

// Each pair's bytes count as often as its routes cross the busiest link; counts are rounded by at most 1/512 of what a
// member sends.
TEST(LargeExchange, TakesWhatTheBusiestLinkNeedsOnHashedNetworks) {
  const Exchange exchange(eights(80, topologies::FatTree{}, FabricRouting::ecmp));
  const auto& cluster = exchange.cluster;
  Indexed<topologies::LinkId, std::int64_t> crossings(cluster.links(), 0);
  for (topologies::DeviceId from = 0; from < cluster.devices(); ++from) {
    for (topologies::DeviceId to = 0; to < cluster.devices(); ++to) {
      for (const auto link : cluster.route(from, to)) ++crossings[link];
    }
  }
  const double n = 640;
  double longest = 0, nic = 0;
  for (const auto link : crossings.ids()) {
    const double seconds = large / n / n * static_cast<double>(crossings[link]) / cluster.link(link).bandwidth.value();
    longest = std::max(longest, seconds);
    if (cluster.link(link).kind == topologies::LinkKind::network &&
        cluster.node(cluster.link(link).from).kind == topologies::NodeKind::nic)
      nic = std::max(nic, seconds);
  }
  ASSERT_GT(longest, 1.02 * nic) << "hashed routes must collide";
  const auto choice = exchange.direct();
  EXPECT_NEAR((choice.cost - choice.phases.front().latency).value(), longest, 0.003 * longest);
}

// Rails without spines: a transfer to another rail goes through a chip of its node, so pairs are looked at one by one,
// up to 17 million; beyond, only the hierarchical all-to-all serves.
TEST(LargeExchange, LeavesVeryManyPairsOfSeparateRailsToTheHierarchicalOne) {
  const topologies::RailOptimised separate{0, topologies::RailOptimised::Rails::separate};
  auto spec = eights(80, separate);
  spec.fabric.radix = 1024;
  EXPECT_NE(Exchange(spec).direct().algorithm, nullptr);
  auto more = eights(640, separate);
  more.fabric.radix = 1024;
  const Exchange exchange(more);
  EXPECT_EQ(exchange.direct().algorithm, nullptr);
  EXPECT_EQ(exchange.network.choose(Kind::all_to_all, Bytes(large)).algorithm->name(), "hierarchical all-to-all");
}

}  // namespace
}  // namespace lockstep::test
