// Perturbations change speeds, capacities and routes of a program, and nothing else:
//   slowdown of a rank = product over the perturbations of its chip; capacity of a link = bandwidth x the parts left.
// A link of a torus that is down is replaced, in every flow over it, by the shortest way round it.
#include "sim/program/perturb.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>

#include "sim/core/errors.hpp"
#include "tests/unit/engine/small_program.hpp"
#include "tests/unit/topologies/small_fabric.hpp"

namespace lockstep::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

/// A cluster with all positions on one mesh axis, and a program of its ranks and links without operations.
struct Machine {
  explicit Machine(topologies::Cluster made) : cluster(std::move(made)), mesh(placed(cluster, {on("all", {"rest"})})) {
    program = ranks(cluster.devices());
    for (topologies::LinkId link = 0; link < cluster.links(); ++link)
      program.links.push_back(cluster.link(link).bandwidth);
  }

  [[nodiscard]] std::string apply(const std::vector<program::Perturbation>& perturbations) {
    return perturb(program, perturbations, cluster, mesh);
  }
  [[nodiscard]] double slowdown(topologies::DeviceId device) const {
    return program.slowdown_of_rank[static_cast<std::size_t>(mesh.rank_of(device))];
  }
  /// Names of the links that have another capacity than the cluster's, and the part that is left of it.
  [[nodiscard]] std::map<std::string, double> degraded() const {
    std::map<std::string, double> parts;
    for (topologies::LinkId link = 0; link < cluster.links(); ++link) {
      const double part = program.links[static_cast<std::size_t>(link)] / cluster.link(link).bandwidth;
      if (part < 1 || part > 1) parts[cluster.link_name(link)] = part;
    }
    return parts;
  }
  [[nodiscard]] std::vector<topologies::DeviceId> slow() const {
    std::vector<topologies::DeviceId> devices;
    for (topologies::DeviceId device = 0; device < cluster.devices(); ++device) {
      if (slowdown(device) > 1) devices.push_back(device);
    }
    return devices;
  }

  topologies::Cluster cluster;
  topologies::Mesh mesh;
  program::Program program;
};

topologies::Cluster four_nodes() { return build_cluster(nodes(4, fabric(topologies::Crossbar{}))); }

TEST(Perturb, NothingChangesNothing) {
  Machine machine(torus({4, 2}, always));
  EXPECT_EQ(machine.apply({}), "");
  EXPECT_THAT(machine.slow(), IsEmpty());
  EXPECT_THAT(machine.degraded(), IsEmpty());
}

TEST(Perturb, SlowdownsOfAChipMultiply) {
  Machine machine(torus({4, 2}, always));
  EXPECT_EQ(machine.apply({program::SlowChip{{1, 1}, false, 1.5}, program::SlowChip{{1, 1}, false, 2},
                           program::SlowChip{{3, 0}, false, 4}}),
            "");
  EXPECT_THAT(machine.slow(), ElementsAre(3, 6));
  EXPECT_DOUBLE_EQ(machine.slowdown(3), 3);
  EXPECT_DOUBLE_EQ(machine.slowdown(6), 4);
}

// Hosts hold 2x2 chips. On 5x3 the one of chip (4, 2) is clipped to that chip, and that of (2, 1) is whole.
TEST(Perturb, AWholeHostIsItsBlockOfChips) {
  Machine machine(torus({5, 3}, never));
  EXPECT_EQ(machine.apply({program::SlowChip{{2, 1}, true, 2}, program::SlowChip{{4, 2}, true, 3}}), "");
  EXPECT_THAT(machine.slow(), ElementsAre(6, 7, 9, 10, 14));
  EXPECT_DOUBLE_EQ(machine.slowdown(14), 3);
}

