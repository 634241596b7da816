// Idle closed forms of every algorithm: launch + steps x (links + step of the protocol) + bytes / (efficiency x
// bandwidth). Each holds for GroupNetwork's cost, for the flows on SimGrid and for the reference engine.
#include <gtest/gtest.h>

#include <numeric>

#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/lower_bound.hpp"
#include "tests/unit/collectives/network_case.hpp"

namespace lockstep::test {
namespace {

using Kind = workloads::CollectiveKind;

constexpr double v = 512e6;
const Bytes size(512'000'000);
constexpr double local = us;       // links from chip to chip of a node
constexpr double remote = 4 * us;  // 2 us into the crossbar and 2 us out of it

void expect_time(const NetworkCase& groups, Kind kind, const std::string& algorithm, double expected) {
  const auto choice = groups.network().choose(kind, size, algorithm);
  EXPECT_NEAR(choice.cost.value(), expected, 1e-9 * expected) << algorithm << ' ' << name(kind);
  EXPECT_NEAR(groups.simulated(choice), expected, 1e-9 * expected) << algorithm << ' ' << name(kind) << " on SimGrid";
  EXPECT_NEAR(groups.referenced(choice), expected, 1e-9 * expected)
      << algorithm << ' ' << name(kind) << " by reference";
}

bool serves(const NetworkCase& groups, Kind kind, const std::string& algorithm) {
  for (const auto& choice : groups.network().choices(kind, size)) {
    if (choice.algorithm->name() == algorithm) return true;
  }
  return false;
}

// One ring over 8 ports: every hop carries V (N-1)/N, in N-1 steps of 1 us; all-reduce twice that, broadcast V.
TEST(RingOnSwitches, OneNode) {
  const NetworkCase node8(nodes(1, node()), "local");
  expect_time(node8, Kind::all_gather, "ring", v * 7 / 8 / port + 7 * local);
  expect_time(node8, Kind::reduce_scatter, "ring", v * 7 / 8 / port + 7 * local);
  expect_time(node8, Kind::all_reduce, "ring", 2 * (v * 7 / 8 / port + 7 * local));
  expect_time(node8, Kind::broadcast, "ring", v / port + 7 * local);
  expect_time(node8, Kind::reduce, "ring", v / port + 7 * local);
}

// n = 4 nodes, N = 32: 8 rings, one for each NIC, carry 2V (N-1)/N / 8 each. A datum makes 31 steps; 4 of them are the
// crossings between nodes. An odd number of nodes closes each ring on another rail, with the same load on each NIC.
TEST(RingOnSwitches, RailsOverNodes) {
  for (const int n : {2, 3, 4}) {
    const NetworkCase groups(nodes(n, node()), "all");
    const double members = 8.0 * n;
    const double pass = v * (members - 1) / members / 8 / nic + (members - 1 - n) * local + n * remote;
    expect_time(groups, Kind::all_reduce, "ring", 2 * pass);
    expect_time(groups, Kind::all_gather, "ring", pass);
  }
}

// On full meshes the 8 rings pass each node on different links, V/8 (N-1)/N on each (60 GB/s), so NICs decide (50
// GB/s). Through neighbours only, 7 of the 8 rings would share a link.
TEST(RingOnSwitches, RailsOverMeshes) {
  const NetworkCase groups(nodes(2, mesh_node()), "all");
  expect_time(groups, Kind::all_gather, "ring", v * 15 / 16 / 8 / nic + 13 * local + 2 * remote);
}

// On a rail-optimised fabric and an even number of nodes no ring leaves its rail: with an uplink of a quarter of the
// leaf's bandwidth rings are as fast as without limit, but the direct exchange is not.
TEST(RingOnSwitches, CrossingsStayOnTheirRail) {
  auto fabric = fat_tree(4, 4);
  fabric.kind = topologies::RailOptimised{.nodes_per_scalable_unit = 4};
  fabric.radix = 64;
  const NetworkCase groups(nodes(4, node(), fabric), "all");
  expect_time(groups, Kind::all_gather, "ring", v * 31 / 32 / 8 / nic + 27 * local + 4 * remote);
  const auto direct = groups.network().choose(Kind::all_to_all, size, "direct");
  // A leaf's 4 NICs send 4 x 3 x 7 chunks to other rails over an uplink of 4 / 4 NICs and one more switch.
  const double expected = v / 32 / 32 * 4 * 3 * 7 / nic + remote + 2 * 0.5 * us;
  EXPECT_NEAR(direct.cost.value(), expected, 1e-9 * expected);
}

// Two chips share a NIC: four rails, so each NIC still carries an equal part, 2V (N-1)/N / 4.
TEST(RingOnSwitches, SharedNics) {
  auto shared = node();
  shared.nics = 4;
  const NetworkCase groups(nodes(2, shared), "all");
  EXPECT_EQ(groups.network().structure().rails, 4);
  expect_time(groups, Kind::all_gather, "ring", v * 15 / 16 / 4 / nic + 13 * local + 2 * remote);
}

// A full mesh of 8 has 3 pairs of opposite rings without a common link: V 7/8 / 6 over links of 60 GB/s; one of 5 has 2
// pairs, on all of its 20 links; one of 2 a single ring. Direct: V/N over each link.
TEST(RingOnSwitches, FullMesh) {
  const NetworkCase eight(nodes(1, mesh_node(8)), "local");
  expect_time(eight, Kind::all_gather, "ring", v * 7 / 8 / 6 / 60e9 + 7 * local);
  expect_time(eight, Kind::all_gather, "direct", v / 8 / 60e9 + local);
  const NetworkCase five(nodes(1, mesh_node(5)), "local");
  expect_time(five, Kind::all_gather, "ring", v * 4 / 5 / 4 / 60e9 + 4 * local);
  const NetworkCase two(nodes(1, mesh_node(2)), "local");
  expect_time(two, Kind::all_gather, "ring", v / 2 / 60e9 + local);
}

// Double binary tree on 8 nodes: every NIC receives 2 x V/2g up the one tree in which its node is inner, and V/2g down
// each: 2V/g; log2 8 = 3 steps up and down, and chains of 7 steps inside. Broadcast is
// V/g a NIC and one step more to the other root, but the first chip's port sends 7/8 of V to the other chips on NICs
// and 7/8 along chains: 2 x 7/8 / 450 is more than 1/8 / 50.
TEST(TreeOnSwitches, EightNodes) {
  const NetworkCase groups(nodes(8, node()), "all");
  expect_time(groups, Kind::all_reduce, "tree", 2 * v / 8 / nic + 2 * (3 * remote + 7 * local));
  expect_time(groups, Kind::broadcast, "tree", 2 * v * 7 / 8 / port + 4 * remote + 7 * local);
  expect_time(groups, Kind::reduce, "tree", 2 * v * 7 / 8 / port + 4 * remote + 7 * local);
}

// The same for one chip of each of n nodes, n odd or even: from 4 on, an inner node has a parent and two children in
// one tree and a parent in the other, each with V/2 either way: 2V. Of 3, none has more than three neighbours; of 2,
// two.
TEST(TreeOnSwitches, AnyNumberOfNodes) {
  const std::vector<double> levels{0, 0, 1, 2, 2, 3, 3, 3, 3, 4};
  for (std::size_t n = 2; n < levels.size(); ++n) {
    const NetworkCase groups(nodes(static_cast<int>(n), node(1)), "unit");
    const double neighbours = n == 2 ? 2 : n == 3 ? 3 : 4;
    expect_time(groups, Kind::all_reduce, "tree", neighbours * v / 2 / nic + 2 * levels[n] * remote);
  }
}

// N = 64 on 8 nodes: V/2, V/4, V/8 with partners in the node, then V/16, V/32, V/64 over NICs; back again to gather.
TEST(RecursiveHalving, PartnersOfEachStep) {
  const NetworkCase groups(nodes(8, node()), "all");
  const double scatter =
      v * (1.0 / 2 + 1.0 / 4 + 1.0 / 8) / port + v * (1.0 / 16 + 1.0 / 32 + 1.0 / 64) / nic + 3 * local + 3 * remote;
  expect_time(groups, Kind::reduce_scatter, "recursive halving", scatter);
  expect_time(groups, Kind::all_gather, "recursive halving", scatter);
  expect_time(groups, Kind::all_reduce, "recursive halving", 2 * scatter);
  EXPECT_FALSE(serves(NetworkCase(nodes(3, node()), "all"), Kind::all_gather, "recursive halving"));  // 24
}

// All pairs at once: a port sends N-1 of V/N^2, a NIC N-g of them; V/N each in an all-gather.
TEST(DirectOnSwitches, AllPairs) {
  const NetworkCase one(nodes(1, node()), "local");
  expect_time(one, Kind::all_to_all, "direct", v / 8 * 7 / 8 / port + local);
  expect_time(one, Kind::all_reduce, "direct", 2 * (v * 7 / 8 / port + local));
  const NetworkCase four(nodes(4, node()), "all");
  expect_time(four, Kind::all_to_all, "direct", v / 32 * (32.0 - 8) / 32 / nic + remote);
  expect_time(four, Kind::all_gather, "direct", v / 32 * (32.0 - 8) / nic + remote);
}

// More pairs than are listed, each member with a NIC of its own on one switch: a NIC still sends N-1 of V/N^2. So does
// each of 4 NICs of a node whose exchange is between nodes, behind one inside them: 3 of the 4 chips' shares for every
// node, V/N 3/4 through a port.
TEST(DirectOnSwitches, AllPairsOfManyMembersOnOneSwitch) {
  for (const double n : {600, 4096}) {
    const NetworkCase groups(nodes(static_cast<int>(n), node(1)), "all");
    expect_time(groups, Kind::all_to_all, "direct", v / n * (n - 1) / n / nic + remote);
    EXPECT_FALSE(serves(groups, Kind::all_gather, "direct")) << "rings and halving serve";
  }
  const NetworkCase hierarchical(nodes(600, node(4)), "all");
  expect_time(hierarchical, Kind::all_to_all, "hierarchical all-to-all",
              v / 2400 * 3 / 4 / port + local + v / 2400 * 599 / 600 / nic + remote);
}

// To the next member: V over the NIC where it is in the next node, over the port where it is not.
TEST(DirectOnSwitches, Shift) {
  expect_time(NetworkCase(nodes(4, node()), "all"), Kind::point_to_point, "shift", v / nic + remote);
  expect_time(NetworkCase(nodes(4, node()), "local"), Kind::point_to_point, "shift", v / port + local);
}

// The node's switch adds up: each port V of addends up and V of results down, and V/N of sums that its chip takes out
// and puts back, at the 75 % that the reduction reaches; broadcast V, all-gather and reduce-scatter V (N-1)/N one way.
// Nodes without it have no such algorithm.
TEST(InNetwork, OneNode) {
  auto adding = node();
  adding.in_network_reduction = true;
  adding.in_network_efficiency = 0.75;
  const NetworkCase groups(nodes(1, adding), "local");
  expect_time(groups, Kind::all_reduce, "in-network", v * 9 / 8 / 0.75 / port + 2 * local);
  expect_time(groups, Kind::broadcast, "in-network", v / 0.75 / port + local);
  expect_time(groups, Kind::all_gather, "in-network", v * 7 / 8 / 0.75 / port + local);
  expect_time(groups, Kind::reduce_scatter, "in-network", v * 7 / 8 / 0.75 / port + local);
  EXPECT_FALSE(serves(NetworkCase(nodes(1, node()), "local"), Kind::all_reduce, "in-network"));
}

// Switches add up in the nodes and trees join the nodes, all at once: with n = 4 a NIC carries 2 x (V/8) and decides
// (2 / 8 / 50 > 9/8 / 0.75 / 450); with NICs of 200 GB/s the ports do. Up and down two levels, into the switch and out.
TEST(InNetwork, TreeOverNodes) {
  auto adding = node();
  adding.in_network_reduction = true;
  adding.in_network_efficiency = 0.75;
  expect_time(NetworkCase(nodes(4, adding), "all"), Kind::all_reduce, "in-network tree",
              2 * v / 8 / nic + 4 * remote + 2 * local);
  adding.nic = BytesPerSecond(4 * nic);
  adding.pcie = BytesPerSecond(4 * nic);
  expect_time(NetworkCase(nodes(4, adding), "all"), Kind::all_reduce, "in-network tree",
              v * 9 / 8 / 0.75 / port + 4 * remote + 2 * local);
  EXPECT_FALSE(serves(NetworkCase(nodes(4, adding), "all"), Kind::all_gather, "in-network tree"));
  EXPECT_FALSE(serves(NetworkCase(nodes(4, node()), "all"), Kind::all_reduce, "in-network tree"));
}

// The fabric adds up: each NIC sends V/g and receives V/g, at once: half of the rings' time for many nodes. Inside
// nodes parts are scattered and gathered meanwhile, 2V 7/8 a port, which takes longer here (1.75 / 450 > 1 / 8 / 50);
// with NICs of 25 GB/s the NICs decide.
TEST(InNetwork, Fabric) {
  auto fabric = crossbar();
  fabric.in_network_reduction = true;
  const NetworkCase wide(nodes(4, node(), fabric), "all");
  expect_time(wide, Kind::all_reduce, "in-network", 2 * v * 7 / 8 / port + 2 * remote + 2 * local);
  auto slow = node();
  slow.nic = BytesPerSecond(25e9);
  const NetworkCase narrow(nodes(4, slow, fabric), "all");
  expect_time(narrow, Kind::all_reduce, "in-network", v / 8 / 25e9 + 2 * remote + 2 * local);
  const NetworkCase rails(nodes(4, node(), fabric), "unit");
  expect_time(rails, Kind::all_reduce, "in-network", v / nic + 2 * remote);
}

// Both add up: a port carries V (1 + 1/8) / 0.75 = 1.5 V instead of the 1.75 V of scattering and gathering. With NICs
// of 25 GB/s these carry V/8 once each way, which no algorithm goes below.
TEST(InNetwork, FabricAndNodes) {
  auto fabric = crossbar();
  fabric.in_network_reduction = true;
  auto adding = node();
  adding.in_network_reduction = true;
  adding.in_network_efficiency = 0.75;
  const NetworkCase wide(nodes(4, adding, fabric), "all");
  expect_time(wide, Kind::all_reduce, "in-network", 1.5 * v / port + 2 * remote + 2 * local);
  adding.nic = BytesPerSecond(25e9);
  const NetworkCase narrow(nodes(4, adding, fabric), "all");
  expect_time(narrow, Kind::all_reduce, "in-network", v / 8 / 25e9 + 2 * remote + 2 * local);
  std::vector<topologies::DeviceId> everyone(position_of(narrow.cluster().devices()));
  std::iota(everyone.begin(), everyone.end(), 0);
  const auto bound = collectives::collective_bound(Kind::all_reduce, narrow.cluster(), {everyone});
  EXPECT_NEAR(bound->time(Bytes(static_cast<std::int64_t>(v))).value(), v / 8 / 25e9, 1e-12);
}

// Reduce-scatter inside (V 7/8 a port, one step), 2 (V/8) (n-1)/n a NIC in 2(n-1) steps, gather inside.
TEST(HierarchicalOnSwitches, NodesThenRails) {
  const NetworkCase groups(nodes(4, node()), "all");
  const double inside = v * 7 / 8 / port + local;
  const double across = v / 8 * 3 / 4 / nic + 3 * remote;
  expect_time(groups, Kind::all_reduce, "hierarchical ring", 2 * inside + 2 * across);
  expect_time(groups, Kind::all_gather, "hierarchical ring", inside + across);
  expect_time(groups, Kind::reduce_scatter, "hierarchical ring", inside + across);
  expect_time(groups, Kind::all_reduce, "hierarchical tree", 2 * inside + 2 * v / 8 / nic + 4 * remote);
}

// V/N (n-1)/n a NIC to the chip with the same place in each node, then V/N (g-1)/g a port.
TEST(HierarchicalOnSwitches, AllToAll) {
  const NetworkCase groups(nodes(4, node()), "all");
  expect_time(groups, Kind::all_to_all, "hierarchical all-to-all",
              v / 32 * 3 / 4 / nic + remote + v / 32 * 7 / 8 / port + local);
}

// Two pods of 4x4 chips: reduce-scatter over two rings of two directions of 100 GB/s, 2 + 2 hops; V/16 of each chip
// through its host's 25 GB/s, which four chips share, out V/16 (n-1)/n twice; gather. 4 us between hosts and 1 us of
// PCIe each.
TEST(HierarchicalOnSwitches, MultiSlice) {
  const NetworkCase groups(pods(2, 4, 4), "all");
  const double inside = v * 15 / 16 / 400e9 + 4 * us;
  const double across = v / 16 / 2 / (25e9 / 4) + 6 * us;
  expect_time(groups, Kind::all_reduce, "hierarchical ring", 2 * inside + 2 * across);
  expect_time(groups, Kind::all_gather, "hierarchical ring", inside + across);
}

// Every pod exchanges V/N/2 for each chip with the other (its host sends four times that), then all-to-all in the pod
// on V/2: rings of 4 carry 2 chunks of V/2 / 16 / 4 in either direction.
TEST(HierarchicalOnSwitches, AllToAllOverPods) {
  const NetworkCase groups(pods(2, 4, 4), "all");
  const double across = v / 32 / 2 / (25e9 / 4) + 6 * us;
  expect_time(groups, Kind::all_to_all, "hierarchical all-to-all", across + v / 2 / 16 / 4 * 2 / 100e9 + 4 * us);
}

// launch once, protocol's step on each hop, bytes at 80 %: T = 5 + 2 x (27 x 1.5 + 4 x 6) us + 2V 31/32 / 8 / (0.8
// nic).
TEST(Protocols, AddToEveryAlgorithm) {
  auto with = node();
  with.protocols = {{"slow", 0.8, Seconds(5 * us), Seconds(0.5 * us), Seconds(2 * us)}};
  const NetworkCase groups(nodes(4, with), "all");
  expect_time(groups, Kind::all_reduce, "ring",
              5 * us + 2 * (27 * 1.5 * us + 4 * 6 * us) + 2 * v * 31 / 32 / 8 / (0.8 * nic));
  const double inside = v * 7 / 8 / port / 0.8 + 1.5 * us;
  const double across = v / 8 * 3 / 4 / nic / 0.8 + 3 * 6 * us;
  expect_time(groups, Kind::all_reduce, "hierarchical ring", 5 * us + 2 * inside + 2 * across);
}

// What the network takes to get going comes once for each pass between nodes, of which an all-reduce has two, and not
// inside.
TEST(Protocols, StartOnTheNetwork) {
  auto with = node();
  with.protocols = {{"slow", 1, Seconds(5 * us), Seconds(0), Seconds(0), Seconds(100 * us)}};
  const double pass = v * 31 / 32 / 8 / nic + 27 * local + 4 * remote;
  const NetworkCase over(nodes(4, with), "all");
  expect_time(over, Kind::all_gather, "ring", 105 * us + pass);
  expect_time(over, Kind::all_reduce, "ring", 205 * us + 2 * pass);
  expect_time(NetworkCase(nodes(1, with), "local"), Kind::all_gather, "ring", 5 * us + v * 7 / 8 / port + 7 * local);
}

// NCCL's broadcasts and reductions go between nodes in small slices, at 0.87 of the rate; inside a node, and in
// gathers, nothing changes.
TEST(Protocols, BroadcastsGoInSmallSlicesBetweenNodes) {
  auto with = node();
  with.protocols = {{"Simple", 1, Seconds(0), Seconds(0), Seconds(0)}};
  const NetworkCase groups(nodes(4, with), "all");
  const double steps = 27 * local + 4 * remote;
  expect_time(groups, Kind::broadcast, "ring", v / 8 / (0.87 * nic) + steps);
  expect_time(groups, Kind::reduce, "ring", v / 8 / (0.87 * nic) + steps);
  expect_time(groups, Kind::all_gather, "ring", v * 31 / 32 / 8 / nic + steps);
  expect_time(NetworkCase(nodes(1, with), "local"), Kind::broadcast, "ring", v / port + 7 * local);
}

// Names tell whose a protocol is: NVLS the in-network algorithm's, NVLSTree the in-network tree's, the others all other
// algorithms'. Of a node without such names every algorithm has every protocol.
TEST(Protocols, OfInNetworkReductionAreItsOwn) {
  const auto names_of = [](const topologies::NodeSpec& of, std::string_view algorithm) {
    std::vector<std::string> names;
    for (const auto& protocol : collectives::network::protocols_of(of, algorithm)) names.push_back(protocol.name);
    return names;
  };
  using Names = std::vector<std::string>;
  auto with = node();
  with.protocols = {{"LL"}, {"NVLS short"}, {"Simple"}, {"NVLS"}};
  EXPECT_EQ(names_of(with, "ring"), (Names{"LL", "Simple"}));
  EXPECT_EQ(names_of(with, "in-network"), (Names{"NVLS short", "NVLS"}));
  EXPECT_EQ(names_of(with, "in-network tree"), (Names{"NVLS short", "NVLS"}));
  with.protocols.push_back({"NVLSTree"});
  EXPECT_EQ(names_of(with, "in-network"), (Names{"NVLS short", "NVLS"}));
  EXPECT_EQ(names_of(with, "in-network tree"), (Names{"NVLSTree"}));
  with.protocols = {{"LL"}, {"LL128"}, {"Simple"}};
  EXPECT_EQ(names_of(with, "in-network"), (Names{"LL", "LL128", "Simple"}));
  EXPECT_EQ(names_of(with, "direct all-to-all"), (Names{"LL", "Simple"}));
}

// A library's all-to-all: launch, one step, V/N (N-1)/N a port, and 0.3 us for each of the 7 other members.
TEST(Protocols, AnAllToAllSetsUpEachPeer) {
  auto with = node();
  with.protocols = {{"Simple", 1, Seconds(5 * us), Seconds(0), Seconds(0)}};
  expect_time(NetworkCase(nodes(1, with), "local"), Kind::all_to_all, "direct all-to-all",
              5 * us + local + 7 * 0.3 * us + v / 8 * 7 / 8 / port);
}

// V (1 + 1/N) / port and two steps; for 32 members, two doublings beyond a board of 8, the bytes count 9 % more and 16
// more steps are taken. Without a library the switch is as fast for any number.
TEST(Protocols, InNetworkReductionOfManyMembersIsSlower) {
  auto with = node(32);
  with.in_network_reduction = true;
  expect_time(NetworkCase(nodes(1, with), "local"), Kind::all_reduce, "in-network", v * 33 / 32 / port + 2 * local);
  with.protocols = {{"NVLS", 1, Seconds(5 * us), Seconds(0.5 * us), Seconds(0)}};
  expect_time(NetworkCase(nodes(1, with), "local"), Kind::all_reduce, "in-network",
              5 * us + 1.09 * v * 33 / 32 / port + 18 * 1.5 * us);
}

// A library without the cheapest algorithm takes its own cheapest (the ring's 14 steps against 2), unless it has none
// for the kind; a user may still ask for any.
TEST(Choice, IsTheLibrarys) {
  auto with = node();
  with.algorithms = {"tree", "ring"};
  const NetworkCase groups(nodes(1, with), "local");
  EXPECT_EQ(groups.network().choose(Kind::all_reduce, Bytes(1024)).label, "ring");
  EXPECT_EQ(groups.network().choose(Kind::all_to_all, Bytes(1024)).label, "direct");
  EXPECT_EQ(groups.network().choose(Kind::all_reduce, Bytes(1024), "direct").label, "direct");
  // NCCL's direct exchange is one of all-to-alls: it gathers in rings, however few the bytes.
  with.algorithms = {"ring", "direct all-to-all"};
  const NetworkCase nccl(nodes(1, with), "local");
  EXPECT_EQ(nccl.network().choose(Kind::all_to_all, Bytes(1024)).label, "direct all-to-all");
  for (const auto kind : {Kind::all_gather, Kind::reduce_scatter, Kind::all_reduce})
    EXPECT_EQ(nccl.network().choose(kind, Bytes(1024)).label, "ring");
}

// Small messages take the algorithm and protocol with the least latency, large ones the most bandwidth; equal costs the
// first. 1 KiB on a node: direct has 2 steps of 1 us, ring 14. 1 GiB: both V 14/8 / port and the ring's steps.
TEST(Choice, DependsOnTheSize) {
  auto with = node();
  with.protocols = {{"far", 0.5, Seconds(1 * us), Seconds(0), Seconds(0)},
                    {"wide", 1, Seconds(10 * us), Seconds(0), Seconds(0)}};
  const NetworkCase groups(nodes(1, with), "local");
  EXPECT_EQ(groups.network().choose(Kind::all_reduce, Bytes(1024)).label, "direct (far)");
  EXPECT_EQ(groups.network().choose(Kind::all_reduce, Bytes(1 << 30)).label, "direct (wide)");
  EXPECT_EQ(groups.network().choose(Kind::broadcast, Bytes(1 << 30)).label, "ring (wide)");
}

// One member has nothing to do.
TEST(Choice, GroupOfOne) {
  const auto choice = NetworkCase(nodes(4, node(1)), "local").network().choose(Kind::all_reduce, size);
  EXPECT_EQ(choice.cost, Seconds(0));
  EXPECT_TRUE(choice.phases.empty());
  EXPECT_EQ(choice.label, "none");
}

}  // namespace
}  // namespace lockstep::test
