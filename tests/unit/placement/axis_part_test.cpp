// "tensor/2" is groups of two neighbours along axis tensor, "tensor//2" one rank of each of these groups. A part and
// what it leaves of the axis,
//   within x between = axis,
// take every position once, and the groups of a part are the nearest that there are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "sim/core/errors.hpp"
#include "tests/unit/topologies/small_fabric.hpp"
#include "topologies/placement/axis_digits.hpp"

namespace lockstep {
namespace {

using test::on;
using testing::ElementsAre;

TEST(AxisPart, IsReadAndWritten) {
  EXPECT_EQ(topologies::axis_part("tensor").axis, "tensor");
  EXPECT_EQ(topologies::axis_part("tensor").size, 0) << "the whole axis";
  for (const std::int64_t size : {1, 2, 64, 1'000'000}) {
    const topologies::AxisPart part = topologies::axis_part(topologies::part_name("data", size));
    EXPECT_EQ(part.axis, "data");
    EXPECT_EQ(part.size, size);
  }
  EXPECT_EQ(topologies::part_name("data", 8), "data/8");
  const auto [outer, inner] = topologies::digits("tensor", 4);
  for (const auto& name : {outer, inner}) {
    EXPECT_EQ(topologies::axis_part(name).axis, "tensor");
    EXPECT_EQ(topologies::axis_part(name).size, 4);
    EXPECT_EQ(topologies::is_outer_digit(name), name == outer);
  }
  EXPECT_FALSE(topologies::is_outer_digit("tensor/4"));
}

/// Sizes that divide a number.
std::vector<int> divisors(int number) {
  std::vector<int> all;
  for (int size = 1; size <= number; ++size) {
    if (number % size == 0) all.push_back(size);
  }
  return all;
}

struct Case {
  topologies::Cluster cluster;
  std::vector<topologies::AxisRequest> requests;
};
std::vector<Case> cases() {
  std::vector<Case> all;
  all.push_back({test::torus({12}, test::always), {on("a", {"x/2"}), on("b", {"x"})}});
  all.push_back({test::torus({4, 6}, test::never), {on("a", {"x", "y/2"}), on("b", {"rest"})}});
  const auto crossbar = test::fabric(topologies::Crossbar{});
  all.push_back({build_cluster(test::nodes(6, crossbar)), {on("a", {"node/3", "gpu/2"}), on("b", {"rest"})}});
  all.push_back({build_cluster(test::pods(2, crossbar, {4, 2})), {on("a", {"rest"})}});
  return all;
}

TEST(AxisPart, GroupsOfAPartLieInsideThoseOfTheAxis) {
  for (const Case& each : cases()) {
    const topologies::Mesh mesh = test::placed(each.cluster, each.requests);
    for (const topologies::MeshAxis& axis : mesh.axes()) {
      const auto whole = mesh.groups({axis.name});
      for (const int size : divisors(axis.size())) {
        std::vector<int> seen(static_cast<std::size_t>(mesh.ranks()), 0);
        for (const topologies::Group& group : mesh.groups({topologies::part_name(axis.name, size)})) {
          EXPECT_EQ(std::ssize(group.members), size);
          for (const topologies::RankId rank : group.members) ++seen[static_cast<std::size_t>(rank)];
          const bool inside = std::any_of(whole.begin(), whole.end(), [&](const topologies::Group& one) {
            return std::includes(one.members.begin(), one.members.end(), group.members.begin(), group.members.end());
          });
          EXPECT_TRUE(inside) << axis.name << '/' << size;
        }
        EXPECT_THAT(seen, testing::Each(1)) << axis.name << '/' << size;
      }
    }
  }
}

// Two ranks that share a group of neighbours never share one of those between, and one of each kind of group has one
// rank in common with every one of the other kind inside the axis.
TEST(AxisPart, GroupsBetweenCrossThoseOfNeighbours) {
  for (const Case& each : cases()) {
    const topologies::Mesh mesh = test::placed(each.cluster, each.requests);
    for (const topologies::MeshAxis& axis : mesh.axes()) {
      for (const int size : divisors(axis.size())) {
        const auto [outer, inner] = topologies::digits(axis.name, size);
        const auto within = mesh.groups({inner}), between = mesh.groups({outer});
        std::vector<std::pair<int, int>> groups(static_cast<std::size_t>(mesh.ranks()), {-1, -1});
        for (std::size_t i = 0; i < within.size(); ++i) {
          for (const auto rank : within[i].members) groups[static_cast<std::size_t>(rank)].first = static_cast<int>(i);
        }
        for (std::size_t i = 0; i < between.size(); ++i) {
          EXPECT_EQ(std::ssize(between[i].members), axis.size() / size);
          for (const auto rank : between[i].members)
            groups[static_cast<std::size_t>(rank)].second = static_cast<int>(i);
        }
        const std::set<std::pair<int, int>> different(groups.begin(), groups.end());
        EXPECT_EQ(different.size(), groups.size()) << outer;
      }
    }
  }
}

// Sixteen ranks over four nodes of four: groups of up to four lie in one node, those of eight in two.
TEST(AxisPart, GroupsStayInsideAUnitAsLongAsTheyCan) {
  const topologies::Cluster cluster = build_cluster(test::nodes(4, test::fabric(topologies::Crossbar{})));
  const topologies::Mesh mesh = test::placed(cluster, {on("all", {"rest"})});
  for (const int size : {1, 2, 4, 8, 16}) {
    for (const topologies::Group& group : mesh.groups({topologies::part_name("all", size)})) {
      std::set<int> units;
      for (const topologies::RankId rank : group.members) units.insert(cluster.unit_of(mesh.device_of(rank)));
      EXPECT_EQ(std::ssize(units), std::max(1, size / 4)) << size;
    }
  }
}

TEST(AxisPart, MustDivideItsAxis) {
  const topologies::Cluster cluster = test::torus({4, 6}, test::never);
  const topologies::Mesh mesh = test::placed(cluster, {on("a", {"x"}), on("b", {"y"})});
  EXPECT_EQ(mesh.factors("b/6"), mesh.factors("b"));
  for (const char* part : {"a/3", "a/8", "b/4", "c/1"}) {
    EXPECT_THROW(static_cast<void>(mesh.factors(part)), InternalError) << part;
    EXPECT_THROW(static_cast<void>(mesh.groups({part})), InternalError) << part;
  }
}

TEST(PlaceText, IsWhatAMeshIsWrittenWith) {
  const topologies::Cluster cluster = build_cluster(test::nodes(4, test::fabric(topologies::Crossbar{})));
  const topologies::Mesh mesh = test::placed(cluster, {on("a", {"gpu/2"}), on("b", {"rest"}), on("c", {"gpu/1"})});
  EXPECT_THAT(place_text(cluster, mesh.axis("a")), ElementsAre("gpu/2"));
  EXPECT_THAT(place_text(cluster, mesh.axis("b")), ElementsAre("node/4", "gpu/2"));
  // Read again it is the same placement.
  for (const Case& each : cases()) {
    const topologies::Mesh one = test::placed(each.cluster, each.requests);
    std::vector<topologies::AxisRequest> again;
    for (const topologies::MeshAxis& axis : one.axes()) again.push_back(on(axis.name, place_text(each.cluster, axis)));
    const topologies::Mesh other = test::placed(each.cluster, again);
    for (std::size_t i = 0; i < again.size(); ++i) EXPECT_EQ(other.axes()[i].factors, one.axes()[i].factors);
  }
}

// An axis behind switches has a size and a name, and no ring or line.
TEST(Shapes, NameRingsAndWhatLiesBehindSwitches) {
  const topologies::Cluster pods =
      build_cluster(test::pods(2, test::fabric(topologies::Crossbar{}), {4, 2}, test::multiple_of_four));
  const topologies::Mesh mesh = test::placed(pods, {on("a", {"pod", "x"}), on("b", {"y"}), on("c", {"rest"})});
  EXPECT_THAT(mesh.shapes("a"), ElementsAre("ring of 4 on x", "2 on pod"));
  EXPECT_THAT(mesh.shapes("b"), ElementsAre("line of 2 on y"));
  EXPECT_THAT(mesh.shapes("c"), testing::IsEmpty()) << "a group of one";
}

}  // namespace
}  // namespace lockstep
