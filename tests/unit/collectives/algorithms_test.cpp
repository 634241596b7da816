// Algorithms on networks have in common that they order members unit by unit, look up NICs, and let a protocol change
// bytes and steps:
//   carried = V / efficiency,   local step = links inside a unit + the protocol's,   remote step likewise between
//   units.
#include "sim/collectives/algorithms.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "sim/collectives/collective_model.hpp"
#include "sim/collectives/designed.hpp"
#include "sim/collectives/unit_stages.hpp"
#include "tests/unit/topologies/small_fabric.hpp"
#include "tests/unit/topologies/small_torus.hpp"

namespace lockstep::test {
namespace {

using namespace collectives::network;
using Kind = workloads::CollectiveKind;
using testing::ElementsAre;

const collectives::CollectiveAlgorithm& named(std::string_view name) {
  for (const collectives::CollectiveAlgorithm* algorithm : collectives::collective_algorithms()) {
    if (algorithm->name() == name) return *algorithm;
  }
  throw std::out_of_range(std::string(name));
}
const collectives::CollectiveAlgorithm& recursive_halving() { return named("recursive halving"); }
const collectives::CollectiveAlgorithm& hierarchical_ring() { return named("hierarchical ring"); }

collectives::GroupStructure of_units(int units, int local) {
  collectives::GroupStructure groups;
  groups.units = units;
  groups.local = groups.most_local = local;
  groups.members = units * local;
  groups.local_hop = Seconds(2e-6);
  groups.remote_hop = groups.cross_hop = Seconds(6e-6);
  return groups;
}

TEST(CollectiveAlgorithms, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const collectives::CollectiveAlgorithm* algorithm : collectives::collective_algorithms()) {
    EXPECT_TRUE(names.insert(algorithm->name()).second) << algorithm->name();
    EXPECT_FALSE(algorithm->name().empty());
  }
  EXPECT_THAT(names, testing::IsSupersetOf({"torus", "ring", "tree", "direct"}));
}

TEST(Protocols, AddTheirStepsAndTakeTheirShare) {
  const topologies::Protocol protocol{"LL", 0.5, Seconds(1e-6), Seconds(2e-6), Seconds(4e-6), Seconds(8e-6)};
  const collectives::GroupStructure groups = of_units(2, 4);
  EXPECT_DOUBLE_EQ(local_step(groups, protocol).value(), 4e-6);
  EXPECT_DOUBLE_EQ(remote_step(groups, protocol).value(), 10e-6);
  EXPECT_DOUBLE_EQ(carried(Bytes(100), protocol), 200);
  EXPECT_DOUBLE_EQ(carried(Bytes(100), topologies::Protocol{}), 100);
  const topologies::Protocol running = launched(protocol);
  EXPECT_EQ(running.launch, Seconds(0));
  EXPECT_EQ(running.local_step, protocol.local_step);
  EXPECT_EQ(running.efficiency, 0.5);
}

// Between nodes, and between single chips of pods, every way leads through switches; chips of one torus have links.
TEST(WithoutTorus, WhereEveryWayLeadsThroughSwitches) {
  const topologies::Cluster of_nodes = build_cluster(nodes(2, fabric(topologies::Crossbar{})));
  const topologies::Cluster of_pods = build_cluster(pods(2, fabric(topologies::Crossbar{}), {4}));
  EXPECT_TRUE(without_torus(of_nodes, of_units(1, 4)));
  EXPECT_TRUE(without_torus(of_nodes, of_units(2, 4)));
  EXPECT_FALSE(without_torus(of_pods, of_units(1, 4)));
  EXPECT_FALSE(without_torus(of_pods, of_units(2, 4)));
  EXPECT_TRUE(without_torus(of_pods, of_units(2, 1)));
}

// Nodes of four chips with two NICs: chips 0 and 1 share the first.
TEST(Nics, AreFoundByTheWayOutOfTheUnit) {
  const topologies::Cluster cluster = build_cluster(nodes(2, fabric(topologies::Crossbar{})));
  EXPECT_EQ(cluster.node(cluster.nic_of(1)).name, "nic(0,0)");
  EXPECT_EQ(cluster.node(cluster.nic_of(2)).name, "nic(0,1)");
  EXPECT_EQ(cluster.node(cluster.nic_of(7)).name, "nic(1,1)");
  collectives::NetworkGroup group;
  group.members = {0, 1, 2, 3, 4, 5, 6, 7};
  group.units = {{0, 1, 2, 3}, {4, 5, 6, 7}};
  collectives::GroupStructure groups = of_units(2, 4);
  groups.rails = 2;
  EXPECT_THAT(rail_starts(cluster, group, groups), ElementsAre(0, 2)) << "the first chip on each NIC";
  groups.rails = 1;
  EXPECT_THAT(rail_starts(cluster, group, groups), ElementsAre(0));
  group.units = {{1, 3}, {5, 7}};
  groups.rails = 2;
  EXPECT_THAT(rail_starts(cluster, group, groups), ElementsAre(0, 1));
}

TEST(ByUnit, MembersFollowTheOrderOfUnits) {
  collectives::NetworkGroup group;
  group.members = {0, 4, 1, 5};
  group.units = {{4, 5}, {0, 1}};
  EXPECT_THAT(by_unit(group), ElementsAre(4, 5, 0, 1));
}

TEST(AppendRoute, AddsBehindWhatIsThere) {
  const topologies::Cluster cluster = torus({4}, never);
  std::vector<topologies::LinkId> links{99};
  append_route(cluster, 0, 2, links);
  append_route(cluster, 2, 2, links);
  EXPECT_EQ(links.size(), 3U);
  EXPECT_EQ(links[0], 99);
  EXPECT_EQ(cluster.link(links[2]).to, 2);
}

// Halving needs a power of two; a tree needs several units; a hierarchy several members in each of several units.
TEST(CollectiveAlgorithms, ServeTheGroupsThatTheyAreMadeFor) {
  const topologies::Cluster cluster = build_cluster(nodes(4, fabric(topologies::Crossbar{})));
  for (const int units : {1, 2, 3, 4}) {
    for (const int local : {1, 2, 3, 4}) {
      const collectives::GroupStructure groups = of_units(units, local);
      const int members = units * local;
      const bool power = members == 1 || members == 2 || members == 4 || members == 8 || members == 16;
      EXPECT_EQ(recursive_halving().serves(Kind::all_reduce, cluster, groups), power) << members;
      EXPECT_EQ(tree().serves(Kind::all_reduce, cluster, groups), units > 1);
      EXPECT_EQ(hierarchical_ring().serves(Kind::all_reduce, cluster, groups), units > 1 && local > 1);
      EXPECT_EQ(UnitStages::possible(Kind::all_reduce, cluster, groups, tree()), units > 1 && local > 1);
      EXPECT_FALSE(collectives::network::torus().serves(Kind::all_reduce, cluster, groups));
      EXPECT_TRUE(ring().serves(Kind::all_reduce, cluster, groups));
    }
  }
  EXPECT_FALSE(tree().serves(Kind::all_gather, cluster, of_units(4, 1)));
  EXPECT_FALSE(recursive_halving().serves(Kind::broadcast, cluster, of_units(4, 1)));
  EXPECT_FALSE(in_network().serves(Kind::all_reduce, cluster, of_units(4, 2))) << "no switch here adds up";
  EXPECT_FALSE(UnitStages::possible(Kind::all_gather, cluster, of_units(4, 2), tree())) << "a tree does not gather";
}

// Halving: V/2, V/4, ... V/N, together V (N-1)/N; with the nearest partners first, each step inside a unit as long as
// all partners share one. Doubling goes the same way back.
TEST(RecursiveHalving, CarriesHalfOfWhatIsLeftInEachStep) {
  const topologies::Cluster cluster = build_cluster(nodes(4, fabric(topologies::Crossbar{})));
  const collectives::GroupStructure groups = of_units(4, 4);
  const auto scatter =
      recursive_halving().plan(Kind::reduce_scatter, Bytes(1600), cluster, groups, topologies::Protocol{});
  ASSERT_EQ(scatter.size(), 4U);
  double bytes = 0;
  for (std::size_t step = 0; step < 4; ++step) {
    EXPECT_DOUBLE_EQ(scatter[step].slot_bytes[step], 1600.0 / static_cast<double>(2U << step));
    EXPECT_EQ(scatter[step].latency, Seconds(step < 2 ? 2e-6 : 6e-6)) << "two steps stay in a node of four";
    bytes += scatter[step].slot_bytes[step];
  }
  EXPECT_DOUBLE_EQ(bytes, 1500);
  const auto gather = recursive_halving().plan(Kind::all_gather, Bytes(1600), cluster, groups, topologies::Protocol{});
  const auto both = recursive_halving().plan(Kind::all_reduce, Bytes(1600), cluster, groups, topologies::Protocol{});
  ASSERT_EQ(both.size(), 8U);
  for (std::size_t step = 0; step < 4; ++step) {
    EXPECT_EQ(gather[step].slot_bytes, scatter[3 - step].slot_bytes);
    EXPECT_EQ(both[step].slot_bytes, scatter[step].slot_bytes);
    EXPECT_EQ(both[4 + step].slot_bytes, gather[step].slot_bytes);
  }
}

// The launch is paid once, by the first stage; inner slots come first, and each stage uses only its own.
TEST(UnitStages, FollowOneAnother) {
  const topologies::Cluster cluster = build_cluster(nodes(2, fabric(topologies::Crossbar{})));
  const collectives::GroupStructure groups = of_units(2, 4);
  const UnitStages stages(cluster, groups, ring());
  const topologies::Protocol protocol{"Simple", 1, Seconds(100e-6), Seconds(0), Seconds(0), Seconds(0)};
  std::vector<collectives::Phase> phases;
  stages.inside(phases, Kind::reduce_scatter, Bytes(4000), 1, protocol);
  const std::size_t inner = phases.size();
  stages.across(phases, Kind::all_reduce, Bytes(4000), 0.25, protocol);
  std::vector<collectives::Phase> whole;
  stages.across(whole, Kind::all_reduce, Bytes(4000), 1, protocol);
  ASSERT_EQ(phases.size(), inner + whole.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (std::size_t slot = 0; slot < whole[i].slot_bytes.size(); ++slot)
      EXPECT_DOUBLE_EQ(phases[inner + i].slot_bytes[slot], whole[i].slot_bytes[slot] / 4) << "a quarter of the bytes";
  }
  ASSERT_GT(inner, 0U);
  ASSERT_GT(phases.size(), inner);
  EXPECT_GE(phases.front().latency, Seconds(100e-6));
  const std::int32_t first_outer = direct().slots(cluster, of_units(1, 4));
  EXPECT_EQ(stages.slots(), first_outer + ring().slots(cluster, of_units(2, 1)));
  for (std::size_t i = 0; i < phases.size(); ++i) {
    ASSERT_EQ(std::ssize(phases[i].slot_bytes), stages.slots());
    if (i > 0) {
      EXPECT_LT(phases[i].latency, Seconds(100e-6));
    }
    for (std::int32_t slot = 0; slot < stages.slots(); ++slot) {
      if (phases[i].slot_bytes[static_cast<std::size_t>(slot)] > 0) {
        EXPECT_EQ(slot >= first_outer, i >= inner);
      }
    }
  }
}

// An algorithm runs a kind if and only if some group of these networks is served.
TEST(Algorithms, RunTheKindsThatTheyServe) {
  std::vector<topologies::Cluster> clusters;
  for (const bool in_network : {false, true}) {
    auto unit = node();
    unit.in_network_reduction = in_network;
    auto leaves = fabric(topologies::FatTree{}, 8);
    leaves.in_network_reduction = in_network;
    for (const int units : {1, 4}) clusters.push_back(build_cluster(nodes(units, leaves, unit)));
  }
  for (const auto& wrap : {always, never}) clusters.push_back(torus({4, 4}, wrap));  // open axes join to a ring
  std::set<std::pair<std::string, Kind>> served;
  for (const auto& cluster : clusters) {
    topologies::MeshAxis all{"all", {}};
    for (const topologies::AxisId id : cluster.axes().ids()) all.factors.push_back({id, cluster.axes()[id].size, 1});
    const topologies::Mesh mesh{cluster, {all}, ""};
    collectives::CollectiveModel model(cluster, mesh);
    for (const auto kind : workloads::all_collective_kinds) {
      for (const auto& name : model.algorithms(kind, {"all"})) served.emplace(name, kind);
    }
  }
  for (const auto* algorithm : collectives::collective_algorithms()) {
    for (const auto kind : workloads::all_collective_kinds) {
      const auto is_served = algorithm->name() == collectives::designed_name
                                 ? collectives::is_designed(kind)
                                 : served.contains({std::string(algorithm->name()), kind});
      EXPECT_EQ(collectives::runs(*algorithm, kind), is_served) << algorithm->name() << ' ' << name(kind);
    }
  }
}

}  // namespace
}  // namespace lockstep::test
