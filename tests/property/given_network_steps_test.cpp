// A step on a generated fabric and the same step on the same fabric written out as a graph: equal times, to the last
// bit, and equal classes. The expected numbers are those of the generated fabric.
#include <gtest/gtest.h>

#include "sim/program/fold.hpp"
#include "tests/property/simulated_step.hpp"
#include "tests/unit/topologies/graph_of_cluster.hpp"

namespace lockstep {
namespace {

struct Folded {
  program::FoldedProgram folded;
  Seconds step;
};

Folded folded(const scenario::Scenario& scenario) {
  auto quotient = fold(lower_with_perturbations(scenario, preparation::prepare_step(scenario)));
  const auto step = test::timeline_of(quotient.program, engine::EngineKind::max_min).makespan();
  return {std::move(quotient), step};
}

class GivenNetworkSteps : public testing::TestWithParam<const char*> {};

TEST_P(GivenNetworkSteps, AreThoseOfTheGeneratedFabric) {
  for (const char* mesh : {"{tensor: [gpu], fsdp: [node]}", "{tensor: [gpu/2], data: [node/2], fsdp: rest}"}) {
    test::Case one{"validation_grid_two_matmul.yaml",
                   {{"cluster", "{node: dgx-h100, nodes: 16, fabric: {like: infiniband-ndr-fat-tree, " +
                                    std::string(GetParam()) + "}}"},
                    {"parallel", "{}"},
                    {"mesh", mesh},
                    {"batch.sequences", "128"}}};
    const auto generated = one.load();
    auto given = generated;
    given.cluster = test::as_given(generated.cluster);
    const auto expected = folded(generated), found = folded(given);
    EXPECT_EQ(found.step, expected.step) << mesh;
    EXPECT_GT(found.step, Seconds(0));
    EXPECT_EQ(found.folded.ranks.count(), expected.folded.ranks.count()) << mesh;
    EXPECT_EQ(found.folded.link_classes, expected.folded.link_classes) << mesh;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Fabrics, GivenNetworkSteps,
    testing::Values(
        "kind: fat_tree, radix: 32", "kind: fat_tree, radix: 32, oversubscription: 3", "kind: fat_tree, radix: 8",
        "kind: fat_tree, radix: 8, oversubscription: [1, 2]",
        "kind: fat_tree, radix: 32, oversubscription: 2, routing: ecmp, seed: 7",
        "kind: fat_tree, radix: 32, routing: ecmp, channels: 2, queue_pairs: 2", "kind: rail_optimised, radix: 8",
        "kind: rail_optimised, radix: 8, rails: separate", "kind: rail_optimised, radix: 8, routing: ecmp",
        "kind: dragonfly, routers_per_group: 1, nics_per_router: 16, global_links_per_router: 7",
        "kind: dragonfly, routers_per_group: 4, nics_per_router: 8, global_links_per_router: 3",
        "kind: dragonfly, routers_per_group: 4, nics_per_router: 4, global_links_per_router: 7",
        "kind: dragonfly, routers_per_group: 4, nics_per_router: 4, global_links_per_router: 7, link: 100 Gbps",
        "kind: dragonfly, routers_per_group: 8, nics_per_router: 4, global_links_per_router: 3, routing: ecmp",
        "kind: dragonfly, routers_per_group: 2, nics_per_router: 8, global_links_per_router: 7",
        "kind: dragonfly, routers_per_group: 2, nics_per_router: 8, global_links_per_router: 7, routing: ecmp",
        "kind: dragonfly, routers_per_group: 3, nics_per_router: 6, global_links_per_router: 5"));

}  // namespace
}  // namespace lockstep
