// Every rank of a stage sends to its partner of another at once. A transfer of V bytes takes
//   latency of the longest route + V max over links of (routes that cross it / bandwidth),
// with a protocol: launch + latency + remote step + V / (efficiency x bandwidth), by the fastest for the size.
#include "sim/collectives/stage_pairs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>

#include "tests/unit/topologies/small_fabric.hpp"

namespace lockstep::test {
namespace {

using testing::ElementsAre;

struct Placed {
  Placed(topologies::Cluster made, const std::vector<topologies::AxisRequest>& axes)
      : cluster(std::move(made)), mesh(placed(cluster, axes)) {}
  [[nodiscard]] collectives::StagePairs connect(std::int32_t low, std::int32_t high) const {
    return collectives::connect_stages(cluster, mesh, collectives::pipeline_lines(mesh), low, high);
  }
  topologies::Cluster cluster;
  topologies::Mesh mesh;
};

// A line of 4 chips with links of 100 GB/s and 1 us: stages 0 and 1 are neighbours, 0 and 3 are three hops apart.
TEST(StagePairs, OnALineOfChips) {
  const Placed line(torus({4}, never), {on("pipeline", {"x"})});
  const collectives::StagePairs neighbours = line.connect(0, 1);
  EXPECT_EQ(neighbours.communicator.name, "pipeline 0-1");
  EXPECT_EQ(neighbours.communicator.slots, 2);
  ASSERT_EQ(neighbours.communicator.groups.size(), 1U);
  const collectives::ProgramGroup& pair = neighbours.communicator.groups[0];
  EXPECT_THAT(pair.members, ElementsAre(0, 1));
  ASSERT_EQ(pair.flows.size(), 2U);
  EXPECT_EQ(pair.flows[0].slot, 0);
  EXPECT_THAT(names(line.cluster, pair.flows[0].links), ElementsAre("chip(0)>chip(1)"));
  EXPECT_EQ(pair.flows[1].slot, 1);
  EXPECT_THAT(names(line.cluster, pair.flows[1].links), ElementsAre("chip(1)>chip(0)"));
  EXPECT_EQ(neighbours.routes.latency, Seconds(1e-6));
  EXPECT_DOUBLE_EQ(neighbours.routes.time(0, 100e3).value(), 1e-6 + 1e-6);
  EXPECT_DOUBLE_EQ(line.connect(0, 3).routes.latency.value(), 3e-6);
}

// Data takes neighbours, so that pairs 0-2 and 1-3 cross the link in the middle together: half of its bandwidth each.
TEST(StagePairs, RoutesThatShareALinkShareItsBandwidth) {
  const Placed interleaved(torus({4}, never), {on("data", {"x/2"}), on("pipeline", {"rest"})});
  const collectives::StagePairs pairs = interleaved.connect(0, 1);
  EXPECT_EQ(pairs.communicator.groups.size(), 2U);
  EXPECT_DOUBLE_EQ(pairs.routes.seconds_per_byte[0], 2 / 100e9);
  EXPECT_DOUBLE_EQ(pairs.routes.seconds_per_byte[1], 2 / 100e9);
  EXPECT_DOUBLE_EQ(pairs.routes.latency.value(), 2e-6);
  const Placed apart(torus({4}, never), {on("pipeline", {"x/2"}), on("data", {"rest"})});
  EXPECT_DOUBLE_EQ(apart.connect(0, 1).routes.seconds_per_byte[0], 1 / 100e9);
}

// Round a ring of 4 the last stage is one hop from the first.
TEST(StagePairs, WraparoundIsTheShorterWay) {
  const Placed ring(torus({4}, always), {on("pipeline", {"x"})});
  EXPECT_EQ(ring.connect(0, 3).routes.latency, Seconds(1e-6));
  EXPECT_THAT(names(ring.cluster, ring.connect(0, 3).communicator.groups[0].flows[0].links),
              ElementsAre("chip(0)>chip(3)"));
}

// Two nodes of four chips, two chips to a NIC of 50 GB/s; 3 us to the switch and 3 us from it.
TEST(StagePairs, OverNicsThatChipsShare) {
  const Placed nodes_of(build_cluster(nodes(2, fabric(topologies::Crossbar{}))),
                        {on("pipeline", {"node"}), on("tensor", {"gpu"})});
  const collectives::StagePairs pairs = nodes_of.connect(0, 1);
  EXPECT_EQ(pairs.communicator.groups.size(), 4U);
  EXPECT_DOUBLE_EQ(pairs.routes.latency.value(), 6e-6);
  EXPECT_DOUBLE_EQ(pairs.routes.seconds_per_byte[0], 2 / 50e9);
  EXPECT_DOUBLE_EQ(pairs.routes.time(1, 50e3).value(), 6e-6 + 2e-6);
}

// From a later stage to an earlier one, slot 0 leads from the first that is named.
TEST(StagePairs, MayLeadBackwards) {
  const Placed line(torus({4}, never), {on("pipeline", {"x"})});
  const collectives::StagePairs back = line.connect(2, 1);
  EXPECT_EQ(back.communicator.name, "pipeline 2-1");
  EXPECT_THAT(back.communicator.groups[0].members, ElementsAre(1, 2)) << "in order of ranks";
  EXPECT_THAT(names(line.cluster, back.communicator.groups[0].flows[0].links), ElementsAre("chip(2)>chip(1)"));
}

TEST(PipelineLines, AreTheStagesOfEachPlaceOnTheOtherAxes) {
  const Placed mesh(torus({2, 3}, never), {on("data", {"x"}), on("pipeline", {"y"})});
  EXPECT_THAT(collectives::pipeline_lines(mesh.mesh), ElementsAre(ElementsAre(0, 1, 2), ElementsAre(3, 4, 5)));
  const Placed outer(torus({2, 3}, never), {on("pipeline", {"y"}), on("data", {"x"})});
  EXPECT_THAT(collectives::pipeline_lines(outer.mesh), ElementsAre(ElementsAre(0, 2, 4), ElementsAre(1, 3, 5)));
}

// Each pair has a flow each way from partner to partner, and the time for a byte is that of the busiest link, counted
// link by link.
TEST(StagePairs, TheBusiestLinkDecides) {
  std::deque<Placed> all;  // a mesh looks at its cluster, which must not move
  all.emplace_back(torus({4, 6}, always), std::vector{on("data", {"x", "y/2"}), on("pipeline", {"rest"})});
  all.emplace_back(torus({4, 6}, never), std::vector{on("pipeline", {"y/3", "x/2"}), on("data", {"rest"})});
  all.emplace_back(build_cluster(nodes(6, fabric(topologies::FatTree{}, 4, {}, topologies::FabricRouting::ecmp))),
                   std::vector{on("pipeline", {"node/3"}), on("data", {"rest"})});
  all.emplace_back(build_cluster(pods(3, fabric(topologies::Crossbar{}), {4, 2})),
                   std::vector{on("pipeline", {"pod"}), on("data", {"rest"})});
  for (const Placed& each : all) {
    const auto lines = collectives::pipeline_lines(each.mesh);
    for (std::int32_t low = 0; low < std::ssize(lines.front()); ++low) {
      for (std::int32_t high = 0; high < std::ssize(lines.front()); ++high) {
        if (low == high) continue;
        const collectives::StagePairs pairs = each.connect(low, high);
        ASSERT_EQ(pairs.communicator.groups.size(), lines.size());
        std::array<std::map<topologies::LinkId, int>, 2> crossed;
        Seconds longest(0);
        for (std::size_t line = 0; line < lines.size(); ++line) {
          const std::array<topologies::RankId, 2> ends{lines[line][static_cast<std::size_t>(low)],
                                                       lines[line][static_cast<std::size_t>(high)]};
          for (const std::size_t slot : {0U, 1U}) {
            const collectives::Flow& flow = pairs.communicator.groups[line].flows[slot];
            EXPECT_EQ(flow.slot, static_cast<std::int32_t>(slot));
            EXPECT_EQ(each.cluster.link(flow.links.front()).from, each.mesh.device_of(ends[slot]));
            EXPECT_EQ(each.cluster.link(flow.links.back()).to, each.mesh.device_of(ends[1 - slot]));
            for (const topologies::LinkId link : flow.links) ++crossed[slot][link];
            longest = std::max(longest, latency(each.cluster, flow.links));
          }
        }
        EXPECT_EQ(pairs.routes.latency, longest);
        for (const std::size_t slot : {0U, 1U}) {
          double most = 0;
          for (const auto& [link, routes] : crossed[slot])
            most = std::max(most, routes / each.cluster.link(link).bandwidth.value());
          EXPECT_DOUBLE_EQ(pairs.routes.seconds_per_byte[slot], most);
        }
      }
    }
  }
}

/// 1 us; 1 GB/s up and 0.5 GB/s down. The one protocol starts sooner, the other carries twice as much.
collectives::StagePairRoutes two_protocols() {
  collectives::StagePairRoutes routes;
  routes.latency = Seconds(1e-6);
  routes.seconds_per_byte = {1e-9, 2e-9};
  routes.protocols = {{"LL", 0.5, Seconds(2e-6), Seconds(100), Seconds(1e-6), Seconds(100)},
                      {"Simple", 1, Seconds(9e-6), Seconds(100), Seconds(4e-6), Seconds(100)}};
  return routes;
}

// LL: 1 + 2 + 1 = 4 us and 2 ns a byte upwards; Simple: 14 us and 1 ns. They meet at 10'000 bytes.
TEST(StagePairRoutes, TheFastestProtocolForTheSize) {
  const collectives::StagePairRoutes routes = two_protocols();
  EXPECT_DOUBLE_EQ(routes.time(0, 0).value(), 4e-6);
  EXPECT_DOUBLE_EQ(routes.time(0, 5'000).value(), 14e-6);
  EXPECT_DOUBLE_EQ(routes.time(0, 20'000).value(), 34e-6);
  const auto small = routes.transfer(collectives::StagePairRoutes::upward, 5'000);
  EXPECT_DOUBLE_EQ(small.latency.value(), 4e-6);
  EXPECT_DOUBLE_EQ(small.bytes, 10'000) << "LL carries a flag with every word";
  const auto large = routes.transfer(collectives::StagePairRoutes::upward, 20'000);
  EXPECT_DOUBLE_EQ(large.latency.value(), 14e-6);
  EXPECT_DOUBLE_EQ(large.bytes, 20'000);
}

// Downwards a byte takes twice as long, so the protocols meet at half the size; both ways at once are as slow as the
// slower one.
TEST(StagePairRoutes, TheSlowerDirectionDecidesForBoth) {
  const collectives::StagePairRoutes routes = two_protocols();
  EXPECT_DOUBLE_EQ(routes.time(1, 4'000).value(), 4e-6 + 16e-6);
  EXPECT_DOUBLE_EQ(routes.time(1, 6'000).value(), 14e-6 + 12e-6);
  for (double bytes = 1; bytes < 1e6; bytes *= 3) {
    EXPECT_EQ(routes.transfer(collectives::StagePairRoutes::both, bytes).time,
              std::max(routes.time(0, bytes), routes.time(1, bytes)));
    EXPECT_LE(routes.time(0, bytes), routes.time(0, 2 * bytes));
    EXPECT_LE(routes.time(0, bytes), routes.time(1, bytes));
  }
}

TEST(StagePairRoutes, WithoutProtocolsBytesGoAsTheyAre) {
  collectives::StagePairRoutes routes = two_protocols();
  routes.protocols.clear();
  const auto transfer = routes.transfer(collectives::StagePairRoutes::downward, 500);
  EXPECT_DOUBLE_EQ(transfer.bytes, 500);
  EXPECT_DOUBLE_EQ(transfer.latency.value(), 1e-6);
  EXPECT_DOUBLE_EQ(transfer.time.value(), 2e-6);
}

}  // namespace
}  // namespace lockstep::test
