// Links that collectives share, by hand. Nodes of one chip and one NIC of 50 GB/s; two NICs to a leaf.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "tests/unit/collectives/network_case.hpp"
#include "tests/unit/engine/child_run.hpp"

namespace lockstep::test {
namespace {

using Kind = workloads::CollectiveKind;

/// Groups of chips 0, 2 and of chips 1, 3: each has one chip under either leaf.
NetworkCase across_leaves(const topologies::FabricSpec& fabric, std::vector<program::Perturbation> faults = {}) {
  return {nodes(4, node(1), fabric),
          {{"group", {{0, 2, 2}}}, {"sibling", {{0, 2, 1}, {1, 1, 1}}}},
          {"group"},
          std::move(faults)};
}

/// The communicator of one group alone.
collectives::Communicator alone(const collectives::Communicator& all, std::size_t group) {
  return {all.name, all.slots, {all.groups[group]}};
}

double end_of(const Spans& spans, std::int32_t op, topologies::RankId rank) { return spans.end(op, rank); }

// Two rings of two through uplinks of 2 x 50 / 2 = 50 GB/s: each hop carries V/2. All at once both get half an uplink:
// T = V/2 / 25e9 and two hops of 4 + 2 x 0.5 us less one.
TEST(SharedUplink, TwoRingsOfOneCollective) {
  const auto groups = across_leaves(fat_tree(2, 2));
  const auto choice = groups.network().choose(Kind::all_gather, Bytes(1'000'000'000), "ring");
  const double expected = 0.5e9 / 25e9 + 5 * us;
  EXPECT_NEAR(choice.cost.value(), expected, 1e-9 * expected);
  EXPECT_NEAR(groups.simulated(choice), expected, 1e-9 * expected);
  // Without oversubscription each has its own NIC's rate.
  const auto full = across_leaves(fat_tree(2, 1));
  EXPECT_NEAR(full.network().choose(Kind::all_gather, Bytes(1'000'000'000), "ring").cost.value(), 0.5e9 / 50e9 + 5 * us,
              1e-12);
}

// Max-min over time: rings of V = 1 GB and 2 GB, hops of 0.5 and 1 GB. Both at 25 GB/s until 20 ms, when the second has
// 0.5 GB left, now at 50 GB/s: 30 ms (and 5 us of latency each).
TEST(SharedUplink, TwoRingsOfDifferentSizes) {
  const auto groups = across_leaves(fat_tree(2, 2));
  const auto& network = groups.network();
  const auto small = network.choose(Kind::all_gather, Bytes(1'000'000'000), "ring");
  const auto large = network.choose(Kind::all_gather, Bytes(2'000'000'000), "ring");
  const auto& all = network.communicator(*small.algorithm);
  auto program = empty_program(groups.cluster());
  add_collective(program, alone(all, 0), small);
  add_collective(program, alone(all, 1), large);
  const auto spans = run_in_child(program, engine::EngineKind::simgrid);
  EXPECT_NEAR(end_of(spans, 0, all.groups[0].members.front()), 20e-3 + 5 * us, 1e-11);
  EXPECT_NEAR(end_of(spans, 1, all.groups[1].members.front()), 30e-3 + 5 * us, 1e-11);
}

// Two stages of one NIC: a ring of V = 1 GB (hops of 0.5 GB) and an all-to-all of the same two chips (V/4 = 0.25 GB
// each way) share the NICs evenly: the all-to-all ends after 0.25 / 25e9 = 10 ms, the ring's last 0.25 GB take 5 ms.
TEST(SharedUplink, RingAndAllToAll) {
  const NetworkCase groups(nodes(2, node(1)), "unit");
  const auto& network = groups.network();
  auto program = empty_program(groups.cluster());
  for (const auto& [kind, algorithm] : {std::pair{Kind::all_gather, "ring"}, std::pair{Kind::all_to_all, "direct"}}) {
    const auto choice = network.choose(kind, Bytes(1'000'000'000), algorithm);
    add_collective(program, network.communicator(*choice.algorithm), choice);
  }
  const auto spans = run_in_child(program, engine::EngineKind::simgrid);
  EXPECT_NEAR(spans.end(1), 10e-3 + 4 * us, 1e-11);
  EXPECT_NEAR(spans.end(0), 15e-3 + 4 * us, 1e-11);
}

// All-to-all of 4 over uplinks of 50 GB/s: of the 12 pairs 2 x 2 cross each uplink, V/16 each, so V/4 / 50e9; a NIC
// sends 3 V/16. Without oversubscription the NIC decides. Three times the members below the spine with 3:1: 9 of V/36.
TEST(AllToAllThroughASpine, UplinkOfALeaf) {
  const Bytes size(1'600'000'000);
  const auto direct_time = [&](const topologies::ClusterSpec& spec) {
    const NetworkCase groups(spec, "unit");
    const auto choice = groups.network().choose(Kind::all_to_all, size, "direct");
    EXPECT_NEAR(groups.simulated(choice), choice.cost.value(), 1e-9 * choice.cost.value());
    return choice.cost.value();
  };
  EXPECT_NEAR(direct_time(nodes(4, node(1), fat_tree(2, 2))), 1.6e9 / 4 / 50e9 + 5 * us, 1e-11);
  EXPECT_NEAR(direct_time(nodes(4, node(1), fat_tree(2, 1))), 1.6e9 * 3 / 16 / 50e9 + 5 * us, 1e-11);
  EXPECT_NEAR(direct_time(nodes(6, node(1), fat_tree(3, 3))), 1.6e9 * 9 / 36 / 50e9 + 5 * us, 1e-11);
}

// A ring of 4 in the order of its ranks, two NICs to a leaf, uplinks of 2 x 50 / 2 = 50 GB/s. Ranks as nodes are
// numbered leave each leaf once, 3/4 V over an uplink; ranks on nodes 0 2 1 3 do at every hop, twice as much. Whoever
// knows the network goes round as in the first case. A hop that crosses has 5 us of latency, one that stays has 4.
TEST(RankOrder, RingsFollowTheRanks) {
  const auto ring = [](const std::vector<topologies::DeviceId>& devices, collectives::UnitOrder order) {
    auto spec = nodes(4, node(1), fat_tree(2, 2));
    spec.order = {topologies::RankOrder::Kind::listed, 1, devices};
    const topologies::Cluster cluster = build_cluster(spec);
    const topologies::Mesh mesh(cluster, all_as_one(cluster), "");
    const collectives::GroupNetwork network(cluster, mesh, {"all"}, order);
    const auto choice = network.choose(Kind::all_gather, Bytes(1'000'000'000), "ring");
    auto program = empty_program(cluster);
    add_collective(program, network.communicator(*choice.algorithm), choice);
    const auto spans = run_in_child(program, engine::EngineKind::simgrid);
    EXPECT_NEAR(spans.end(0), choice.cost.value(), 1e-12);
    return choice.cost.value();
  };
  const double once = 0.75e9 / 50e9, latency = 3.0 / 4 * (2 * 4 + 2 * 5) * us;
  EXPECT_NEAR(ring({0, 1, 2, 3}, collectives::UnitOrder::ranks), once + latency, 1e-12);
  EXPECT_NEAR(ring({1, 0, 3, 2}, collectives::UnitOrder::ranks), once + latency, 1e-12);
  EXPECT_NEAR(ring({0, 2, 1, 3}, collectives::UnitOrder::ranks), 2 * once + 3.0 / 4 * (4 * 5) * us, 1e-12);
  EXPECT_NEAR(ring({0, 2, 1, 3}, collectives::UnitOrder::topology_aware), once + latency, 1e-12);
}

// Packed ranks are in the cluster's order, whichever axis of the mesh is the outer one: a group of both has the same
// rings.
TEST(RankOrder, PackedRanksAreInTheOrderOfTheNetwork) {
  const topologies::Cluster cluster = build_cluster(nodes(8, node(4), fat_tree(8, 2)));
  const std::vector<topologies::Factor> near{{0, 2, 1}}, far{{0, 4, 2}}, chips{{1, 4, 1}};
  for (const auto& axes : {std::vector<topologies::MeshAxis>{{"a", near}, {"b", far}, {"c", chips}},
                           std::vector<topologies::MeshAxis>{{"b", far}, {"a", near}, {"c", chips}},
                           std::vector<topologies::MeshAxis>{{"c", chips}, {"a", near}, {"b", far}}}) {
    const topologies::Mesh mesh(cluster, axes, "");
    for (const auto& along :
         {std::vector<std::string>{"a", "b"}, std::vector<std::string>{"b"}, std::vector<std::string>{"a", "b", "c"}}) {
      const collectives::GroupNetwork ranks(cluster, mesh, along),
          aware(cluster, mesh, along, collectives::UnitOrder::topology_aware);
      const auto& algorithm = *ranks.choose(Kind::all_gather, Bytes(1'000'000), "ring").algorithm;
      const auto& one = ranks.communicator(algorithm).groups;
      const auto& other = aware.communicator(algorithm).groups;
      ASSERT_EQ(one.size(), other.size());
      for (std::size_t group = 0; group < one.size(); ++group) {
        ASSERT_EQ(one[group].flows.size(), other[group].flows.size());
        for (std::size_t flow = 0; flow < one[group].flows.size(); ++flow)
          EXPECT_EQ(one[group].flows[flow].links, other[group].flows[flow].links);
      }
    }
  }
}

// Two groups run the same two phases, of which the first takes both over one link and the second over another, t for
// each alone. Started together, at t, they take 2 t a phase, until 5 t. If one starts t late, each always has a link to
// itself, and both have ended at 4 t: a delay makes the whole faster, by no more than what sharing with siblings had
// cost. If it is t/2 late, they share for half of each phase.
TEST(SharedLinks, ALateGroupMayEndAllSooner) {
  constexpr double t = 1e-3;
  const auto groups = across_leaves(fat_tree(2, 2));
  const auto end = [&](double late) {
    auto program = empty_program(groups.cluster());
    const double bytes = t * program.links[0].value();
    program.communicators.push_back(
        {"two phases", 2, {{{0, 2}, {{0, {0}}, {1, {2}}}}, {{1, 3}, {{0, {0}}, {1, {2}}}}}});
    program.streams = {"compute", "communication"};
    program::ProgramOp wait;
    wait.kind = program::ProgramOp::Kind::compute;
    wait.streams = {0};
    wait.duration = Seconds(t);
    program.slowdown_of_rank = {1, 1 + late, 1, 1 + late};
    program::ProgramOp both;
    both.kind = program::ProgramOp::Kind::collective;
    both.streams = {1};
    both.communicator = 0;
    both.phases = {{Seconds(0), {bytes, 0}},
                   {Seconds(0), {0, bytes * program.links[2].value() / program.links[0].value()}}};
    both.closed_form = Seconds(4 * t);
    both.predecessors = {0};
    program.ops = {wait, both};
    const auto spans = run_in_child(program, engine::EngineKind::simgrid);
    return std::max(spans.end(1, 0), spans.end(1, 1));
  };
  EXPECT_NEAR(end(0), 5 * t, 1e-9 * t);
  EXPECT_NEAR(end(1), 4 * t, 1e-9 * t);
  EXPECT_NEAR(end(0.5), 4.5 * t, 1e-9 * t);
}

// ECMP on two spines: a seed sends 0>2 and 1>3 over one spine, and each gets half the bandwidth; another keeps all
// pairs apart, and they get all of it. T = V / (25 or 50 GB/s) + 5 us.
TEST(Ecmp, CollisionsHalveTheBandwidth) {
  bool collided = false, apart = false;
  for (std::uint64_t seed = 1; seed < 100 && !(collided && apart); ++seed) {
    const auto groups = across_leaves(fat_tree(2, 1, topologies::FabricRouting::ecmp, seed));
    const auto shared = [&](topologies::DeviceId a, topologies::DeviceId b, topologies::DeviceId c,
                            topologies::DeviceId d) {
      const auto one = groups.cluster().route(a, b), other = groups.cluster().route(c, d);
      return std::any_of(one.begin(), one.end(), [&](topologies::LinkId link) {
        return std::find(other.begin(), other.end(), link) != other.end();
      });
    };
    const bool there = shared(0, 2, 1, 3), back = shared(2, 0, 3, 1);
    if (there != back) continue;
    (there ? collided : apart) = true;
    const auto choice = groups.network().choose(Kind::point_to_point, Bytes(1'000'000'000), "shift");
    const double expected = 1e9 / (there ? 25e9 : 50e9) + 5 * us;
    EXPECT_NEAR(choice.cost.value(), expected, 1e-9 * expected);
    EXPECT_NEAR(groups.simulated(choice), expected, 1e-9 * expected);
  }
  EXPECT_TRUE(collided && apart);
}

// A connection of 4 channels with 2 queue pairs each is 8 flows of an eighth of the bytes, hashed one by one, and ends
// with the slowest: T = V / 8 x the most flows on a cable / 50 GB/s + 5 us. Of 16 flows on two spines 8 or more share
// one; over many seeds that is less than when all of a pair's bytes go the same way.
TEST(Ecmp, FlowsOfAConnectionAreHashedOneByOne) {
  double split = 0, whole = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    auto fabric = fat_tree(2, 1, topologies::FabricRouting::ecmp, seed);
    whole += across_leaves(fabric).network().cost(Kind::point_to_point, Bytes(1'000'000'000), "shift").value();
    fabric.channels = 4;
    fabric.queue_pairs = 2;
    const auto groups = across_leaves(fabric);
    std::map<topologies::LinkId, int> flows;
    int most = 0;
    for (topologies::DeviceId device = 0; device < 4; ++device) {
      const auto links = groups.cluster().routes(device, (device + 2) % 4);
      EXPECT_EQ(links.size(), 8 * groups.cluster().route(device, (device + 2) % 4).size());
      for (const auto link : links) {
        if (groups.cluster().link(link).kind == topologies::LinkKind::network) most = std::max(most, ++flows[link]);
      }
    }
    ASSERT_GE(most, 8);
    const auto choice = groups.network().choose(Kind::point_to_point, Bytes(1'000'000'000), "shift");
    EXPECT_NEAR(choice.cost.value(), 1e9 / 8 * most / 50e9 + 5 * us, 1e-11);
    EXPECT_NEAR(groups.simulated(choice), 1e9 / 8 * most / 50e9 + 5 * us, 1e-11);
    split += choice.cost.value();
  }
  EXPECT_LT(split, 0.9 * whole);
}

// Without one of two spines all pairs meet on the other, whatever the seed: T = V / 25 GB/s + 5 us. With it at half its
// bandwidth, T = V / 12.5 GB/s; the cost, which looks at whole links, does not know.
TEST(Faults, AMissingSpineLeavesTheOther) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const auto fabric = fat_tree(2, 1, topologies::FabricRouting::ecmp, seed);
    for (const double left : {1.0, 0.5}) {
      const auto groups =
          across_leaves(fabric, {program::DegradedNode{"spine(0,1)", 0}, program::DegradedNode{"spine(0,0)", left}});
      const auto choice = groups.network().choose(Kind::point_to_point, Bytes(1'000'000'000), "shift");
      EXPECT_NEAR(choice.cost.value(), 1e9 / 25e9 + 5 * us, 1e-11);
      EXPECT_NEAR(groups.simulated(choice), 1e9 / 25e9 / left + 5 * us, 1e-11);
    }
  }
}

// Three pairs 0>3, 1>4, 2>5 over three spines, of which one goes down: two spines carry three flows of V each way, so
// one of them two at least. Of the two (or three) on one spine each gets 50 / 2 (or 50 / 3) GB/s.
TEST(Faults, ThreeFlowsOverTwoSpines) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    for (const char* gone : {"spine(0,0)", "spine(0,1)", "spine(0,2)"}) {
      const NetworkCase groups(nodes(6, node(1), fat_tree(3, 1, topologies::FabricRouting::ecmp, seed)),
                               {{"group", {{0, 2, 3}}}, {"sibling", {{0, 3, 1}, {1, 1, 1}}}}, {"group"},
                               {program::DegradedNode{gone, 0}});
      int most = 0;
      std::map<topologies::LinkId, int> flows;
      for (topologies::DeviceId device = 0; device < 6; ++device)
        most = std::max(most, ++flows[groups.cluster().route(device, (device + 3) % 6)[2]]);
      EXPECT_LE(flows.size(), 4U);  // two up from each leaf
      ASSERT_GE(most, 2);
      const auto choice = groups.network().choose(Kind::point_to_point, Bytes(1'000'000'000), "shift");
      EXPECT_NEAR(groups.simulated(choice), 1e9 / (50e9 / most) + 5 * us, 1e-11);
    }
  }
}

// A sprayed uplink of 2 x 50 GB/s that has lost one of its two cables: two rings with hops of V/2 get 25 GB/s each on
// the way up, and go round at that rate; without faults each has its own NIC's 50.
TEST(Faults, ASprayedUplinkThatLostACable) {
  const auto groups = across_leaves(fat_tree(2, 1), {program::DegradedLink{"leaf(0)", "spine(0)", 0.5}});
  const auto choice = groups.network().choose(Kind::all_gather, Bytes(1'000'000'000), "ring");
  EXPECT_NEAR(choice.cost.value(), 0.5e9 / 50e9 + 5 * us, 1e-11);
  EXPECT_NEAR(groups.simulated(choice), 0.5e9 / 25e9 + 5 * us, 1e-11);
}

// A NIC at a fifth of its rate: the ring through it goes at 10 GB/s, the other group's at 50.
TEST(Faults, ASlowNicSlowsItsGroupOnly) {
  const auto groups = across_leaves(fat_tree(2, 1), {program::DegradedNode{"nic(0,0)", 0.2}});
  const auto choice = groups.network().choose(Kind::all_gather, Bytes(1'000'000'000), "ring");
  const auto spans = run_in_child(groups.program(choice), engine::EngineKind::simgrid);
  EXPECT_NEAR(end_of(spans, 0, 0), 0.5e9 / 10e9 + 5 * us, 1e-11);
  EXPECT_NEAR(end_of(spans, 0, 1), 0.5e9 / 50e9 + 5 * us, 1e-11);
}

}  // namespace
}  // namespace lockstep::test
