// The cheapest algorithm that serves the groups along some axes, whatever order these are named in; groups and flows
// are made once for each layout, axes in mesh order and algorithm.
#include "sim/collectives/collective_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/core/errors.hpp"
#include "tests/unit/topologies/small_fabric.hpp"

namespace lockstep::test {
namespace {

using Kind = workloads::CollectiveKind;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

const Bytes size(64'000'000);

struct Modelled {
  Modelled(topologies::Cluster made, const std::vector<topologies::AxisRequest>& axes,
           collectives::CollectiveRules rules = {})
      : cluster(std::move(made)), mesh(placed(cluster, axes)), model(cluster, mesh, std::move(rules)) {}
  topologies::Cluster cluster;
  topologies::Mesh mesh;
  collectives::CollectiveModel model;
};

topologies::Cluster four_nodes() { return build_cluster(nodes(4, fabric(topologies::Crossbar{}))); }
const std::vector<topologies::AxisRequest> by_node_and_chip{on("data", {"node"}), on("tensor", {"gpu"})};

// A torus has closed forms of its own, of the rings and lines of the mesh.
TEST(CollectiveModel, InsideATorusIsItsClosedForm) {
  Modelled torus_of(torus({4, 3, 2}, multiple_of_four), {on("a", {"x"}), on("b", {"y"}), on("c", {"z"})});
  for (const std::vector<std::string>& axes : std::vector<std::vector<std::string>>{{"a"}, {"b"}, {"a", "c"}}) {
    for (const Kind kind : workloads::all_collective_kinds) {
      const auto dimensions = torus_of.mesh.dimensions(axes);
      EXPECT_EQ(torus_of.model.cost(kind, axes, size), collectives::cost(kind, dimensions, size)) << name(kind);
      EXPECT_EQ(torus_of.model.algorithm(kind, axes, size), collectives::algorithm_name(kind, dimensions));
      EXPECT_THAT(torus_of.model.algorithms(kind, axes), ElementsAre("torus"));
    }
  }
}

TEST(CollectiveModel, AxesMayBeNamedInAnyOrder) {
  Modelled nodes_of(four_nodes(), by_node_and_chip);
  for (const Kind kind : workloads::all_collective_kinds) {
    EXPECT_EQ(nodes_of.model.cost(kind, {"data", "tensor"}, size), nodes_of.model.cost(kind, {"tensor", "data"}, size));
    const auto one = nodes_of.model.lower(kind, {"data", "tensor"}, size);
    const auto other = nodes_of.model.lower(kind, {"tensor", "data"}, size);
    EXPECT_EQ(one.layout, other.layout);
    EXPECT_THAT(one.layout.first, ElementsAre("data", "tensor")) << "as the mesh has them";
  }
}

// A lowered collective costs what the model says, and nothing asked for by name is cheaper than its own choice.
TEST(CollectiveModel, LowersTheCheapest) {
  Modelled nodes_of(four_nodes(), by_node_and_chip);
  for (const std::vector<std::string>& axes :
       std::vector<std::vector<std::string>>{{"data"}, {"tensor"}, {"data", "tensor"}}) {
    for (const Kind kind : workloads::all_collective_kinds) {
      const auto own = nodes_of.model.lower(kind, axes, size);
      EXPECT_EQ(own.closed_form, nodes_of.model.cost(kind, axes, size));
      EXPECT_EQ(own.algorithm, nodes_of.model.algorithm(kind, axes, size));
      const auto names = nodes_of.model.algorithms(kind, axes);
      EXPECT_THAT(names, Contains(own.layout.second));
      for (const auto& name_of : names) {
        const auto wanted = nodes_of.model.lower(kind, axes, size, name_of);
        EXPECT_EQ(wanted.layout.second, name_of);
        EXPECT_GE(wanted.closed_form, own.closed_form) << name(kind) << ' ' << name_of;
      }
    }
  }
}

// Two sizes by one algorithm share the communicator; another algorithm or other axes have one of their own.
TEST(CollectiveModel, KeepsACommunicatorForEachLayout) {
  Modelled nodes_of(four_nodes(), by_node_and_chip);
  auto& model = nodes_of.model;
  const auto ring = model.lower(Kind::all_reduce, {"data"}, size, "ring");
  const auto larger = model.lower(Kind::all_gather, {"data"}, size * 2, "ring");
  EXPECT_EQ(ring.layout, larger.layout);
  const collectives::Communicator* const kept = &model.communicator(ring.layout);
  EXPECT_EQ(&model.communicator(larger.layout), kept);
  const auto tree = model.lower(Kind::all_reduce, {"data"}, size, "tree");
  EXPECT_NE(&model.communicator(tree.layout), kept);
  EXPECT_NE(&model.communicator(model.lower(Kind::all_reduce, {"tensor"}, size, "ring").layout), kept);
  EXPECT_EQ(&model.communicator(ring.layout), kept) << "it stays where it is";
  EXPECT_EQ(kept->name, "data");
  EXPECT_EQ(kept->groups.size(), 4U);
}

// A rule names the algorithm of a kind wherever that can serve: a tree needs several units.
TEST(CollectiveModel, FollowsItsRulesWhereTheyCanServe) {
  collectives::CollectiveRules rules;
  rules.algorithms[Kind::all_reduce] = "tree";
  Modelled ruled(four_nodes(), by_node_and_chip, rules);
  Modelled free(four_nodes(), by_node_and_chip);
  EXPECT_EQ(ruled.model.lower(Kind::all_reduce, {"data"}, size).layout.second, "tree");
  EXPECT_EQ(ruled.model.lower(Kind::all_reduce, {"tensor"}, size).layout,
            free.model.lower(Kind::all_reduce, {"tensor"}, size).layout);
  EXPECT_EQ(ruled.model.lower(Kind::all_gather, {"data"}, size).layout,
            free.model.lower(Kind::all_gather, {"data"}, size).layout);
  EXPECT_EQ(ruled.model.lower(Kind::all_reduce, {"data"}, size, "ring").layout.second, "ring")
      << "who asks for one gets it";
  EXPECT_GE(ruled.model.cost(Kind::all_reduce, {"data"}, size), free.model.cost(Kind::all_reduce, {"data"}, size));
}

TEST(CollectiveModel, AGroupOfOneHasNothingToDo) {
  Modelled nodes_of(four_nodes(), {on("data", {"node"}), on("tensor", {"gpu"}), on("expert", {"gpu/1"})});
  for (const Kind kind : workloads::all_collective_kinds) {
    EXPECT_EQ(nodes_of.model.cost(kind, {"expert"}, size), Seconds(0));
    const auto none = nodes_of.model.lower(kind, {"expert"}, size);
    EXPECT_THAT(none.phases, IsEmpty());
    EXPECT_EQ(none.closed_form, Seconds(0));
    EXPECT_EQ(none.algorithm, "none");
    for (const collectives::ProgramGroup& group : nodes_of.model.communicator(none.layout).groups) {
      EXPECT_EQ(group.members.size(), 1U);
      EXPECT_THAT(group.flows, IsEmpty());
    }
  }
}

// A part of an axis has groups of its own: two of the four chips of each node.
TEST(CollectiveModel, ServesPartsOfAxes) {
  Modelled nodes_of(four_nodes(), by_node_and_chip);
  const auto half = nodes_of.model.lower(Kind::all_gather, {topologies::part_name("tensor", 2)}, size);
  const collectives::Communicator& pairs = nodes_of.model.communicator(half.layout);
  EXPECT_EQ(pairs.groups.size(), 8U);
  for (const collectives::ProgramGroup& group : pairs.groups) EXPECT_EQ(group.members.size(), 2U);
  EXPECT_LT(half.closed_form, nodes_of.model.cost(Kind::all_gather, {"tensor"}, size));
}

TEST(CollectiveModel, WhatThereIsNotIsABug) {
  Modelled nodes_of(four_nodes(), by_node_and_chip);
  EXPECT_THROW((void)nodes_of.model.lower(Kind::all_reduce, {"tensor"}, size, "tree"), InternalError);
  EXPECT_THROW((void)nodes_of.model.communicator({{"data"}, "carrier pigeon"}), InternalError);
  collectives::CollectiveRules rules;
  rules.algorithms[Kind::all_reduce] = "carrier pigeon";
  Modelled ruled(four_nodes(), by_node_and_chip, rules);
  EXPECT_THROW((void)ruled.model.cost(Kind::all_reduce, {"data"}, size), InternalError);
}

}  // namespace
}  // namespace lockstep::test
