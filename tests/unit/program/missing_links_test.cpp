// A link of a torus that is down is replaced, in every flow over it, by the shortest way round it. Links of networks
// are the network's to avoid.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <set>

#include "sim/core/errors.hpp"
#include "tests/unit/program/perturbed_machine.hpp"

namespace lockstep::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// A flow of one rank from each chip to each other along the cluster's route.
void add_all_routes(Machine& machine) {
  for (topologies::DeviceId from = 0; from < machine.cluster.devices(); ++from) {
    for (topologies::DeviceId to = 0; to < machine.cluster.devices(); ++to) {
      if (from != to) add_lone_flow(machine.program, machine.mesh.rank_of(from), machine.cluster.route(from, to));
    }
  }
}

// Round a ring of 4 the way beside the link from 0 to 1 has three links; what does not cross it stays.
TEST(Perturb, AMissingLinkIsGoneRound) {
  Machine machine(torus({4}, always));
  add_lone_flow(machine.program, 0, machine.cluster.route(0, 2));  // over 0>1 and 1>2
  add_lone_flow(machine.program, 1, machine.cluster.route(1, 0));
  EXPECT_EQ(machine.apply({program::DegradedLink{"chip(0)", "chip(1)", 0}}), "");
  const auto& flows = machine.program.communicators;
  EXPECT_THAT(names(machine.cluster, flows[0].groups[0].flows[0].links),
              ElementsAre("chip(0)>chip(3)", "chip(3)>chip(2)", "chip(2)>chip(1)", "chip(1)>chip(2)"));
  EXPECT_THAT(names(machine.cluster, flows[1].groups[0].flows[0].links), ElementsAre("chip(1)>chip(0)"));
  EXPECT_THAT(machine.degraded(), IsEmpty()) << "nobody crosses it, so its capacity does not matter";
}

TEST(Perturb, OnALineThereIsNoWayRound) {
  Machine machine(torus({4}, never));
  add_lone_flow(machine.program, 0, machine.cluster.route(0, 2));
  EXPECT_EQ(machine.apply({program::DegradedLink{"chip(1)", "chip(2)", 0}}),
            "no route is left round the missing link chip(1)>chip(2)");
  Machine unused(torus({4}, never));
  add_lone_flow(unused.program, 0, unused.cluster.route(2, 0));
  EXPECT_EQ(unused.apply({program::DegradedLink{"chip(1)", "chip(2)", 0}}), "") << "no flow goes that way";
}

/// Fewest links from one chip to another without some; -1 if there is no way.
int fewest_links(const topologies::Cluster& cluster, topologies::DeviceId from, topologies::DeviceId to,
                 const std::set<topologies::LinkId>& missing) {
  std::vector<int> links(static_cast<std::size_t>(cluster.devices()), -1);
  links[static_cast<std::size_t>(from)] = 0;
  for (std::deque<topologies::DeviceId> next{from}; !next.empty(); next.pop_front()) {
    for (topologies::LinkId link = 0; link < cluster.links(); ++link) {
      const topologies::Link& out = cluster.link(link);
      if (out.from != next.front() || out.kind != topologies::LinkKind::ici || missing.contains(link)) continue;
      if (links[static_cast<std::size_t>(out.to)] >= 0) continue;
      links[static_cast<std::size_t>(out.to)] = links[static_cast<std::size_t>(next.front())] + 1;
      next.push_back(out.to);
    }
  }
  return links[static_cast<std::size_t>(to)];
}

