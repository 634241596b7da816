// Communicators put a group's rings and lines on real links, in the slots that the phases number.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "sim/collectives/algorithms.hpp"
#include "tests/unit/topologies/small_torus.hpp"

namespace lockstep::test {
namespace {

using Shape = topologies::GroupDimension::Shape;

collectives::Communicator communicator_on(const topologies::Cluster& cluster, const topologies::Mesh& mesh,
                                          const std::vector<std::string>& axes) {
  return collectives::GroupNetwork(cluster, mesh, axes).communicator(collectives::network::torus());
}

/// How often the flows of all groups in one slot cross each link.
std::map<std::int32_t, int> crossings(const collectives::Communicator& communicator, std::int32_t slot) {
  std::map<std::int32_t, int> count;
  for (const auto& group : communicator.groups) {
    for (const auto& flow : group.flows) {
      if (flow.slot != slot) continue;
      for (const auto link : flow.links) ++count[link];
    }
  }
  return count;
}

struct Case {
  std::vector<int> shape;
  topologies::WrapRule wrap;
  std::vector<topologies::AxisRequest> axes;
};

std::vector<Case> cases() {
  return {{{4, 4, 4}, always, {on("X", {"x"}), on("Y", {"y"}), on("Z", {"z"})}},
          {{8, 4}, never, {on("X", {"x"}), on("Y", {"y"})}},
          {{8, 4}, multiple_of_four, {on("X", {"x/4", "y/2"}), on("Y", {"rest"})}},
          {{8, 2}, multiple_of_four, {on("X", {"x/2"}), on("Y", {"x", "y"})}},
          {{8, 4}, always, {on("X", {"x/2", "y/2"}), on("Y", {"rest"})}}};
}

std::vector<std::vector<std::string>> axis_sets(const topologies::Mesh& mesh) {
  std::vector<std::vector<std::string>> sets;
  std::vector<std::string> all;
  for (const auto& axis : mesh.axes()) {
    sets.push_back({axis.name});
    all.push_back(axis.name);
  }
  sets.push_back(all);
  return sets;
}

TEST(Communicator, GroupsAreDisjointAndHoldEveryRank) {
  for (const auto& each : cases()) {
    const auto cluster = torus(each.shape, each.wrap);
    const auto mesh = placed(cluster, each.axes);
    for (const auto& axes : axis_sets(mesh)) {
      const auto communicator = communicator_on(cluster, mesh, axes);
      std::set<std::int32_t> seen;
      for (const auto& group : communicator.groups) {
        EXPECT_EQ(static_cast<int>(group.members.size()), collectives::members(mesh.dimensions(axes)));
        for (const auto rank : group.members) EXPECT_TRUE(seen.insert(rank).second);
      }
      EXPECT_EQ(static_cast<int>(seen.size()), mesh.ranks());
    }
  }
}

// Every slot is used in every group, and over all groups no link carries a slot more often than `sharing` says.
TEST(Communicator, SlotsAndSharingAreThoseOfTheDimensions) {
  for (const auto& each : cases()) {
    const auto cluster = torus(each.shape, each.wrap);
    const auto mesh = placed(cluster, each.axes);
    for (const auto& axes : axis_sets(mesh)) {
      const auto dimensions = mesh.dimensions(axes);
      const auto communicator = communicator_on(cluster, mesh, axes);
      const collectives::SlotLayout slots(dimensions);
      ASSERT_EQ(communicator.slots, slots.total);
      const int n = collectives::members(dimensions);
      for (int d = 0; d < static_cast<int>(dimensions.size()); ++d) {
        const auto& dimension = dimensions[static_cast<std::size_t>(d)];
        const bool is_ring = dimension.shape == Shape::ring;
        for (const int direction : {+1, -1}) {
          int most = 0;
          std::map<std::int32_t, int> all;
          for (int hop = 0; hop < (is_ring ? 1 : dimension.members - 1); ++hop) {
            const auto slot = is_ring ? slots.ring(d, direction) : slots.hop(d, direction, hop);
            for (const auto& group : communicator.groups) {
              int flows = 0;
              for (const auto& flow : group.flows) {
                if (flow.slot != slot) continue;
                ++flows;
                EXPECT_EQ(static_cast<int>(flow.links.size()),
                          dimension.links_per_hop * (is_ring ? dimension.members : 1));
              }
              EXPECT_EQ(flows, n / dimension.members) << dimension.label;
            }
            for (const auto& [link, count] : crossings(communicator, slot)) all[link] += count;
          }
          for (const auto& [link, count] : all) most = std::max(most, count);
          EXPECT_EQ(most, dimension.sharing) << dimension.label;
        }
      }
    }
  }
}

// A flow's links follow each other, a ring's close; both ends of a line's hop are members of the group.
TEST(Communicator, FlowsAreWalksFromMemberToMember) {
  for (const auto& each : cases()) {
    const auto cluster = torus(each.shape, each.wrap);
    const auto mesh = placed(cluster, each.axes);
    for (const auto& axes : axis_sets(mesh)) {
      const auto communicator = communicator_on(cluster, mesh, axes);
      for (const auto& group : communicator.groups) {
        for (const auto& flow : group.flows) {
          for (std::size_t i = 1; i < flow.links.size(); ++i) {
            EXPECT_EQ(cluster.link(flow.links[i - 1]).to, cluster.link(flow.links[i]).from);
          }
          for (const auto end : {cluster.link(flow.links.front()).from, cluster.link(flow.links.back()).to}) {
            EXPECT_NE(std::find(group.members.begin(), group.members.end(), mesh.rank_of(end)), group.members.end());
          }
        }
      }
    }
  }
}

// The slot of hop i up leads from the line's position i to i + 1; down, back.
TEST(Communicator, HopsOfALineAreInOrder) {
  const auto cluster = torus({4, 2}, never);
  const auto mesh = placed(cluster, {on("X", {"x"}), on("Y", {"y"})});
  const auto communicator = communicator_on(cluster, mesh, {"X"});
  const collectives::SlotLayout slots(mesh.dimensions({"X"}));
  for (const auto& group : communicator.groups) {
    for (const auto& flow : group.flows) {
      const auto& link = cluster.link(flow.links.front());
      const int from = cluster.coordinates(link.from)[0];
      const int to = cluster.coordinates(link.to)[0];
      EXPECT_EQ(flow.slot, from < to ? slots.hop(0, +1, from) : slots.hop(0, -1, to));
    }
  }
  EXPECT_EQ(communicator.name, "X");
  EXPECT_EQ(communicator_on(cluster, mesh, {"X", "Y"}).name, "X+Y");
}

}  // namespace
}  // namespace lockstep::test
