// Folded = unfolded: every span of every rank, with and without stragglers, degraded and missing links.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sim/program/fold.hpp"
#include "sim/program/refine.hpp"
#include "tests/property/scenario_grid.hpp"

namespace lockstep {
namespace {

using test::GridRow;

/// Sets of perturbations that fit a torus of any shape; the first leaves the machine whole. The last takes a
/// link away, which only machines with another way round it survive.
std::vector<std::vector<program::Perturbation>> perturbations(const topologies::Cluster& cluster) {
  const program::Coordinates origin(cluster.axes().size(), 0);
  auto neighbour = origin;
  neighbour.front() = 1;
  const auto first = program::chip_name(origin), next = program::chip_name(neighbour);
  program::Coordinates far;
  for (const auto& axis : cluster.axes()) far.push_back(axis.size - 1);
  return {{},
          {program::SlowChip{far, false, 1.5}},
          {program::DegradedLink{first, next, 0.5}},
          {program::SlowChip{origin, true, 1.25}, program::DegradedLink{next, first, 0.3}},
          {program::RandomSlowChips{cluster.devices() / 2, 7, 1.1}, program::RandomDegradedLinks{2, 11, 0.6}},
          {program::Jitter{program::Jitter::Distribution::exponential, 0.05, 3}},
          {program::DegradedLink{first, next, 0}}};
}

class Folding : public testing::TestWithParam<GridRow> {};

TEST_P(Folding, IsExact) {
  int folded_at_all = 0;
  std::size_t turn = 0;
  for (std::size_t i = 0; i < GetParam().cases.size(); i += 2) {
    const auto& one = GetParam().cases[i];
    const auto scenario = one.load();
    const auto preparation = preparation::prepare_step(scenario);
    const auto sets = perturbations(*preparation.machine.cluster);
    for (const auto which : {std::size_t{0}, 1 + turn++ % (sets.size() - 1)}) {
      SCOPED_TRACE(one.to_string() + " perturbation set " + std::to_string(which));
      auto perturbed = scenario;
      perturbed.perturbations = sets[which];
      if (which + 1 == sets.size() && preparation.machine.cluster->axes().size() == 1 &&
          !preparation.machine.cluster->axes().front().wraps) {
        EXPECT_THROW((void)lower_with_perturbations(perturbed, preparation), ConfigError);  // a line has one way only
        continue;
      }
      const auto whole = lower_with_perturbations(perturbed, preparation);
      const auto quotient = fold(whole);
      check(quotient.program);
      if (quotient.ranks.count() < whole.ranks()) ++folded_at_all;
      const double apart =
          test::furthest_apart(test::timeline_of(whole, engine::EngineKind::simgrid),
                               test::timeline_of(quotient.program, engine::EngineKind::simgrid), quotient.ranks);
      if (which == 0) {
        EXPECT_EQ(apart, 0.0);  // bit for bit
      } else {
        EXPECT_LE(apart, 1e-12);
      }
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(folded_at_all, 0) << "nothing folded: the test would hold for the trivial partition";
}

INSTANTIATE_TEST_SUITE_P(Grid, Folding, testing::ValuesIn(test::grid()),
                         [](const auto& row) { return row.param.name; });

TEST(FoldingOfTheGrid, IsTriedOnAtLeast300Steps) {
  std::size_t steps = 0;
  for (const auto& row : test::grid()) steps += 2 * ((row.cases.size() + 1) / 2);
  EXPECT_GE(steps, 300U);
}

program::Program program_of(const std::string& cluster, const std::string& mesh,
                            const std::vector<program::Perturbation>& perturbations = {}) {
  test::Case one{"validation_grid_two_matmul.yaml", {{"cluster", cluster}, {"parallel", "{}"}, {"mesh", mesh}}};
  one.overrides.push_back({"batch.sequences", "8960"});
  auto scenario = one.load();
  scenario.perturbations = perturbations;
  return lower_with_perturbations(scenario, preparation::prepare_step(scenario));
}

// A torus looks the same from every chip: FSDP over the remainders of 2x2 tensor blocks folds to one rank. Links
// differ by axis and by lying inside a block or between blocks.
TEST(ClassesOfAPod, SymmetricPodIsOneRankClass) {
  const auto quotient = fold(program_of("tpu-v5p:16x20x28", "{tensor: [x/2, y/2], fsdp: rest}"));
  EXPECT_EQ(quotient.ranks.count(), 1);
  EXPECT_EQ(quotient.ranks.size.front(), 8960);
  EXPECT_LE(quotient.link_classes, 5);
}

// Detours of an ECMP tree in a whole step: 4 nodes of 8 on two leaves, a spine gone, a leaf slow, a cable gone.
TEST(FoldingWithDetours, IsExact) {
  const std::string cluster =
      "{node: dgx-h100, nodes: 4, fabric: {kind: fat_tree, routing: ecmp, radix: 32, link: 400 Gbps}}";
  const std::vector<program::Perturbation> faults{program::DegradedNode{"spine(0,2)", 0},
                                                  program::DegradedNode{"leaf(0)", 0.1},
                                                  program::DegradedLink{"leaf(1)", "spine(0,4)", 0}};
  int slower = 0;
  for (const char* mesh : {"{tensor: [gpu], fsdp: [node]}", "{fsdp: rest}"}) {
    const auto whole = program_of(cluster, mesh, faults);
    const auto quotient = fold(whole);
    const auto of_ranks = test::timeline_of(whole, engine::EngineKind::simgrid);
    EXPECT_LE(test::furthest_apart(of_ranks, test::timeline_of(quotient.program, engine::EngineKind::simgrid),
                                   quotient.ranks),
              1e-12)
        << mesh;
    slower += of_ranks.makespan() > test::timeline_of(program_of(cluster, mesh), engine::EngineKind::simgrid).makespan()
                  ? 1
                  : 0;
  }
  EXPECT_GT(slower, 0) << "faults that nothing feels";
}

// Ten nodes of eight on a tree whose leaves hold four, four and two: with as many ports up as down no uplink can fill,
// so the leaves tell no ranks apart and the step folds as on one switch. The spans are those of the whole program,
// whose solver sees every uplink. With half as many ports up, on the same leaves, the uplinks fill and ranks differ.
TEST(ClassesOfATree, LinksThatCannotFillTellNothingApart) {
  const auto tree = [](const char* shape) {
    return "{node: dgx-h100, nodes: 10, fabric: {kind: fat_tree, link: 400 Gbps, " + std::string(shape) + "}}";
  };
  const char* mesh = "{tensor: [gpu], fsdp: [node/5], data: rest}";  // five nodes are a leaf and a part of the next
  const auto on_switch = fold(program_of("{node: dgx-h100, nodes: 10, fabric: {kind: crossbar}}", mesh));
  const auto whole = program_of(tree("radix: 64"), mesh);
  const auto quotient = fold(whole);
  EXPECT_EQ(quotient.ranks.count(), on_switch.ranks.count());
  EXPECT_GT(fold(whole, program::FoldedLinks::all).ranks.count(), quotient.ranks.count());
  EXPECT_LE(test::furthest_apart(test::timeline_of(whole, engine::EngineKind::simgrid),
                                 test::timeline_of(quotient.program, engine::EngineKind::simgrid), quotient.ranks),
            1e-12);
  EXPECT_GT(fold(program_of(tree("radix: 48, oversubscription: 2"), mesh)).ranks.count(), quotient.ranks.count());
}

// With one slow chip its block, its FSDP group, the blocks and groups that share links with those, and so on are
// told apart, never more than the reflections of a torus around one chip leave: 9 x 11 x 15 = 1485.
TEST(ClassesOfAPod, OneSlowChipLeavesFewClasses) {
  const auto quotient = fold(
      program_of("tpu-v5p:16x20x28", "{tensor: [x/2, y/2], fsdp: rest}", {program::SlowChip{{3, 0, 7}, false, 1.5}}));
  EXPECT_GT(quotient.ranks.count(), 1);
  EXPECT_LE(quotient.ranks.count(), 1485);
  std::int64_t ranks = 0;
  for (const auto size : quotient.ranks.size) ranks += size;
  EXPECT_EQ(ranks, 8960);
}

// The partition itself is equitable: counted for every object, not by hashes.
TEST(Refinement, GivesAnEquitablePartition) {
  const auto program =
      program_of("tpu-v5p:4x4x4", "{tensor: [x/2, y/2], fsdp: rest}",
                 {program::SlowChip{{1, 2, 3}, false, 2}, program::DegradedLink{"chip(0,0,0)", "chip(0,1,0)", 0.5}});
  const auto partition = refine(program);
  using Counts = std::vector<std::int32_t>;
  std::vector<Counts> on_link(program.links.size());
  std::vector<Counts> on_rank(static_cast<std::size_t>(program.ranks()));
  std::vector<Counts> of_flow, of_group;
  std::vector<std::int32_t> flow_class, group_class;
  std::size_t f = 0;
  std::size_t g = 0;
  for (const auto& communicator : program.communicators) {
    for (const auto& group : communicator.groups) {
      Counts members, flows;
      for (const auto rank : group.members) {
        members.push_back(partition.rank[static_cast<std::size_t>(rank)]);
        on_rank[static_cast<std::size_t>(rank)].push_back(partition.group[g]);
      }
      for (const auto& flow : group.flows) {
        Counts crossed;
        for (const auto link : flow.links) {
          crossed.push_back(partition.link[static_cast<std::size_t>(link)]);
          on_link[static_cast<std::size_t>(link)].push_back(partition.flow[f]);
        }
        std::sort(crossed.begin(), crossed.end());
        crossed.push_back(-1 - partition.group[g]);
        of_flow.push_back(crossed);
        flow_class.push_back(partition.flow[f]);
        flows.push_back(partition.flow[f++]);
      }
      std::sort(members.begin(), members.end());
      std::sort(flows.begin(), flows.end());
      members.insert(members.end(), flows.begin(), flows.end());
      of_group.push_back(members);
      group_class.push_back(partition.group[g++]);
    }
  }
  auto expect_alike = [](const std::vector<std::int32_t>& classes, std::vector<Counts> neighbours, const char* what) {
    std::vector<const Counts*> first(classes.size(), nullptr);
    for (auto& list : neighbours) std::sort(list.begin(), list.end());
    for (std::size_t i = 0; i < classes.size(); ++i) {
      auto& known = first[static_cast<std::size_t>(classes[i])];
      if (known == nullptr) known = &neighbours[i];
      EXPECT_EQ(*known, neighbours[i]) << what << " " << i;
    }
  };
  expect_alike(partition.link, on_link, "link");
  expect_alike(partition.rank, on_rank, "rank");
  expect_alike(flow_class, of_flow, "flow");
  expect_alike(group_class, of_group, "group");
  EXPECT_GT(partition.ranks, 1);
  EXPECT_LT(partition.ranks, program.ranks());
}

}  // namespace
}  // namespace lockstep
