// A choice costs, with all groups of the communicator at once and nothing else on the network,
//   sum over phases of ( latency + max over links of (sum over flows of times x bytes) / bandwidth ),
// and the model takes the least of all algorithms that serve, the first of equals.
#include "sim/collectives/group_network.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>

#include "sim/core/errors.hpp"
#include "tests/unit/topologies/small_fabric.hpp"

namespace lockstep::test {
namespace {

using Kind = workloads::CollectiveKind;

struct Grouped {
  Grouped(topologies::Cluster made, const std::vector<topologies::AxisRequest>& requests,
          std::vector<std::string> along)
      : cluster(std::move(made)), mesh(placed(cluster, requests)), network(cluster, mesh, std::move(along)) {}
  topologies::Cluster cluster;
  topologies::Mesh mesh;
  collectives::GroupNetwork network;
};

/// Nodes whose library has two protocols.
topologies::NodeSpec with_protocols() {
  topologies::NodeSpec spec = node(4, 4);
  spec.protocols = {{"LL", 0.5, Seconds(1e-6), Seconds(1e-6), Seconds(2e-6), Seconds(3e-6)},
                    {"Simple", 0.9, Seconds(5e-6), Seconds(2e-6), Seconds(6e-6), Seconds(9e-6)}};
  return spec;
}

/// Chips joined pair by pair.
topologies::NodeSpec full_mesh() {
  topologies::NodeSpec spec = node(4, 4);
  spec.scale_up = topologies::NodeSpec::ScaleUp::full_mesh;
  return spec;
}

std::deque<Grouped> several() {
  const auto crossbar = fabric(topologies::Crossbar{});
  const std::vector<topologies::AxisRequest> nodes_and_chips{on("data", {"node"}), on("tensor", {"gpu"})};
  std::deque<Grouped> all;
  for (const std::vector<std::string>& axes :
       std::vector<std::vector<std::string>>{{"data"}, {"tensor"}, {"data", "tensor"}}) {
    all.emplace_back(build_cluster(nodes(4, crossbar)), nodes_and_chips, axes);
    all.emplace_back(build_cluster(nodes(3, crossbar, with_protocols())), nodes_and_chips, axes);
    all.emplace_back(build_cluster(nodes(2, crossbar, full_mesh())), nodes_and_chips, axes);
    all.emplace_back(build_cluster(nodes(4, fabric(topologies::FatTree{}, 4, {}, topologies::FabricRouting::ecmp))),
                     nodes_and_chips, axes);
    all.emplace_back(build_cluster(pods(2, crossbar, {4, 2}, always)),
                     std::vector{on("data", {"pod"}), on("tensor", {"rest"})}, axes);
  }
  return all;
}

/// Seconds of a phase's bytes on each link, from the flows one by one.
std::map<topologies::LinkId, double> seconds_by_link(const Grouped& groups, const collectives::CollectiveChoice& choice,
                                                     const collectives::Phase& phase) {
  std::map<topologies::LinkId, double> seconds;
  for (const collectives::ProgramGroup& group : groups.network.communicator(*choice.algorithm).groups) {
    for (const collectives::Flow& flow : group.flows) {
      for (const topologies::LinkId link : flow.links)
        seconds[link] +=
            phase.slot_bytes[static_cast<std::size_t>(flow.slot)] / groups.cluster.link(link).bandwidth.value();
    }
  }
  return seconds;
}

TEST(GroupNetwork, ACostIsThatOfTheBusiestLinkOfEachPhase) {
  int compared = 0;
  for (const Grouped& groups : several()) {
    for (const Kind kind : workloads::all_collective_kinds) {
      for (const std::int64_t bytes : {1'000, 100'000'000}) {
        for (const collectives::CollectiveChoice& choice : groups.network.choices(kind, Bytes(bytes))) {
          double latencies = 0, carrying = 0;
          for (const collectives::Phase& phase : choice.phases) {
            latencies += phase.latency.value();
            double busiest = 0;
            for (const auto& [link, seconds] : seconds_by_link(groups, choice, phase))
              busiest = std::max(busiest, seconds);
            carrying += busiest;
          }
          const double expected = latencies + carrying;
          ASSERT_NEAR(choice.cost.value(), expected, 1e-9 * expected)
              << choice.label << ' ' << name(kind) << " on " << groups.cluster.name();
          ++compared;
        }
      }
    }
  }
  EXPECT_GT(compared, 300);
}

// Slots of every phase are the communicator's, and what a slot carries, flows of every group carry.
TEST(GroupNetwork, PhasesFitTheirCommunicator) {
  for (const Grouped& groups : several()) {
    for (const Kind kind : workloads::all_collective_kinds) {
      for (const collectives::CollectiveChoice& choice : groups.network.choices(kind, Bytes(1'000'000))) {
        const collectives::Communicator& communicator = groups.network.communicator(*choice.algorithm);
        EXPECT_EQ(&groups.network.communicator(*choice.algorithm), &communicator) << "made once";
        for (const collectives::Phase& phase : choice.phases) {
          ASSERT_EQ(std::ssize(phase.slot_bytes), communicator.slots) << choice.label;
          for (std::int32_t slot = 0; slot < communicator.slots; ++slot) {
            if (!(phase.slot_bytes[static_cast<std::size_t>(slot)] > 0)) continue;
            for (const collectives::ProgramGroup& group : communicator.groups) {
              EXPECT_TRUE(std::any_of(group.flows.begin(), group.flows.end(),
                                      [&](const collectives::Flow& flow) { return flow.slot == slot; }))
                  << choice.label << " slot " << slot;
            }
          }
        }
      }
    }
  }
}

TEST(GroupNetwork, ChoosesTheFirstOfTheCheapest) {
  for (const Grouped& groups : several()) {
    for (const Kind kind : workloads::all_collective_kinds) {
      for (const std::int64_t bytes : {1, 1'000, 1'000'000, 1'000'000'000}) {
        const auto choices = groups.network.choices(kind, Bytes(bytes));
        const auto cheapest = std::min_element(choices.begin(), choices.end(),
                                               [](const auto& a, const auto& b) { return a.cost < b.cost; });
        ASSERT_NE(cheapest, choices.end());
        const auto chosen = groups.network.choose(kind, Bytes(bytes));
        EXPECT_EQ(chosen.algorithm, cheapest->algorithm) << name(kind) << ' ' << bytes;
        EXPECT_EQ(chosen.label, cheapest->label);
        EXPECT_EQ(groups.network.cost(kind, Bytes(bytes)), cheapest->cost);
      }
    }
  }
}

// More bytes never take less time, by any algorithm and whichever protocol is the fastest.
TEST(GroupNetwork, MoreBytesTakeNoLessTime) {
  for (const Grouped& groups : several()) {
    for (const Kind kind : workloads::all_collective_kinds) {
      Seconds before(0);
      for (std::int64_t bytes = 1; bytes < 1'000'000'000'000; bytes *= 7) {
        const Seconds now = groups.network.cost(kind, Bytes(bytes));
        EXPECT_GE(now, before) << name(kind) << ' ' << bytes;
        before = now;
      }
    }
  }
}

// A library with two protocols takes the faster for each algorithm and size: the least of those of libraries that have
// one of them only.
TEST(GroupNetwork, TakesTheFasterProtocol) {
  const auto of_protocols = [](std::vector<topologies::Protocol> protocols) {
    topologies::NodeSpec spec = with_protocols();
    spec.protocols = std::move(protocols);
    return build_cluster(nodes(3, fabric(topologies::Crossbar{}), spec));
  };
  const std::vector<topologies::AxisRequest> axes{on("data", {"node"}), on("tensor", {"gpu"})};
  const auto protocols = with_protocols().protocols;
  const Grouped both(of_protocols(protocols), axes, {"data", "tensor"});
  const Grouped first(of_protocols({protocols[0]}), axes, {"data", "tensor"});
  const Grouped second(of_protocols({protocols[1]}), axes, {"data", "tensor"});
  std::set<std::string> taken;
  for (const Kind kind : workloads::all_collective_kinds) {
    for (std::int64_t bytes = 1; bytes < 10'000'000'000; bytes *= 10) {
      const auto choices = both.network.choices(kind, Bytes(bytes));
      const auto of_first = first.network.choices(kind, Bytes(bytes));
      const auto of_second = second.network.choices(kind, Bytes(bytes));
      ASSERT_EQ(choices.size(), of_first.size());
      for (std::size_t i = 0; i < choices.size(); ++i) {
        EXPECT_EQ(choices[i].cost, std::min(of_first[i].cost, of_second[i].cost)) << choices[i].label << ' ' << bytes;
        taken.insert(choices[i].protocol);
      }
    }
  }
  EXPECT_THAT(taken, testing::ElementsAre("LL", "Simple"));
}

// Four nodes of four chips on two NICs; 2 us inside a node, 6 us between nodes, four crossings around.
TEST(GroupStructure, OfNodes) {
  const Grouped groups(build_cluster(nodes(4, fabric(topologies::Crossbar{}))),
                       {on("data", {"node"}), on("tensor", {"gpu"})}, {"data", "tensor"});
  const collectives::GroupStructure& all = groups.network.structure();
  EXPECT_EQ(all.members, 16);
  EXPECT_EQ(all.units, 4);
  EXPECT_EQ(all.local, 4);
  EXPECT_EQ(all.rails, 2);
  EXPECT_DOUBLE_EQ(all.local_hop.value(), 2e-6);
  EXPECT_DOUBLE_EQ(all.remote_hop.value(), 6e-6);
  EXPECT_DOUBLE_EQ(all.around.value(), 24e-6);
  const collectives::GroupNetwork inside(groups.cluster, groups.mesh, {"tensor"});
  EXPECT_EQ(inside.structure().units, 1);
  EXPECT_EQ(inside.structure().members, 4);
  EXPECT_EQ(inside.structure().rails, 1);
  const collectives::GroupNetwork across(groups.cluster, groups.mesh, {"data"});
  EXPECT_EQ(across.structure().units, 4);
  EXPECT_EQ(across.structure().local, 1);
}

// An order of ranks that puts three members of a group into one node and one into the other: no number for each.
TEST(GroupStructure, OfUnevenUnits) {
  topologies::ClusterSpec spec = nodes(2, fabric(topologies::Crossbar{}));
  spec.order = {topologies::RankOrder::Kind::listed, 1, {0, 1, 2, 4, 3, 5, 6, 7}};
  const Grouped groups(build_cluster(spec), {on("data", {"node"}), on("tensor", {"gpu"})}, {"tensor"});
  EXPECT_EQ(groups.network.structure().local, 0);
  EXPECT_EQ(groups.network.structure().most_local, 3);
  EXPECT_EQ(groups.network.structure().units, 2);
  EXPECT_EQ(groups.network.structure().rails, 1);
}

// A library that has only rings gets rings; what it has nothing for, anything may serve.
TEST(GroupNetwork, TakesWhatTheLibraryHas) {
  topologies::NodeSpec only_rings = node();
  only_rings.algorithms = {"ring"};
  const Grouped groups(build_cluster(nodes(4, fabric(topologies::Crossbar{}), only_rings)),
                       {on("data", {"node"}), on("tensor", {"gpu"})}, {"data", "tensor"});
  for (const std::int64_t bytes : {1, 1'000'000'000})
    EXPECT_EQ(groups.network.choose(Kind::all_reduce, Bytes(bytes)).algorithm->name(), "ring");
  EXPECT_NE(groups.network.choose(Kind::all_to_all, Bytes(1000)).algorithm->name(), "ring");
  EXPECT_EQ(groups.network.choose(Kind::all_reduce, Bytes(1), "tree").algorithm->name(), "tree") << "asked for by name";
  EXPECT_THROW((void)groups.network.choose(Kind::all_to_all, Bytes(1), "tree"), InternalError);
}

// Two members: a ring sends V/2 there and V/2 back, a tree its two halves up and down, and both cross each NIC of
// bandwidth W with V bytes in two steps of h seconds,
//   T = 2 h + V / W.
// The costs are equal but for the order in which they are added up, so the first of the list is taken at every size
// and rate. A ring and a tree cut T into other phases, so that rounding would otherwise decide about contention.
TEST(GroupNetwork, TakesTheFirstOfEqualsWhateverTheRounding) {
  const auto crossbar = fabric(topologies::Crossbar{});
  topologies::NodeSpec spec = node(1, 1);
  spec.protocols = {{"Simple", 1, Seconds(25e-6), Seconds(3.5e-6), Seconds(9e-6), Seconds(40e-6)}};
  for (const double slower : {1.0, 1.0 / 3, 1.0 / 7, 0.1}) {
    auto slow = spec;
    slow.nic = slow.nic * slower;
    const Grouped pair(build_cluster(nodes(2, crossbar, slow)), {on("data", {"node"})}, {"data"});
    for (std::int64_t bytes = 1; bytes < 1'000'000'000; bytes = 3 * bytes + 1) {
      const auto all = pair.network.choices(Kind::all_reduce, Bytes(bytes));
      ASSERT_GT(all.size(), 2U);
      for (const auto& one : all) EXPECT_NEAR(one.cost / all.front().cost, 1, 1e-12) << one.label;
      const auto taken = pair.network.choose(Kind::all_reduce, Bytes(bytes));
      EXPECT_EQ(taken.label, all.front().label) << bytes << " bytes at " << slower;
      EXPECT_EQ(pair.network.cost(Kind::all_reduce, Bytes(bytes)), taken.cost);
    }
  }
}

TEST(GroupNetwork, OfOneMemberCostsNothing) {
  const Grouped groups(build_cluster(nodes(2, fabric(topologies::Crossbar{}))),
                       {on("data", {"node"}), on("tensor", {"gpu"}), on("expert", {"gpu/1"})}, {"expert"});
  EXPECT_TRUE(groups.network.choices(Kind::all_reduce, Bytes(100)).empty());
  const auto none = groups.network.choose(Kind::all_reduce, Bytes(100));
  EXPECT_EQ(none.algorithm, nullptr);
  EXPECT_EQ(none.label, "none");
  EXPECT_EQ(groups.network.cost(Kind::all_reduce, Bytes(100)), Seconds(0));
}

}  // namespace
}  // namespace lockstep::test
