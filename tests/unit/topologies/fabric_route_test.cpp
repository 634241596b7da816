#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <set>

#include "tests/unit/topologies/small_fabric.hpp"

namespace lockstep {
namespace {

using test::names;

/// From device to device link by link, no node twice, never through a third device.
void expect_a_path(const topologies::Cluster& cluster, topologies::DeviceId from, topologies::DeviceId to) {
  const std::vector<topologies::LinkId> route = cluster.route(from, to);
  topologies::NodeId here = from;
  std::set<topologies::NodeId> seen{here};
  for (const topologies::LinkId id : route) {
    ASSERT_EQ(cluster.link(id).from, here);
    here = cluster.link(id).to;
    EXPECT_TRUE(seen.insert(here).second) << cluster.node(here).name << " twice";
    EXPECT_TRUE(here == to || cluster.node(here).kind != topologies::NodeKind::device);
  }
  EXPECT_EQ(here, to);
  if (!cluster.unit_is_torus() && cluster.unit_of(from) == cluster.unit_of(to)) {
    for (const topologies::LinkId id : route) EXPECT_EQ(cluster.link(id).kind, topologies::LinkKind::scale_up);
  }
}

/// Every pair has a path. On trees and crossbars no shorter one exists between units, by a search over the whole
/// graph: going up only as far as needed is the fewest hops.
void expect_paths(const topologies::ClusterSpec& spec, bool fewest_hops) {
  const topologies::Cluster cluster = build_cluster(spec);
  for (topologies::DeviceId from = 0; from < cluster.devices(); ++from) {
    for (topologies::DeviceId to = 0; to < cluster.devices(); ++to) {
      if (cluster.unit_of(from) == cluster.unit_of(to) && cluster.unit_is_torus()) continue;
      expect_a_path(cluster, from, to);
      if (fewest_hops) {
        EXPECT_EQ(cluster.route(from, to).size(), cluster.route_nodes(from, to).size()) << from << ' ' << to;
      }
    }
  }
}

constexpr std::array both{topologies::FabricRouting::spray, topologies::FabricRouting::ecmp};

TEST(FabricRoute, IsAPathOfFewestHopsOnEveryTree) {
  for (const topologies::FabricRouting routing : both) {
    for (const auto& kind : std::vector<topologies::FabricKind>{topologies::Crossbar{}, topologies::FatTree{},
                                                                topologies::RailOptimised{}}) {
      for (const int radix : {4, 6, 64}) {
        if (std::holds_alternative<topologies::Crossbar>(kind) || radix > 4)
          expect_paths(test::nodes(7, test::fabric(kind, radix, {}, routing)), true);
      }
    }
    expect_paths(test::nodes(13, test::fabric(topologies::FatTree{}, 4, {}, routing), test::node(1, 1)), true);
    topologies::FabricSpec uneven = test::fabric(topologies::FatTree{}, 8, {3, 2}, routing);
    uneven.link = BytesPerSecond(80e9);
    expect_paths(test::nodes(30, uneven), true);
    expect_paths(test::pods(3, test::fabric(topologies::FatTree{}, 6, {}, routing), {4, 3}),
                 false);  // hosts may be fewer hops than ICI
  }
}

/// In a full mesh a pair has its own link: 4 x 3 pairs, 12 links of a node, each used by one pair.
TEST(FabricRoute, IsOneLinkInAMesh) {
  topologies::NodeSpec mesh = test::node();
  mesh.scale_up = topologies::NodeSpec::ScaleUp::full_mesh;
  const topologies::ClusterSpec spec = test::nodes(3, test::fabric(topologies::Crossbar{}), mesh);
  expect_paths(spec, true);
  const topologies::Cluster cluster = build_cluster(spec);
  std::set<topologies::LinkId> used;
  for (topologies::DeviceId from = 4; from < 8; ++from) {
    for (topologies::DeviceId to = 4; to < 8; ++to) {
      if (from == to) continue;
      ASSERT_EQ(cluster.route(from, to).size(), 1u);
      used.insert(cluster.route(from, to).front());
    }
  }
  EXPECT_EQ(used.size(), 12u);
}

TEST(FabricRoute, IsAPathBetweenHalls) {
  for (const topologies::FabricRouting routing : both) {
    for (const topologies::FabricSpec& hall :
         {test::fabric(topologies::Crossbar{}), test::fabric(topologies::FatTree{}, 6, {}, routing),
          test::dragonfly(routing)}) {
      for (const auto& outer : std::vector<topologies::FabricKind>{topologies::Crossbar{}, topologies::FatTree{}}) {
        topologies::ClusterSpec spec = test::nodes(5, hall);
        spec.halls = 3;
        spec.between_halls = test::fabric(outer, 12, {}, routing);
        expect_paths(spec, false);
      }
    }
  }
}

/// Minimal routes of a dragonfly: chip, NIC, at most one local hop, one global link between groups, one local hop, NIC,
/// chip; never more than 3 links between routers, and one global link exactly if the groups differ.
TEST(FabricRoute, OfADragonflyIsMinimal) {
  for (const topologies::FabricRouting routing : both) {
    expect_paths(test::nodes(14, test::dragonfly(routing)), false);
    const topologies::Cluster cluster = build_cluster(test::nodes(14, test::dragonfly(routing)));
    for (topologies::DeviceId from = 0; from < cluster.devices(); ++from) {
      for (topologies::DeviceId to = 0; to < cluster.devices(); ++to) {
        if (cluster.unit_of(from) == cluster.unit_of(to)) continue;
        const auto route = cluster.route(from, to);
        EXPECT_LE(route.size(), 4u + 3u);
        int global = 0;
        for (std::size_t i = 2; i + 2 < route.size(); ++i) {
          const topologies::Link& link = cluster.link(route[i]);
          global += cluster.node(link.from).name.substr(0, 8) != cluster.node(link.to).name.substr(0, 8) ? 1 : 0;
        }
        EXPECT_EQ(global, cluster.unit_of(from) / 3 == cluster.unit_of(to) / 3 ? 0 : 1);  // 3 nodes of 2 NICs a group
        if (global == 0) {
          EXPECT_EQ(route.size(), cluster.route_nodes(from, to).size());
        }
      }
    }
  }
}

/// All pairs of routers of two groups together use every global link between them by hash; three here.
TEST(FabricRoute, ADragonflyUsesAllGlobalLinks) {
  const topologies::Cluster cluster = build_cluster(test::nodes(9, test::dragonfly(topologies::FabricRouting::ecmp)));
  std::set<topologies::LinkId> used;
  for (topologies::DeviceId from = 0; from < 12; ++from) {  // nodes 0 to 2: group 0
    for (topologies::DeviceId to = 12; to < 24; ++to) {     // nodes 3 to 5: group 1
      for (const topologies::LinkId id : cluster.route(from, to)) {
        const topologies::Link& link = cluster.link(id);
        const bool global =
            cluster.node(link.from).name.starts_with("router(0") && cluster.node(link.to).name.starts_with("router(1");
        if (global) used.insert(id);
      }
    }
  }
  EXPECT_EQ(used.size(), 3u);
}

/// Two groups, so all 3 x 2 global links join the same pair, two of them routers of the same number. Between these
/// routers the two are equals; between others the two of either router are, 4 in all: by hash up to 2 and 4 ways.
TEST(FabricRoute, EqualGlobalLinksAreSharedOut) {
  const topologies::Cluster cluster = build_cluster(test::nodes(6, test::dragonfly(topologies::FabricRouting::ecmp)));
  std::map<std::pair<int, int>, std::set<std::vector<topologies::LinkId>>> ways;  // by the routers at both ends
  for (topologies::DeviceId from = 0; from < 12; ++from) {
    for (topologies::DeviceId to = 12; to < 24; ++to) {
      const auto route = cluster.route(from, to);
      ways[{from / 4, (to - 12) / 4}].insert({route.begin() + 2, route.end() - 2});
    }
  }
  ASSERT_EQ(ways.size(), 9u);
  std::size_t sum = 0;
  for (const auto& [routers, between] : ways) {
    sum += between.size();
    EXPECT_LE(between.size(), routers.first == routers.second ? 2u : 4u);
  }
  EXPECT_GT(sum, ways.size());
}

/// A sprayed dragonfly has the latency of its hashed one between any two chips, however many local hops that saves.
TEST(FabricRoute, SprayingOverADragonflyTakesAsManyHops) {
  for (const int units : {3, 6, 9, 14, 20}) {
    const topologies::Cluster sprayed = build_cluster(test::nodes(units, test::dragonfly()));
    const topologies::Cluster hashed =
        build_cluster(test::nodes(units, test::dragonfly(topologies::FabricRouting::ecmp)));
    expect_paths(test::nodes(units, test::dragonfly()), false);
    for (topologies::DeviceId from = 0; from < sprayed.devices(); ++from) {
      for (topologies::DeviceId to = 0; to < sprayed.devices(); ++to) {
        EXPECT_DOUBLE_EQ(test::latency(sprayed, sprayed.route(from, to)).value(),
                         test::latency(hashed, hashed.route(from, to)).value());
      }
    }
  }
}

/// Up to the tier that both NICs are below, and down: same leaf, same pod, over the cores.
TEST(FabricRoute, GoesUpOnlyAsFarAsNeeded) {
  const topologies::Cluster cluster =
      build_cluster(test::nodes(12, test::fabric(topologies::FatTree{}, 4), test::node(1, 1)));
  EXPECT_THAT(names(cluster, cluster.route(0, 1)),
              testing::ElementsAre("chip(0,0)>nic(0,0)", "nic(0,0)>leaf(0)", "leaf(0)>nic(1,0)", "nic(1,0)>chip(1,0)"));
  EXPECT_THAT(names(cluster, cluster.route(0, 2)),
              testing::ElementsAre("chip(0,0)>nic(0,0)", "nic(0,0)>leaf(0)", "leaf(0)>spine(0)", "spine(0)>leaf(1)",
                                   "leaf(1)>nic(2,0)", "nic(2,0)>chip(2,0)"));
  EXPECT_THAT(
      names(cluster, cluster.route(0, 11)),
      testing::ElementsAre("chip(0,0)>nic(0,0)", "nic(0,0)>leaf(0)", "leaf(0)>spine(0)", "spine(0)>core(0)",
                           "core(0)>spine(2)", "spine(2)>leaf(5)", "leaf(5)>nic(11,0)", "nic(11,0)>chip(11,0)"));
}

/// Latency of a route: 2 x 3 us to and from the first switch, 1 us for each further switch; in a node 2 us.
TEST(FabricRoute, LatencyIsTheSumOfTheLinks) {
  const topologies::Cluster cluster =
      build_cluster(test::nodes(12, test::fabric(topologies::FatTree{}, 4), test::node(1, 1)));
  EXPECT_DOUBLE_EQ(test::latency(cluster, cluster.route(0, 1)).value(), 6e-6);
  EXPECT_DOUBLE_EQ(test::latency(cluster, cluster.route(0, 2)).value(), 8e-6);
  EXPECT_DOUBLE_EQ(test::latency(cluster, cluster.route(0, 11)).value(), 10e-6);
  EXPECT_DOUBLE_EQ(test::latency(build_cluster(test::nodes(1, {})), {0, 1}).value(), 2e-6);
  const topologies::Cluster pods = build_cluster(test::pods(2, test::fabric(topologies::Crossbar{}), {2, 2}));
  EXPECT_DOUBLE_EQ(test::latency(pods, pods.route(0, 4)).value(), 8e-6);  // and 1 us of PCIe at each end
}

TEST(FabricRoute, RailsStayOnTheirLeaf) {
  const topologies::Cluster cluster =
      build_cluster(test::nodes(3, test::fabric(topologies::RailOptimised{}), test::node(4, 4)));
  EXPECT_EQ(cluster.route(1, 9).size(), 4u);  // chip 1 of nodes 0 and 2
  EXPECT_EQ(cluster.route(1, 10).size(), 6u);
}

std::map<std::string, int> uplinks_used(const topologies::FabricSpec& fabric) {
  const topologies::Cluster cluster = build_cluster(test::nodes(64, fabric, test::node(1, 1)));
  std::map<std::string, int> used;
  for (topologies::DeviceId from = 0; from < 32; ++from) ++used[cluster.link_name(cluster.route(from, from + 32)[2])];
  return used;
}

/// Static hashing: a pair of NICs keeps to one path, another seed gives others, and all paths are used by about as
/// many. 32 pairs on 32 uplinks of one leaf: (1 - 1/32)^32 = 36 % of the uplinks stay empty, 20 are used, most collide.
TEST(FabricRoute, EcmpIsDeterministicInTheSeedAndCollides) {
  topologies::FabricSpec fabric = test::fabric(topologies::FatTree{}, 64, {}, topologies::FabricRouting::ecmp);
  const auto first = uplinks_used(fabric);
  EXPECT_EQ(first, uplinks_used(fabric));
  fabric.seed = 2;
  EXPECT_NE(first, uplinks_used(fabric));
  EXPECT_GT(first.size(), 13u);
  EXPECT_LT(first.size(), 28u);
  EXPECT_EQ(uplinks_used(test::fabric(topologies::FatTree{}, 64)),
            (std::map<std::string, int>{{"leaf(0)>spine(0)", 32}}));
}

/// 4096 pairs by hash over 4 uplinks: 1024 each, and none off by more than 5 standard deviations, sqrt(4096 x 1/4 x
/// 3/4) = 28.
TEST(FabricRoute, EcmpSpreadsEvenly) {
  const topologies::Cluster cluster = build_cluster(test::nodes(
      128, test::fabric(topologies::FatTree{}, 68, {16}, topologies::FabricRouting::ecmp), test::node(1, 1)));
  ASSERT_EQ(test::switches(cluster, "leaf"), 2);
  std::map<topologies::LinkId, int> used;
  for (topologies::DeviceId from = 0; from < 64; ++from) {
    for (topologies::DeviceId to = 64; to < 128; ++to) ++used[cluster.route(from, to)[2]];
  }
  ASSERT_EQ(used.size(), 4u);
  for (const auto& [link, count] : used) EXPECT_NEAR(count, 1024, 140) << cluster.link_name(link);
}

/// 16 384 GPUs in 2048 nodes: built in well under a second, a route in about a microsecond. Limits are wide, for busy
/// machines; a search over the graph would take milliseconds for each.
TEST(FabricRoute, IsFastOnManyGpus) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the address sanitizer takes several times as long";
#endif
  using Clock = std::chrono::steady_clock;
  const auto seconds_since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  const auto start = Clock::now();
  const topologies::Cluster cluster = build_cluster(test::nodes(
      2048, test::fabric(topologies::RailOptimised{}, 64, {}, topologies::FabricRouting::ecmp), test::node(8, 8)));
  const double build = seconds_since(start);
  EXPECT_LT(build, 3.0);
  const auto routing = Clock::now();
  std::size_t links = 0;
  constexpr int routes = 200'000;
  for (int i = 0; i < routes; ++i) links += cluster.route(i % 16384, (i * 7919 + 5000) % 16384).size();
  const double each = seconds_since(routing) / routes;
  EXPECT_GT(links, 4u * routes);
  EXPECT_LT(each, 20e-6);
  RecordProperty("build_ms", std::to_string(build * 1e3));
  RecordProperty("route_us", std::to_string(each * 1e6));
}

}  // namespace
}  // namespace lockstep