// Ranks are slowed down, by devices: with the order of nodes reversed, node 0's chips are the last ranks.
TEST(Perturb, SlowsDownTheRankThatStandsOnTheChip) {
  topologies::ClusterSpec spec = nodes(2, fabric(topologies::Crossbar{}), node(2, 1));
  spec.order = {topologies::RankOrder::Kind::listed, 1, {2, 3, 0, 1}};
  Machine machine(build_cluster(spec));
  EXPECT_EQ(machine.apply({program::SlowChip{{0, 1}, false, 2}}), "");
  EXPECT_THAT(machine.program.slowdown_of_rank, ElementsAre(1, 1, 1, 2));
}

TEST(Perturb, ADegradedLinkIsOneWay) {
  Machine machine(torus({4}, always));
  EXPECT_EQ(
      machine.apply({program::DegradedLink{"chip(0)", "chip(1)", 0.5}, program::DegradedLink{"chip(0)", "chip(1)", 0.5},
                     program::DegradedLink{"chip(0)", "chip(3)", 0.75}}),
      "");
  EXPECT_THAT(machine.degraded(),
              UnorderedElementsAre(testing::Pair("chip(0)>chip(1)", 0.25), testing::Pair("chip(0)>chip(3)", 0.75)));
}

TEST(Perturb, ADegradedNodeIsAllItsLinks) {
  Machine machine(four_nodes());
  EXPECT_EQ(machine.apply({program::DegradedNode{"nic(2,1)", 0.5}}), "");
  std::vector<std::string> names;
  for (const auto& [name, part] : machine.degraded()) {
    names.push_back(name);
    EXPECT_DOUBLE_EQ(part, 0.5);
  }
  EXPECT_THAT(names, UnorderedElementsAre("chip(2,2)>nic(2,1)", "nic(2,1)>chip(2,2)", "chip(2,3)>nic(2,1)",
                                          "nic(2,1)>chip(2,3)", "nic(2,1)>crossbar", "crossbar>nic(2,1)"));
}

TEST(Perturb, RandomChipsAreAsManyAsAskedFor) {
  std::set<std::vector<topologies::DeviceId>> drawn;
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
    for (const int count : {0, 1, 5, 8}) {
      Machine one(torus({4, 2}, always)), again(torus({4, 2}, always));
      EXPECT_EQ(one.apply({program::RandomSlowChips{count, seed, 1.25}}), "");
      EXPECT_EQ(again.apply({program::RandomSlowChips{count, seed, 1.25}}), "");
      EXPECT_EQ(std::ssize(one.slow()), count);
      EXPECT_EQ(one.slow(), again.slow()) << "the same seed, the same chips";
      for (const topologies::DeviceId device : one.slow())
        EXPECT_DOUBLE_EQ(one.slowdown(device), 1.25) << "drawn twice";
      if (count == 5) drawn.insert(one.slow());
    }
  }
  EXPECT_GT(drawn.size(), 1U) << "every seed draws the same";
}

// On a torus the links between chips can be drawn: 2 x 8 along the ring of 4 and 8 along the line of 2, no PCIe and no
// DCN. On nodes it is the links inside nodes and those of the network: 2 x 16 to the nodes' switches, 2 x 8 of NICs.
TEST(Perturb, RandomLinksAreThoseThatCarryCollectives) {
  Machine pod(torus({4, 2}, always));
  EXPECT_EQ(pod.apply({program::RandomDegradedLinks{24, 1, 0.5}}), "");
  EXPECT_EQ(pod.degraded().size(), 24U);
  for (const auto& [name, part] : pod.degraded()) EXPECT_THAT(name, testing::Not(HasSubstr("host")));

  Machine machine(four_nodes());
  EXPECT_EQ(machine.apply({program::RandomDegradedLinks{48, 1, 0.5}}), "");
  EXPECT_EQ(machine.degraded().size(), 48U);
  for (const auto& [name, part] : machine.degraded()) {
    EXPECT_DOUBLE_EQ(part, 0.5);
    EXPECT_TRUE(name.find("switch") != std::string::npos || name.find("crossbar") != std::string::npos) << name;
  }
  EXPECT_EQ(why_not(program::RandomDegradedLinks{49, 1, 0.5}, machine.cluster), "the cluster has only 48 such links");
}

