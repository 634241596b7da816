/// Properties of groups, on an enumerated grid of meshes and all sets of their axes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>

#include "tests/unit/topologies/small_torus.hpp"
#include "topologies/torus/torus.hpp"

namespace lockstep {
namespace {

using test::on;

struct Case {
  std::string what;
  std::vector<int> shape;
  std::vector<topologies::AxisRequest> requests;
};

const std::vector<Case> cases{
    {"one axis", {6}, {on("a", {"x"})}},
    {"two parts", {8}, {on("a", {"x/2"}), on("b", {"x"})}},
    {"three parts", {12}, {on("a", {"x/2"}), on("b", {"x/3"}), on("c", {"x/2"})}},
    {"middle of three", {18}, {on("a", {"x/3"}), on("b", {"x/2"}), on("c", {"x/3"})}},
    {"whole plane", {4, 6}, {on("a", {"x", "y"})}},
    {"two whole axes", {4, 3}, {on("a", {"x"}), on("b", {"y"})}},
    {"block 2x2", {4, 4}, {on("a", {"x/2", "y/2"}), on("b", {"rest"})}},
    {"block 4x2", {8, 4}, {on("a", {"x/4", "y/2"}), on("b", {"rest"})}},
    {"block 3x2", {6, 4}, {on("a", {"x/3", "y/2"}), on("b", {"rest"})}},
    {"block 2x5", {4, 10}, {on("a", {"y/5", "x/2"}), on("b", {"rest"})}},
    {"block 3x3", {6, 9}, {on("a", {"x/3", "y/3"}), on("b", {"rest"})}},
    {"block 4x6", {8, 12}, {on("a", {"x/4", "y/6"}), on("b", {"x"}), on("c", {"y"})}},
    {"block in a box", {4, 2, 6}, {on("a", {"x/2", "z/2"}), on("b", {"y", "z/3"}), on("c", {"rest"})}},
    {"box 2x2x2", {4, 4, 4}, {on("a", {"x/2", "y/2", "z/2"}), on("b", {"rest"})}},
    {"whole box", {4, 3, 5}, {on("a", {"rest"})}},
    {"rest first", {4, 6, 2}, {on("a", {"rest"}), on("b", {"y/3"}), on("c", {"x/2"})}},
    {"parts of size one", {4, 1, 3}, {on("a", {"x/1", "y"}), on("b", {"x/4"}), on("c", {"z"})}},
};

/// All subsets of the mesh's axes.
std::vector<std::vector<std::string>> axis_sets(const topologies::Mesh& mesh) {
  std::vector<std::vector<std::string>> sets{{}};
  for (const topologies::MeshAxis& axis : mesh.axes()) {
    const std::vector<std::vector<std::string>> without = sets;
    for (std::vector<std::string> set : without) {
      set.push_back(axis.name);
      sets.push_back(set);
    }
  }
  return sets;
}

/// Calls `check` with each cluster, mesh and set of axes of the grid.
template <class Check>
void for_each_mesh(Check check) {
  for (const topologies::WrapRule& wrap : {test::never, test::always}) {
    for (const Case& one : cases) {
      const topologies::Cluster cluster = test::torus(one.shape, wrap);
      const topologies::Mesh mesh = test::placed(cluster, one.requests);
      for (const std::vector<std::string>& axes : axis_sets(mesh)) {
        SCOPED_TRACE(one.what + (wrap.multiple_of == 0 ? ", lines, " : ", rings, ") + testing::PrintToString(axes));
        check(cluster, mesh, axes);
      }
    }
  }
}

/// The devices a lane visits, in the order of its positions; checks that its hops connect them.
std::vector<topologies::DeviceId> positions(const topologies::Cluster& cluster, const topologies::Lane& lane,
                                            const topologies::GroupDimension& shape) {
  const bool ring = shape.shape == topologies::GroupDimension::Shape::ring;
  EXPECT_EQ(static_cast<int>(lane.hops().size()), ring ? shape.members : shape.members - 1);
  std::vector<topologies::DeviceId> visited;
  for (const std::vector<topologies::LinkId>& hop : lane.hops()) {
    EXPECT_EQ(static_cast<int>(hop.size()), shape.links_per_hop);
    for (std::size_t i = 0; i < hop.size(); ++i) {
      EXPECT_GE(hop[i], 0);
      if (i == 0) continue;
      EXPECT_EQ(cluster.link(hop[i - 1]).to, cluster.link(hop[i]).from);
    }
    // Position i is where hop i starts going forward, and where it ends coming back.
    const topologies::DeviceId lower =
        lane.direction > 0 ? cluster.link(hop.front()).from : cluster.link(hop.back()).to;
    const topologies::DeviceId upper =
        lane.direction > 0 ? cluster.link(hop.back()).to : cluster.link(hop.front()).from;
    if (visited.empty()) visited.push_back(lower);
    EXPECT_EQ(visited.back(), lower);
    visited.push_back(upper);
  }
  if (ring) {
    EXPECT_EQ(visited.back(), visited.front());
    visited.pop_back();
  }
  return visited;
}

TEST(Groups, PartitionTheRanksInMeshOrder) {
  for_each_mesh(
      [](const topologies::Cluster& cluster, const topologies::Mesh& mesh, const std::vector<std::string>& axes) {
        int size = 1;
        for (const std::string& name : axes) size *= mesh.axis(name).size();
        std::vector<topologies::RankId> all;
        for (const topologies::Group& group : mesh.groups(axes)) {
          EXPECT_EQ(static_cast<int>(group.members.size()), size);
          EXPECT_TRUE(std::is_sorted(group.members.begin(), group.members.end()));
          all.insert(all.end(), group.members.begin(), group.members.end());
        }
        std::sort(all.begin(), all.end());
        std::vector<topologies::RankId> expected(static_cast<std::size_t>(cluster.devices()));
        std::iota(expected.begin(), expected.end(), 0);
        EXPECT_EQ(all, expected);
      });
}

/// The mesh coordinates of a rank, row-major over the axes.
std::map<std::string, int> coordinates(const topologies::Mesh& mesh, topologies::RankId rank) {
  std::map<std::string, int> place;
  for (auto axis = mesh.axes().rbegin(); axis != mesh.axes().rend(); ++axis) {
    place[axis->name] = rank % axis->size();
    rank /= axis->size();
  }
  return place;
}

TEST(Groups, MembersDifferOnlyAlongTheAxes) {
  for_each_mesh([](const topologies::Cluster&, const topologies::Mesh& mesh, const std::vector<std::string>& axes) {
    for (const topologies::Group& group : mesh.groups(axes)) {
      for (const topologies::RankId member : group.members) {
        std::map<std::string, int> here = coordinates(mesh, member);
        std::map<std::string, int> there = coordinates(mesh, group.members.front());
        for (const std::string& axis : axes) here.erase(axis), there.erase(axis);
        EXPECT_EQ(here, there);
      }
    }
  });
}

/// In a group of N members, dimension d of X_d members has N / X_d lanes each way, which visit every
/// member once; and the sizes X_d multiply to N.
TEST(Groups, LanesVisitEveryMemberOncePerDimension) {
  for_each_mesh(
      [](const topologies::Cluster& cluster, const topologies::Mesh& mesh, const std::vector<std::string>& axes) {
        const topologies::GroupDimensions dimensions = mesh.dimensions(axes);
        int product = 1;
        for (const topologies::GroupDimension& dimension : dimensions) product *= dimension.members;
        for (const topologies::Group& group : mesh.groups(axes)) {
          EXPECT_EQ(static_cast<int>(group.members.size()), product);
          std::map<std::pair<int, int>, std::vector<topologies::RankId>> visited;  // by dimension and direction
          for (const topologies::Lane& lane : group.lanes) {
            const topologies::GroupDimension& shape = dimensions.at(static_cast<std::size_t>(lane.dimension));
            for (const topologies::DeviceId device : positions(cluster, lane, shape)) {
              visited[{lane.dimension, lane.direction}].push_back(mesh.rank_of(device));
            }
          }
          EXPECT_EQ(visited.size(), 2 * dimensions.size());
          for (auto& [lane, ranks] : visited) {
            std::sort(ranks.begin(), ranks.end());
            EXPECT_EQ(ranks, group.members);
          }
        }
      });
}

/// The lanes of a ring or line come in pairs over the same positions, on opposite links.
TEST(Groups, TheTwoDirectionsMirrorEachOther) {
  for_each_mesh(
      [](const topologies::Cluster& cluster, const topologies::Mesh& mesh, const std::vector<std::string>& axes) {
        const topologies::GroupDimensions dimensions = mesh.dimensions(axes);
        for (const topologies::Group& group : mesh.groups(axes)) {
          ASSERT_EQ(group.lanes.size() % 2, 0u);
          for (std::size_t i = 0; i < group.lanes.size(); i += 2) {
            const topologies::Lane& forward = group.lanes[i];
            const topologies::Lane& backward = group.lanes[i + 1];
            EXPECT_EQ(forward.direction, 1);
            EXPECT_EQ(backward.direction, -1);
            const topologies::GroupDimension& shape = dimensions[static_cast<std::size_t>(forward.dimension)];
            EXPECT_EQ(positions(cluster, forward, shape), positions(cluster, backward, shape));
            for (std::size_t hop = 0; hop < forward.hops().size(); ++hop) {
              EXPECT_EQ(cluster.link(forward.hops()[hop].front()).from, cluster.link(backward.hops()[hop].back()).to);
              EXPECT_EQ(cluster.link(forward.hops()[hop].front()).direction,
                        -cluster.link(backward.hops()[hop].back()).direction);
            }
          }
        }
      });
}

/// sharing = the most lanes of one dimension over any one link, counted over all groups.
TEST(Groups, SharingIsTheRealCountOfLanesOverALink) {
  for_each_mesh([](const topologies::Cluster&, const topologies::Mesh& mesh, const std::vector<std::string>& axes) {
    std::map<int, std::map<topologies::LinkId, int>> lanes_over;
    for (const topologies::Group& group : mesh.groups(axes)) {
      for (const topologies::Lane& lane : group.lanes) {
        for (const std::vector<topologies::LinkId>& hop : lane.hops()) {
          for (const topologies::LinkId link : hop) ++lanes_over[lane.dimension][link];
        }
      }
    }
    const topologies::GroupDimensions dimensions = mesh.dimensions(axes);
    ASSERT_EQ(lanes_over.size(), dimensions.size());
    for (const auto& [dimension, count] : lanes_over) {
      int most = 0;
      for (const auto& [link, lanes] : count) most = std::max(most, lanes);
      EXPECT_EQ(most, dimensions[static_cast<std::size_t>(dimension)].sharing);
    }
  });
}

/// The label that the grid promises really occurs: closed blocks of every parity, and odd ones left open.
TEST(Groups, TheGridCoversEveryShape) {
  std::set<std::string> labels;
  for_each_mesh(
      [&labels](const topologies::Cluster&, const topologies::Mesh& mesh, const std::vector<std::string>& axes) {
        for (const topologies::GroupDimension& dimension : mesh.dimensions(axes)) labels.insert(dimension.label);
      });
  for (const std::string expected : {"ring of 4 through the 2x2 block x,y", "ring of 8 through the 4x2 block x,y",
                                     "ring of 6 through the 3x2 block x,y", "ring of 10 through the 2x5 block x,y",
                                     "ring of 24 through the 4x6 block x,y", "ring of 4 through the 2x2 block x,z",
                                     "line of 3 on y", "ring of 2 on x", "ring of 12 on x"}) {
    EXPECT_THAT(labels, testing::Contains(expected));
  }
}

/// x of 4 cut in two, wrapped: the outer pair reaches its partner over links 0 1 and comes home over 2 3.
TEST(Groups, ARemainderOfTwoGoesRoundTheAxis) {
  const topologies::Cluster cluster = test::torus({4}, test::always);
  const topologies::Mesh mesh = test::placed(cluster, {on("a", {"x/2"}), on("b", {"x"})});
  const std::vector<topologies::Group> groups = mesh.groups({"b"});
  ASSERT_EQ(groups.size(), 2u);
  const auto link = [&](topologies::DeviceId device, int direction) {
    return cluster.neighbour_link(device, 0, direction);
  };
  using Hops = std::vector<std::vector<topologies::LinkId>>;
  EXPECT_EQ(groups[0].lanes[0].hops(), (Hops{{link(0, 1), link(1, 1)}, {link(2, 1), link(3, 1)}}));
  EXPECT_EQ(groups[0].lanes[1].hops(), (Hops{{link(2, -1), link(1, -1)}, {link(0, -1), link(3, -1)}}));
}

/// A v5p pod with tensor parallelism on 2x2 blocks: 2240 rings of 4; four groups of 2240 with
/// 2240/8 + 2240/10 + 2240/28 = 584 rings each, both ways.
TEST(Groups, OfAWholePod) {
  const topologies::Cluster cluster = topologies::build_torus({test::catalog_chip("tpu-v5p"), {16, 20, 28}, {}});
  const topologies::Mesh mesh = test::placed(cluster, {on("tp", {"x/2", "y/2"}), on("fsdp", {"rest"})});
  const std::vector<topologies::Group> tp = mesh.groups({"tp"});
  EXPECT_EQ(tp.size(), 2240u);
  for (const topologies::Group& group : tp) EXPECT_EQ(group.lanes.size(), 2u);
  const std::vector<topologies::Group> fsdp = mesh.groups({"fsdp"});
  EXPECT_EQ(fsdp.size(), 4u);
  for (const topologies::Group& group : fsdp) EXPECT_EQ(group.lanes.size(), 2u * 584u);
}

}  // namespace
}  // namespace lockstep