// With links missing at random every flow still leads from its start to its end over links that are there; each
// missing one costs as many as the shortest way between its ends. A refusal means that there is none.
TEST(Perturb, DetoursAreTheShortestThatAreLeft) {
  int detours = 0, refusals = 0;
  for (const std::vector<int>& shape : std::vector<std::vector<int>>{{5}, {3, 3}, {2, 2, 3}}) {
    for (const topologies::WrapRule& wrap : {never, always}) {
      for (std::uint64_t seed = 0; seed < 12; ++seed) {
        Machine machine(torus(shape, wrap));
        add_all_routes(machine);
        const program::Program before = machine.program;
        std::set<topologies::LinkId> missing;
        std::vector<program::Perturbation> perturbations;
        for (std::uint64_t i = 0; i <= seed % 3; ++i)
          perturbations.emplace_back(program::RandomDegradedLinks{1, seed + 40 * i, 0});
        // The same draws with half of the bandwidth say which links they are.
        Machine marked(torus(shape, wrap));
        auto halved = perturbations;
        for (auto& each : halved) std::get<program::RandomDegradedLinks>(each).bandwidth = 0.5;
        EXPECT_EQ(marked.apply(halved), "");
        for (topologies::LinkId link = 0; link < marked.cluster.links(); ++link) {
          if (marked.program.links[static_cast<std::size_t>(link)] < marked.cluster.link(link).bandwidth)
            missing.insert(link);
        }
        const std::string why = machine.apply(perturbations);
        bool possible = true;
        for (std::size_t c = 0; c < before.communicators.size(); ++c) {
          const auto& old = before.communicators[c].groups[0].flows[0].links;
          const auto& now = machine.program.communicators[c].groups[0].flows[0].links;
          std::size_t length = 0;
          for (const topologies::LinkId link : old) {
            const topologies::Link& crossed = machine.cluster.link(link);
            const int round =
                missing.contains(link) ? fewest_links(machine.cluster, crossed.from, crossed.to, missing) : 1;
            possible = possible && round > 0;
            length += static_cast<std::size_t>(std::max(round, 0));
          }
          if (!why.empty()) continue;
          detours += now != old ? 1 : 0;
          ASSERT_EQ(now.size(), length);
          topologies::NodeId at = machine.cluster.link(old.front()).from;
          for (const topologies::LinkId link : now) {
            EXPECT_FALSE(missing.contains(link));
            ASSERT_EQ(machine.cluster.link(link).from, at);
            at = machine.cluster.link(link).to;
          }
          EXPECT_EQ(at, machine.cluster.link(old.back()).to);
        }
        EXPECT_EQ(why.empty(), possible) << why;
        refusals += possible ? 0 : 1;
      }
    }
  }
  EXPECT_GT(detours, 50);
  EXPECT_GT(refusals, 0);
}

// Links of networks are the network's to avoid: named are those, and not the ones of a torus.
TEST(MissingInNetworks, AreThoseThatATorusDoesNotGoRound) {
  const topologies::Cluster pods = build_cluster(test::pods(2, fabric(topologies::Crossbar{}), {4}, always));
  EXPECT_THAT(program::missing_in_networks({program::DegradedLink{"chip(0,0)", "chip(0,1)", 0}}, pods), IsEmpty());
  EXPECT_THAT(
      program::missing_in_networks({program::DegradedNode{"crossbar", 0.5}, program::SlowChip{{0, 0}, false, 2}}, pods),
      IsEmpty());
  EXPECT_THAT(program::missing_in_networks({}, pods), IsEmpty());
  const topologies::MissingLinks of_host = program::missing_in_networks({program::DegradedNode{"host(1,0)", 0}}, pods);
  ASSERT_EQ(std::ssize(of_host), pods.links());
  for (topologies::LinkId link = 0; link < pods.links(); ++link)
    EXPECT_EQ(of_host[static_cast<std::size_t>(link)], pods.link_name(link).find("host(1,0)") != std::string::npos);
}

TEST(MissingInNetworks, DrawnLinksAreThoseThatPerturbWouldTake) {
  Machine machine(four_nodes());
  EXPECT_EQ(machine.apply({program::RandomDegradedLinks{7, 5, 0.5}}), "");
  const topologies::MissingLinks missing =
      program::missing_in_networks({program::RandomDegradedLinks{7, 5, 0}}, machine.cluster);
  std::set<std::string> expected, found;
  for (const auto& [name, part] : machine.degraded()) expected.insert(name);
  for (topologies::LinkId link = 0; link < machine.cluster.links(); ++link) {
    if (missing[static_cast<std::size_t>(link)]) found.insert(machine.cluster.link_name(link));
  }
  EXPECT_EQ(found, expected);
}

// Routes that were made before the cluster knew what to avoid cross the missing link: a bug of the caller.
TEST(Perturb, AFlowOverAMissingLinkOfANetworkIsABug) {
  Machine machine(four_nodes());
  add_lone_flow(machine.program, 0, machine.cluster.route(0, 4));
  EXPECT_THROW((void)machine.apply({program::DegradedNode{"nic(1,0)", 0}}), InternalError);
  Machine elsewhere(four_nodes());
  add_lone_flow(elsewhere.program, 0, elsewhere.cluster.route(0, 4));
  EXPECT_EQ(elsewhere.apply({program::DegradedNode{"nic(2,0)", 0}}), "");
}

}  // namespace
}  // namespace lockstep::test