// 1 + u with u uniform in [0, 0.2) or exponential with mean 0.2. Over 4096 chips the mean of u is within 5 standard
// deviations: 0.2 / sqrt(12) / 64 = 0.0009, and 0.2 / 64 = 0.0031.
TEST(Perturb, JitterHasItsDistribution) {
  const auto draws = [](program::Jitter::Distribution distribution, std::uint64_t seed) {
    Machine machine(torus({64, 64}, never));
    EXPECT_EQ(machine.apply({program::Jitter{distribution, 0.2, seed}}), "");
    std::vector<double> result;
    for (const double slowdown : machine.program.slowdown_of_rank) result.push_back(slowdown - 1);
    return result;
  };
  const auto mean = [](const std::vector<double>& of) {
    return std::accumulate(of.begin(), of.end(), 0.0) / static_cast<double>(of.size());
  };
  const auto uniform = draws(program::Jitter::Distribution::uniform, 1);
  EXPECT_THAT(uniform, Each(testing::AllOf(testing::Ge(0), testing::Lt(0.2))));
  EXPECT_NEAR(mean(uniform), 0.1, 0.0045);
  const auto exponential = draws(program::Jitter::Distribution::exponential, 1);
  EXPECT_THAT(exponential, Each(testing::Ge(0)));
  EXPECT_NEAR(mean(exponential), 0.2, 0.0155);
  // A part of exp(-2) = 0.135 lies above twice the mean; 5 standard deviations are 0.027.
  const auto above = std::count_if(exponential.begin(), exponential.end(), [](double u) { return u > 0.4; });
  EXPECT_NEAR(static_cast<double>(above) / 4096, std::exp(-2.0), 0.027);
  EXPECT_EQ(uniform, draws(program::Jitter::Distribution::uniform, 1));
  EXPECT_NE(uniform, draws(program::Jitter::Distribution::uniform, 2));
}

// Mean m in all three; the log-normal has median m e^(-s^2/2), the Pareto F(x) = 1 - (1 + x / (m (a - 1)))^(-a).
TEST(Perturb, JitterWithATailHasItsMeanAndMedian) {
  using Distribution = program::Jitter::Distribution;
  const auto excesses = [](program::Jitter jitter) {
    std::vector<double> all;
    for (jitter.seed = 1; jitter.seed <= 2; ++jitter.seed) {
      Machine machine(torus({64, 64}, never));
      EXPECT_EQ(machine.apply({jitter}), "");
      for (const double slowdown : machine.program.slowdown_of_rank) all.push_back(slowdown - 1);
    }
    std::sort(all.begin(), all.end());
    return all;
  };
  const auto mean = [](const std::vector<double>& all) {
    return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
  };
  const auto lognormal = excesses({Distribution::lognormal, 0.1, 0, 0.5});
  EXPECT_NEAR(mean(lognormal), 0.1, 0.003);  // deviation 0.1 sqrt(e^0.25 - 1) / 90 = 0.0006
  EXPECT_NEAR(lognormal[4096], 0.1 * std::exp(-0.125), 0.004);
  EXPECT_GT(lognormal.front(), 0);
  const auto pareto = excesses({Distribution::pareto, 0.1, 0, 3});
  EXPECT_NEAR(mean(pareto), 0.1, 0.01);  // deviation 0.1 sqrt(3) / 90 = 0.002
  EXPECT_NEAR(pareto[4096], 0.2 * (std::cbrt(2.0) - 1), 0.004);
  EXPECT_NEAR(pareto[8110], 0.2 * (std::cbrt(100.0) - 1), 0.12);
}

