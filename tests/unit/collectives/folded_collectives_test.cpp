// Folding is exact: on the quotient of ranks, groups, flows and links by symmetry every collective ends when it does on
// the whole cluster, also where symmetry is broken (an odd number of nodes, ECMP) and little or nothing folds.
#include <gtest/gtest.h>

#include "sim/program/fold.hpp"
#include "tests/unit/collectives/network_case.hpp"
#include "tests/unit/engine/child_run.hpp"

namespace lockstep::test {
namespace {

void expect_folded_as_whole(const topologies::ClusterSpec& spec, const char* group, std::int32_t most_classes,
                            const std::vector<program::Perturbation>& faults = {}) {
  const NetworkCase groups(spec, group, faults);
  for (const auto kind : workloads::all_collective_kinds) {
    for (const auto& choice : groups.network().choices(kind, Bytes(123'456'789))) {
      const auto program = groups.program(choice);
      const auto folded = fold(program);
      EXPECT_LE(folded.ranks.count(), most_classes) << choice.label;
      const auto of_class = run_in_child(folded.program, engine::EngineKind::simgrid);
      const auto of_rank = run_in_child(program, engine::EngineKind::simgrid);
      for (topologies::RankId rank = 0; rank < program.ranks(); ++rank) {
        const double end = of_rank.end(0, rank);
        EXPECT_NEAR(of_class.end(0, folded.ranks.class_of_rank[static_cast<std::size_t>(rank)]), end, 1e-12 * end)
            << choice.label << ' ' << name(kind);
      }
    }
  }
}

// One group holds all ranks, so all are of one class; groups across nodes differ by nothing; neither do those of nodes.
TEST(FoldedCollectives, SymmetricNodes) {
  for (const char* group : {"all", "unit", "local"})
    expect_folded_as_whole(nodes(4, node(), fat_tree(16, 2)), group, 1);
}

// Three nodes on leaves of two: one leaf is half full, but one group still is one class.
TEST(FoldedCollectives, UnevenLeaves) {
  expect_folded_as_whole(nodes(3, node(), fat_tree(16, 2)), "all", 1);
  expect_folded_as_whole(nodes(4, node(), fat_tree(16, 1, topologies::FabricRouting::ecmp)), "unit", 32);
}

// A spine that is missing, one that is slow, and a slow NIC tell ranks apart, but change nothing else.
TEST(FoldedCollectives, Faults) {
  const auto tree = nodes(4, node(), fat_tree(16, 1, topologies::FabricRouting::ecmp));
  for (const char* group : {"all", "unit", "local"}) {
    expect_folded_as_whole(tree, group, 32,
                           {program::DegradedNode{"spine(0,3)", 0}, program::DegradedNode{"spine(0,5)", 0.3}});
    expect_folded_as_whole(nodes(4, node(), fat_tree(16, 2)), group, 32,
                           {program::DegradedLink{"leaf(1)", "spine(0)", 0.7}, program::DegradedNode{"nic(2,5)", 0.5}});
  }
}

TEST(FoldedCollectives, Pods) { expect_folded_as_whole(pods(2, 4, 4), "all", 1); }

}  // namespace
}  // namespace lockstep::test
