// The bound of each kind, by hand. Four nodes of one chip with NICs of 50 GB/s: on one switch, or two and two on leaves
// of which leaf-b has 20 GB/s to the rest.
#include "sim/collectives/lower_bound.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/unit/topologies/graph_of_cluster.hpp"

namespace lockstep {
namespace {

using Kind = workloads::CollectiveKind;

topologies::ClusterSpec one_switch() { return test::nodes(4, test::fabric(topologies::Crossbar{}), test::node(1, 1)); }

topologies::ClusterSpec two_leaves() {
  topologies::NetworkGraph graph;
  graph.switches = {{"leaf-a"}, {"leaf-b"}, {"spine"}};
  for (int host = 0; host < 4; ++host) {
    graph.hosts.push_back({"gpu" + std::to_string(host), {"mlx0"}});
    graph.cables.push_back({topologies::AdapterEnd{host, 0}, topologies::SwitchEnd{host / 2}, 1, {}, {}, ""});
  }
  for (const auto& [leaf, rate] : {std::pair{0, 40e9}, {1, 20e9}})
    graph.cables.push_back({topologies::SwitchEnd{leaf}, topologies::SwitchEnd{2}, 1, BytesPerSecond(rate), {}, ""});
  return test::on_graph(one_switch(), std::make_shared<topologies::NetworkGraph>(std::move(graph)));
}

/// Bytes over V, and over bytes per nanosecond.
double bound(Kind kind, const topologies::ClusterSpec& spec,
             const std::vector<std::vector<topologies::DeviceId>>& groups = {{0, 1, 2, 3}}) {
  return collectives::collective_bound(kind, build_cluster(spec), groups)->time(Bytes(1)).value() * 1e9;
}

/// Two of four members are on leaf b.
TEST(LowerBound, OfEachKindThroughANarrowLeaf) {
  const std::map<Kind, double> share{
      {Kind::all_gather, 0.5}, {Kind::reduce_scatter, 0.5}, {Kind::all_reduce, 1},    {Kind::all_to_all, 2 * 2 / 16.0},
      {Kind::broadcast, 1},    {Kind::reduce, 1},           {Kind::point_to_point, 1}};
  for (const auto& [kind, bytes] : share) EXPECT_NEAR(bound(kind, two_leaves()), bytes / 20, 1e-12) << name(kind);
  const auto named = collectives::collective_bound(Kind::all_gather, build_cluster(two_leaves()), {{0, 1, 2, 3}});
  EXPECT_EQ(named->links, "leaf-b's uplinks: 1 x 20.0 GB/s");
}

/// On one switch the NICs are the narrowest. All of them together receive 2 (4-1) V in an all-reduce.
TEST(LowerBound, OfEachKindAtThePorts) {
  const std::map<Kind, double> share{{Kind::all_gather, 3 / 4.0},
                                     {Kind::reduce_scatter, 3 / 4.0},
                                     {Kind::all_reduce, 2 * 3 / 4.0},
                                     {Kind::all_to_all, 3 / 16.0},
                                     {Kind::broadcast, 1},
                                     {Kind::reduce, 1},
                                     {Kind::point_to_point, 1}};
  for (const auto& [kind, bytes] : share) EXPECT_NEAR(bound(kind, one_switch()), bytes / 50, 1e-12) << name(kind);
}

/// Where the switch adds up, each NIC sends V and receives V, and nothing more is needed.
TEST(LowerBound, IsLowerWhereSwitchesAddUp) {
  auto adds = one_switch();
  adds.fabric.in_network_reduction = true;
  EXPECT_NEAR(bound(Kind::all_reduce, adds), 1 / 50.0, 1e-12);
  EXPECT_NEAR(bound(Kind::all_gather, adds), 0.75 / 50.0, 1e-12);
}

/// Groups that run at once share the leaf: pairs across it put 2 x V/2 of a gather on its 20 GB/s; pairs below one leaf
/// nothing, and each NIC takes V/2.
TEST(LowerBound, CountsAllGroupsAtOnce) {
  EXPECT_NEAR(bound(Kind::all_gather, two_leaves(), {{0, 2}, {1, 3}}), 1 / 20.0, 1e-12);
  EXPECT_NEAR(bound(Kind::all_gather, two_leaves(), {{0, 1}, {2, 3}}), 0.5 / 50, 1e-12);
}

/// A gather's bound is share / capacity of the worst cut. Leaf b: 1/2 over 20 GB/s each way; leaf a: 1/2 over 40; each
/// NIC: 3/4 over 50. With f times the rate of leaf b's two links the bound is the largest of 0.5 / 20 f, 0.5 / 40 and
/// 0.75 / 50.
TEST(LowerBound, WithWiderCuts) {
  const auto cluster = build_cluster(two_leaves());
  for (const double factor : {1.1, 1.5, 3.0}) {
    const auto wider = collectives::with_wider_cuts(Kind::all_gather, cluster, {{0, 1, 2, 3}}, factor);
    ASSERT_TRUE(wider);
    EXPECT_EQ(wider->links, 2);
    EXPECT_NEAR(wider->bound.time(Bytes(1)).value() * 1e9, std::max({0.5 / (20 * factor), 0.5 / 40, 0.75 / 50}), 1e-12);
  }
  EXPECT_EQ(collectives::with_wider_cuts(Kind::all_gather, cluster, {{0, 1, 2, 3}}, 1.5)->bound.links,
            "leaf-b's uplinks: 1 x 30.0 GB/s");
}

/// On one switch all four NICs bind alike, and their links both ways become wider.
TEST(LowerBound, CutsThatBindAlikeAreWidenedTogether) {
  const auto cluster = build_cluster(one_switch());
  for (const auto kind : {Kind::all_gather, Kind::all_reduce}) {
    const auto now = collectives::collective_bound(kind, cluster, {{0, 1, 2, 3}});
    const auto wider = collectives::with_wider_cuts(kind, cluster, {{0, 1, 2, 3}}, 1.1);
    EXPECT_NEAR(now->time(Bytes(1)) / wider->bound.time(Bytes(1)), 1.1, 1e-9) << name(kind);
  }
}

TEST(LowerBound, IsNoneWhereNothingMustCross) {
  EXPECT_FALSE(collectives::with_wider_cuts(Kind::all_gather, build_cluster(one_switch()), {{0}, {1}, {2}, {3}}, 2));
  EXPECT_FALSE(collectives::collective_bound(Kind::all_gather, build_cluster(one_switch()), {{0}, {1}, {2}, {3}}));
}

}  // namespace
}  // namespace lockstep