// Each chip and link by itself: a share p of n, with deviation sqrt(n p (1 - p)).
TEST(Perturb, SharesOfChipsAndLinksAreDrawn) {
  double slow = 0, flaky = 0, chips = 0, links = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Machine machine(torus({16, 16}, never));
    const auto before = machine.program.links;
    EXPECT_EQ(machine.apply({program::Stragglers{0.1, seed, 1.5}, program::FlakyLinks{0.2, seed, 0.25}}), "");
    for (const double slowdown : machine.program.slowdown_of_rank) {
      chips += 1;
      slow += slowdown == 1.5 ? 1 : 0;
      EXPECT_TRUE(slowdown == 1 || slowdown == 1.5);
    }
    for (const auto link : before.ids()) {
      if (machine.cluster.link(link).kind != topologies::LinkKind::ici) {
        EXPECT_EQ(machine.program.links[link], before[link]);
        continue;
      }
      links += 1;
      flaky += machine.program.links[link] == before[link] * 0.25 ? 1 : 0;
      EXPECT_TRUE(machine.program.links[link] == before[link] || machine.program.links[link] == before[link] * 0.25);
    }
  }
  EXPECT_NEAR(slow / chips, 0.1, 4 * std::sqrt(0.09 / chips));
  EXPECT_NEAR(flaky / links, 0.2, 4 * std::sqrt(0.16 / links));
}

TEST(Perturb, JitterOfNothingChangesNothing) {
  Machine machine(torus({4, 2}, never));
  for (const auto distribution : {program::Jitter::Distribution::uniform, program::Jitter::Distribution::exponential})
    EXPECT_EQ(machine.apply({program::Jitter{distribution, 0, 3}}), "");
  EXPECT_THAT(machine.program.slowdown_of_rank, Each(1));
}

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

TEST(WhyNot, SaysWhatTheClusterDoesNotHave) {
  const topologies::Cluster cluster = torus({4, 2}, always);
  EXPECT_EQ(why_not(program::SlowChip{{3, 1}, false, 2}, cluster), "");
  EXPECT_EQ(why_not(program::SlowChip{{4, 1}, false, 2}, cluster), "the cluster has no chip(4,1)");
  EXPECT_EQ(why_not(program::SlowChip{{-1, 0}, false, 2}, cluster), "the cluster has no chip(-1,0)");
  EXPECT_EQ(why_not(program::SlowChip{{3}, false, 2}, cluster), "the cluster has no chip(3)");
  EXPECT_EQ(why_not(program::DegradedLink{"chip(0,0)", "chip(1,0)", 0.5}, cluster), "");
  EXPECT_EQ(why_not(program::DegradedLink{"chip(0,0)", "chip(2,0)", 0.5}, cluster),
            "no link leads from chip(0,0) to chip(2,0)");
  EXPECT_EQ(why_not(program::DegradedLink{"chip(0,0)", "chip(9,0)", 0.5}, cluster), "the cluster has no chip(9,0)");
  EXPECT_EQ(why_not(program::DegradedLink{"leaf(0)", "chip(0,0)", 0.5}, cluster), "the cluster has no leaf(0)");
  EXPECT_EQ(why_not(program::DegradedNode{"host(1,0)", 0.5}, cluster), "");
  EXPECT_EQ(why_not(program::DegradedNode{"host(9,0)", 0.5}, cluster), "the cluster has no host(9,0)");
  EXPECT_EQ(why_not(program::RandomSlowChips{8, 1, 2}, cluster), "");
  EXPECT_EQ(why_not(program::RandomSlowChips{9, 1, 2}, cluster), "the cluster has only 8 chips");
  EXPECT_EQ(why_not(program::Jitter{}, cluster), "");
}

TEST(Perturb, WhatCannotBeIsABug) {
  Machine machine(torus({4}, always));
  EXPECT_THROW((void)machine.apply({program::SlowChip{{7}, false, 2}}), InternalError);
  EXPECT_THROW((void)machine.apply({program::RandomSlowChips{5, 1, 2}}), InternalError);
}

TEST(ChipName, IsThatOfTheCluster) {
  const topologies::Cluster cluster = torus({4, 3, 2}, never);
  for (topologies::DeviceId device = 0; device < cluster.devices(); ++device)
    EXPECT_EQ(program::chip_name(cluster.coordinates(device)), cluster.node(device).name);
}

}  // namespace
}  // namespace lockstep::test
